"""
What the pages of `docs/explanation` show of the models: counterexamples and other runs as pictures, and the graphs compared.

    python docs/models.py [--check]

It stands between marks, `<!-- model NAME -->`, `<!-- run CONFIGURATION CONSTANT=VALUE …: STEPS -->`, `<!-- graphs PROTOCOL -->`
or `<!-- holding PROTOCOL MODULE BEGINNING -->`, of whose names, and `<!-- end -->`; the words around them are written by hand. A
page with pictures begins with `<!-- of PROTOCOL -->`, which may also say what of the nodes is not drawn:
`<!-- of swim without own, round -->`. `--check` ends with 1 if a page is not what the models make.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import timed  # beside this file

from peerproof.conformance.counterexamples import answered, drawn, is_asked, replayed, stored
from peerproof.conformance.message_graph import Arrow, Happened, MessageGraph, Note, happened, value_text
from peerproof.spec.explore import Edge
from peerproof.spec.world import FAIL, LOSE, System
from peerproof.tla.counterexample import TraceState
from peerproof.tla.manifest import Configuration, Model, configurations, models
from peerproof.tla.values import Function, Value

PAGES = sorted((Path(__file__).parent / "explanation").glob("*.md"))

#: A run of more steps than that is shown to those who ask for it.
LONG = 20

_OF = re.compile(r"<!-- of (\w+)(?: without ([\w, ]+))? -->")
_PICTURE = re.compile(r"(<!-- model ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_RUN = re.compile(r"(<!-- run ([\w-]+)([^:>]*):\s([^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)
_ENDS = {LOSE: " lost", FAIL: " fails"}
_GRAPHS = re.compile(r"(<!-- graphs (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_HOLDING = re.compile(r"(<!-- holding (\w+) (\w+)(?: ([\w-]+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Writes the pages, or says whether they are as they should be."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    only_check = parser.parse_args().check
    stale = 0
    for path in PAGES:
        written = path.read_text(encoding="utf-8")
        made = page(written)
        stale |= made != written
        if not only_check:
            path.write_text(made, encoding="utf-8")
    return int(only_check and stale)


def page(text: str) -> str:
    """The page with what is made from the models made again. Raises KeyError for a model or configuration that there is not."""
    text = _GRAPHS.sub(lambda found: f"{found[1]}{graphs(found[2])}\n{found[3]}", text)
    text = _HOLDING.sub(lambda found: f"{found[1]}{holding(*found.group(2, 3), found[4] or '')}\n{found[5]}", text)
    if (of := _OF.search(text)) is None:
        return text
    protocol, without = of[1], re.split(r",\s*", of[2] or "")
    known, worlds = {model.name: model for model in models(protocol)}, configurations(protocol)
    text = _PICTURE.sub(lambda found: f"{found[1]}{picture(known[found[2]], without)}\n{found[3]}", text)

    def ran(found: re.Match[str]) -> str:
        others = {name: json.loads(value) for name, value in (each.split("=") for each in found[3].split())}
        return f"{found[1]}{run(worlds[found[2]], others, found[4].split(','), without)}\n{found[5]}"

    return _RUN.sub(ran, text)


def graphs(protocol: str) -> str:
    """
    The configurations whose whole graphs are known: their size, and who has explored them.

    A digest is written down only of graphs that were equal in both: see `peerproof graph --rewrite`.
    """
    asked = models(protocol)
    lines = ["| configuration | | states | edges | graphs compared | in the end |", "| --- | --- | --- | --- | --- | --- |"]
    for name, one in configurations(protocol).items():
        of = [model for model in asked if model.configuration.name == name and not model.replace]
        if not any(model.is_whole_graph for model in of):
            continue
        counts = one.expected
        lines.append(
            f"| {name} | {one.about} | {counts['distinct']:,} | {counts['generated'] - counts['initial']:,} "
            f"| {'equal' if 'digest' in counts else 'no'} | {', '.join(endings(protocol, of)) or '–'} |"
        )
    return "\n".join(lines)


def holding(protocol: str, module: str, beginning: str) -> str:
    """What is asked of a module by models called so, and holds, with the states in which TLC has looked."""
    asked = [model for model in models(protocol) if model.module == module and model.verdict == "success"]
    asked = [
        model for model in asked if model.name.startswith(beginning) and "-mended" not in model.name
    ]  # those are with what they mend
    rows = (f"| `{model.name}` | {model.question} | {model.counts['distinct']:,} |" for model in asked)
    return "\n".join(["| model | | states |", "| --- | --- | --- |", *rows])


def endings(protocol: str, asked: Iterable[Model]) -> list[str]:
    """What has been asked of the end of every fair run of a graph, and whether it is so."""
    known = import_module(f"peerproof.spec.{protocol}.questions").ENDINGS
    said = {
        f"`{name}` {'holds' if model.verdict == 'success' else 'fails'}"
        for model in asked
        for name in model.properties
        if name in known and model.behaviour == "Next"
    }
    return sorted(said)


def picture(model: Model, without: Collection[str]) -> str:
    """What is asked, and how it fails."""
    diagram, steps, ends = failing(model, without)
    replaced = "".join(f", `{right}` in place of `{left}`" for left, right in model.replace.items())
    where = f"`{model.name}`, configuration `{model.configuration.name}`{replaced}"
    said = f"{where}: `{model.violated}` is violated in {counted(steps, 'step')}{ends}."
    return "\n".join([said, "", *fenced(diagram.mermaid(), steps)] if steps else [said])


def failing(model: Model, without: Collection[str]) -> tuple[MessageGraph, int, str]:
    """The run in which it fails, how many steps that takes, and what comes then."""
    if timed.has(model.module):
        example = stored(model)
        ends = ", and then nothing happens" if example.stutters else after(example.loop)
        return timed.drawn(model.module, model.configuration.constants, example.states), len(example.states) - 1, ends
    if not is_walked(model):
        run = tuple(stored(model).states)
        return traced(run, without), len(run) - 1, ""
    ends = ""
    if is_asked(model) and not (model.by == "tlc" and model.verdict == "invariant"):
        answer = answered(model)
        graph, path = answer.graph, answer.path
        ends = f", then for ever within {counted(answer.trap.size, 'state')}" if answer.trap else ""
    else:  # of what both find at the same depth, TLC's run is the one that is kept
        example = stored(model)
        graph, path = replayed(model, example)
        ends = after(example.loop)
    return drawn(graph, path, without), len(path), ends


def after(loop: int | None) -> str:
    """What comes after a run that goes on as it did from a step on."""
    return "" if loop is None else f", then again and again from after step {loop}"


def counted(number: int, what: str) -> str:
    """So many of something, as one says it."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def is_walked(model: Model) -> bool:
    """Whether the model's runs are some of the Python specification's bounded worlds; the others TLC alone has."""
    behaviours = import_module(f"peerproof.spec.{model.protocol}.variants").BEHAVIOURS
    return model.behaviour in behaviours


def traced(run: tuple[TraceState, ...], without: Collection[str]) -> MessageGraph:
    """A run as TLC has it: of nodes and the messages under way, or of one message on its way through a ring."""
    first = run[0].variables
    if "net" in first:
        nodes = [node for node, _ in _rows(first["up"])]
        happenings = [each for number in range(1, len(run)) for each in _step(number, run[number - 1], run[number], without)]
        return MessageGraph(tuple(map(str, nodes)), tuple(happenings))
    hops = run[-1].variables["path"]
    assert isinstance(hops, tuple)
    key, ends = value_text(first["key"]), run[-1].variables["done"]
    ring = tuple(map(str, sorted(first["ring"])))
    arrows = [Arrow(str(one), str(other), f"{n}. key {key}") for n, (one, other) in enumerate(pairwise(hops), 1)]
    return MessageGraph(ring, (*arrows, Note(str(hops[-1]), f"{'delivers' if ends else 'has'} key {key}")))


def _step(number: int, before: TraceState, after: TraceState, without: Collection[str]) -> Iterator[Arrow | Note]:
    old, new = before.variables, after.variables
    gone, sent = (_messages(one["net"]) - _messages(other["net"]) for one, other in ((old, new), (new, old)))
    if gone and all(str(message[2]) == str(other[2]) and message[:2] == other[:2] for message in gone for other in sent) and sent:
        (message,) = sent
        yield Note(str(message[0]), f"{number}. {after.action}: {' '.join(map(value_text, message[2:]))}")
    elif gone:
        (message,) = gone
        text = " ".join(map(value_text, message[2:]))
        yield Arrow(str(message[0]), str(message[1]), f"{number}. {text}", lost=after.action == FAIL)
    else:
        yield Note("", f"{number}. {after.action}")
    told = [name for name in new if name not in without and name not in ("net", "restarts")]
    rows = {name: (dict(_rows(old[name])), _rows(new[name])) for name in told}
    for node, _ in _rows(new["up"]):
        changed = [f"{name} = {value_text(dict(now)[node])}" for name, (was, now) in rows.items() if was[node] != dict(now)[node]]
        if changed:
            yield Note(str(node), ", ".join(changed))


def _messages(net: Value) -> frozenset[Any]:
    assert isinstance(net, frozenset)
    return net


def _rows(function: Value) -> tuple[tuple[Any, Value], ...]:
    """What a function on nodes says of each."""
    assert isinstance(function, Function)
    return tuple(function.rows)


def run(configuration: Configuration, others: Mapping[str, Any], steps: Iterable[str], without: Collection[str]) -> str:
    """A run of the specification in the world of a configuration, of which some constants may be others."""
    model = import_module(f"peerproof.spec.{configuration.protocol}.world").Model
    system = System(model({**configuration.constants, **others}))
    path = tuple(walked(system, (step.strip() for step in steps)))
    return "\n".join(fenced(drawn(system, path, without).mermaid(), 0))


def walked(system: System, steps: Iterable[str]) -> Iterator[Edge]:
    """
    The way through the graph that these steps take, each called as by `called`; where there is a choice, the first.

    Raises ValueError for a step that is none there.
    """
    world = system.initial()
    sent = list(world[len(system.places) + 1 :])  # in this order
    for step in steps:
        moves = [(edge, taken) for move in system.moves(world) if (taken := happened(system, world, edge := Edge(*move)))]
        fitting = [(edge, taken) for edge, taken in moves if called(system, edge, taken) == step]
        if not fitting:
            raise ValueError(f"no {step!r} here, but {sorted({called(system, *move) for move in moves})}")
        edge, taken = min(fitting, key=lambda move: -1 if move[1].message is None else sent.index(move[1].message))
        sent = [message for message in sent if message != taken.message] + list(taken.sent)
        yield edge
        world = edge.target


def called(system: System, edge: Edge, taken: Happened) -> str:
    """A step as pages name it: `Quantum at n:1`, `n:1 to n:2` for an arrival, `n:1 to n:2 lost`, `n:1 to n:2 fails`."""
    if taken.message is None:
        assert taken.place is not None
        return f"{edge.label} at {system.places[taken.place]}"
    sender, to, _ = system.messages[taken.message]
    return f"{sender} to {to}{_ENDS.get(edge.label, '')}"


def fenced(diagram: str, steps: int) -> Iterator[str]:
    """A picture; one of many steps is folded up."""
    block = ["```mermaid", diagram, "```"]
    if steps <= LONG:
        yield from block
    else:
        yield from ('<details markdown="1">', f"<summary>The run, {steps} steps</summary>", "", *block, "", "</details>")


if __name__ == "__main__":
    sys.exit(main())
