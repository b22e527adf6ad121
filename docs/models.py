"""
What pages show of models, vectors and proofs: counterexamples, other runs and vectors as pictures, the graphs compared, and how
each property is shown.

    python docs/models.py [--check]

It stands between marks, `<!-- model NAME -->`, `<!-- run CONFIGURATION CONSTANT=VALUE …: STEPS -->`, `<!-- graphs PROTOCOL
-->`, `<!-- properties PROTOCOL -->`, `<!-- holding PROTOCOL MODULE BEGINNING -->` or `<!-- vector ID -->`, and `<!-- end -->`;
the words around them are written by hand. A page with pictures of models begins with `<!-- of PROTOCOL -->`, which may also say
what of the nodes is not drawn: `<!-- of swim without own, round -->`. `--check` ends with 1 if a page is not what models and
vectors make.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from peerproof.conformance.clauses import catalogue
from peerproof.conformance.models.counterexamples import draw_path, questions_of
from peerproof.conformance.models.model_diagram import failing
from peerproof.conformance.models.run_diagram import Happened, ends, find_event, node_names
from peerproof.conformance.proofs.proof import ANY_CLUSTER, select_proofs
from peerproof.conformance.runner.vector_diagram import of_vector
from peerproof.conformance.vectors.suite import load
from peerproof.spec.model.bounded import FAIL, LOSE, System
from peerproof.spec.model.exploration import Edge
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import Configuration, Model, configurations, models

_ROOT = Path(__file__).parents[1]
PAGES = sorted([*(_ROOT / "docs").glob("**/*.md"), *(_ROOT / "spec").glob("*.md")])

#: A run of more steps than that is shown to those who ask for it.
LONG = 20

#: The most characters of a property's name, such as DeadOnlyAfterSuspicious; a longer beginning is a sentence.
LONGEST_NAME = 30

_PROPERTY = re.compile(r"[A-Z][IL]-\d+")
_OF = re.compile(r"<!-- of (\w+)(?: without ([\w, ]+))? -->")
_ENDS = {LOSE: " lost", FAIL: " fails"}


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
    """The page with what is made made again. Raises KeyError for a model, configuration or vector that there is not."""
    text = filled(text, r"vector (\S+)", vector)
    text = filled(text, r"graphs (\w+)", graphs)
    text = filled(text, r"properties (\w+)", properties)
    text = filled(text, r"holding (\w+) (\w+)(?: ([\w-]+))?", holding)
    if (of := _OF.search(text)) is None:
        return text
    protocol, without = of[1], re.split(r",\s*", of[2] or "")
    known, worlds = {model.name: model for model in models(protocol)}, configurations(protocol)
    text = filled(text, r"model ([\w-]+)", lambda name: picture(known[name], without))

    def ran(configuration: str, constants: str, steps: str) -> str:
        others = {name: json.loads(value) for name, value in (each.split("=") for each in constants.split())}
        return run(worlds[configuration], others, steps.split(","), without)

    return filled(text, r"run ([\w-]+)([^:>]*):\s([^>]*)", ran)


def filled(text: str, mark: str, make: Callable[..., str]) -> str:
    """The text with what is made of each mark's groups between the mark and its end."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: f"{found[1]}{make(*found.groups()[1:-1])}\n{found.groups()[-1]}", text)


def graphs(protocol: str) -> str:
    """
    The configurations whose whole graphs are known: their size, and who has explored them.

    A digest is written down only of graphs that were equal in both: see `peerproof model graph --rewrite`.
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


def properties(protocol: str) -> str:
    """
    The properties of a protocol, and how each is shown: by a monitor, by models that hold, by proofs.

    A monitor checks it at each step of simulated clusters, of the fuzzer and of the tests.
    """
    clauses, asked = catalogue.load(protocol), {model.name: model for model in models(protocol)}
    proofs = [proof for _, proof in select_proofs(protocol)]
    lines = ["| property | on examples | explored | for all values | for any cluster |", "| --- | --- | --- | --- | --- |"]
    for item in clauses.items.values():
        if not _PROPERTY.fullmatch(item.id):
            continue
        name, has_name, _ = item.text.partition(": ")
        title = name if has_name and len(name) <= LONGEST_NAME else textwrap.shorten(item.text, 60, placeholder=" …")
        holds = [asked[each] for each in clauses.models.get(item.id, ()) if asked[each].verdict == "success"]
        states = max((model.counts or model.configuration.expected).get("distinct", 0) for model in holds) if holds else 0
        about = [proof for proof in proofs if item.id in proof.clauses]
        cells = (
            f"{item.id} {title}",
            "monitor" if clauses.properties.get(item.id) else "",
            f"{len(holds)} {'model' if len(holds) == 1 else 'models'}, up to {states:,} states" if holds else "",
            *(", ".join(sorted({proof.item for proof in about if proof.scope == scope})) for scope in ("", ANY_CLUSTER)),
        )
        lines.append(f"| {' | '.join(cell or '–' for cell in cells)} |")
    return "\n".join(lines)


def holding(protocol: str, module: str, beginning: str | None) -> str:
    """What is asked of a module by models called so, and holds, with the states in which TLC has looked."""
    asked = [model for model in models(protocol) if model.module == module and model.verdict == "success"]
    asked = [model for model in asked if model.name.startswith(beginning or "")]
    asked = [model for model in asked if "-mended" not in model.name]  # those are with what they mend
    rows = (f"| `{model.name}` | {model.question} | {model.counts['distinct']:,} |" for model in asked)
    return "\n".join(["| model | | states |", "| --- | --- | --- |", *rows])


def endings(protocol: str, asked: Iterable[Model]) -> list[str]:
    """What has been asked of the end of every fair run of a graph, and whether it is so."""
    known = questions_of(protocol).ENDINGS
    said = {
        f"`{name}` {'holds' if model.verdict == 'success' else 'fails'}"
        for model in asked
        for name in model.properties
        if name in known and model.behaviour == "Next"
    }
    return sorted(said)


def picture(model: Model, without: Collection[str]) -> str:
    """What is asked, and how it fails."""
    found = failing(model, without)
    replaced = "".join(f", `{right}` in place of `{left}`" for left, right in model.replace.items())
    where = f"`{model.name}`, configuration `{model.configuration.name}`{replaced}"
    said = f"{where}: `{model.violated}` is violated {found.length}."
    return "\n".join([said, "", *fenced(found.graph.mermaid(), found.steps)] if found.steps else [said])


def vector(name: str) -> str:
    """A vector as a picture."""
    found = {known.id: known for known in load().vectors}[name]
    return "\n".join(fenced(of_vector(found).mermaid(), 0))


def run(configuration: Configuration, others: Mapping[str, Any], steps: Iterable[str], without: Collection[str]) -> str:
    """A run of the specification in the world of a configuration, of which some constants may be others."""
    model = PROTOCOLS[configuration.protocol].bounded.load().Model
    system = System(model({**configuration.constants, **others}))
    path = tuple(walked(system, (step.strip() for step in steps)))
    return "\n".join(fenced(draw_path(system, path, without).mermaid(), 0))


def walked(system: System, steps: Iterable[str]) -> Iterator[Edge]:
    """The way that these steps take, each called as by `called`; of several, the first. Raises ValueError for no such step."""
    world = system.initial()
    sent = list(world[len(system.places) + 1 :])  # in this order
    for step in steps:
        moves = [(edge, taken) for move in system.moves(world) if (taken := find_event(system, world, edge := Edge(*move)))]
        fitting = [(edge, taken) for edge, taken in moves if called(system, edge, taken) == step]
        if not fitting:
            raise ValueError(f"no {step!r} here, but {sorted({called(system, *move) for move in moves})}")
        edge, taken = min(fitting, key=lambda move: -1 if move[1].message is None else sent.index(move[1].message))
        sent = [message for message in sent if message != taken.message] + list(taken.sent)
        yield edge
        world = edge.target


def called(system: System, edge: Edge, taken: Happened) -> str:
    """A step as pages name it: `Quantum at node 1`, `node 1 to node 2` for an arrival, `node 1 to node 2 lost`, `… fails`."""
    if taken.message is None:
        assert taken.place is not None
        return f"{edge.label} at {node_names(system)[taken.place]}"
    sender, to = ends(system, taken.message)
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
