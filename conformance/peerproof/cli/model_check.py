"""
Checks the models of the protocols with TLC, the model checker of TLA+, and with the explorer of the Python specifications.

  peerproof model-check                      every small model of every protocol
  peerproof model-check scuttlebutt          those of one
  peerproof model-check --size medium        the medium ones too (minutes); large: all of them
  peerproof model-check --model small-a      one of them; may be given more than once
  peerproof model-check --model BX-04-receiver-restart --show
                                             and draw how it fails
  peerproof model-check --list               which there are, and what each asks

A model has an expected result: that it holds, with so many states, or that it fails, in so many steps. A model that
holds and should not is as wrong as one that fails and should not, and so is any other number of states. Where the Python
specification can be asked the same, its answer, its states and its steps must be those of TLC, and the counterexample that is
kept must be a run of it, step for step. What happens in the end of the larger graphs, only the explorer says: a model fails
if a fair run can end in a trap, a set of states that no step leaves and in which the goal is missed.

Needs Java 17 or newer, and the TLA+ tools: pip install 'peerproof[tla]', or PEERPROOF_TLA2TOOLS=/path/to/tla2tools.jar.
Ends with 1 if a result is not as expected, with 3 if the tools cannot be used or TLC gave no verdict.
"""

from __future__ import annotations

import signal
import sys
import time
from argparse import ArgumentParser, Namespace
from types import FrameType
from typing import TYPE_CHECKING

from peerproof.cli.ticker import ModelTicker

if TYPE_CHECKING:
    from peerproof.conformance.counterexamples import Answer
    from peerproof.tla.checking import Checked
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools import Tools

AS_EXPECTED, UNEXPECTED, USAGE, UNUSABLE, NOTHING_SELECTED = 0, 1, 2, 3, 4
SIZES = ("small", "medium", "large")


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", nargs="?", metavar="PROTOCOL", help="whose models (default: all)")
    parser.add_argument("--size", choices=SIZES, default="small", help="models up to this size (default: small)")
    parser.add_argument("--model", action="append", metavar="NAME", help="this model, of whatever size; may be given again")
    parser.add_argument("--show", action="store_true", help="draw the counterexamples as message graphs")
    parser.add_argument("--list", action="store_true", help="print the models, and end")
    parser.add_argument("--seconds", type=_positive, metavar="N", help="give up on a model after so long")
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help="write down what comes out as what is expected: counts, counterexamples, and the vectors made from them",
    )


def run(args: Namespace) -> int:
    """Prints a line for each model, and one for all."""
    from peerproof.tla.manifest import BadManifest, models, root
    from peerproof.tla.tools import ToolsUnusable, find

    try:
        every = models()
        known = sorted({model.protocol for model in every})
        if args.protocol not in (None, *known):
            return _refused(f"no models of {args.protocol!r}; there are some of {', '.join(known)}", USAGE)
        chosen = _chosen(args, every)
    except BadManifest as problem:
        return _refused(str(problem), USAGE)
    unknown = set(args.model or ()) - {model.name for model in chosen}
    if unknown:
        return _refused(f"no model {', '.join(sorted(unknown))}; see peerproof model-check --list", USAGE)
    if not chosen:
        return _refused("no model is that small", NOTHING_SELECTED)
    if args.list:
        width = max(len(model.name) for model in chosen)
        print("\n".join(f"{model.name:{width}}  {model.size:6}  {model.question}" for model in chosen))
        return AS_EXPECTED
    tools = None
    if any(model.by == "tlc" for model in chosen):
        try:
            tools = find()
        except ToolsUnusable as problem:
            return _refused(f"{problem}\nnothing was checked", UNUSABLE)
        print(f"TLC in {tools.jar.name}, Java {tools.java_version}, modules in {root().name}/", file=sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)  # so that no Java machine outlives this process
    return _check(args, tools, chosen)


def _chosen(args: Namespace, every: tuple[Model, ...]) -> list[Model]:
    sizes = SIZES if args.list else SIZES[: SIZES.index(args.size) + 1]
    return [
        model
        for model in every
        if args.protocol in (None, model.protocol) and (model.name in args.model if args.model else model.size in sizes)
    ]


def _check(args: Namespace, tools: Tools | None, chosen: list[Model]) -> int:
    from peerproof.tla.outcome import RunFailed

    width = max(len(model.name) for model in chosen)
    surprising, failed = 0, 0
    for model in chosen:
        begun = time.monotonic()
        show = ModelTicker(model.name, width)
        try:
            said, surprises, picture = _one(args, tools, model, show)
        except RunFailed as problem:
            show.clear()
            print(f"{model.name:{width}}  NO VERDICT: {problem}", flush=True)
            failed += 1
            continue
        show.clear()
        surprising += bool(surprises)
        line = f"UNEXPECTED: {'; '.join(surprises)}" if surprises else said
        print(f"{model.name:{width}}  {line}  {time.monotonic() - begun:.1f} s", flush=True)
        if picture and (surprises or args.show):
            print("\n".join(f"    {row}" for row in picture.splitlines()), flush=True)
    if args.rewrite:
        _rewrite_vectors({model.protocol for model in chosen})
    total = f"{len(chosen)} models: {len(chosen) - surprising - failed} as expected"
    print(f"{total}, {surprising} not, {failed} without a verdict")
    return UNUSABLE if failed else UNEXPECTED if surprising else AS_EXPECTED


def _one(args: Namespace, tools: Tools | None, model: Model, show: ModelTicker) -> tuple[str, list[str], str]:
    """What came out in a line, what of it should not have, and a picture of how the model fails."""
    from peerproof.conformance import counterexamples
    from peerproof.tla.checking import keep_expected
    from peerproof.tla.manifest import models

    said, surprises = list[str](), list[str]()
    if model.by == "tlc":
        assert tools is not None
        checked = _by_tlc(args, tools, model, show)
        said.append(_line(checked))
        surprises += checked.surprises
    if not counterexamples.is_asked(model):
        if model.by == "explorer":
            surprises.append("the explorer does not know what the model asks; see is_asked in counterexamples.py")
        return "; ".join(said), surprises, ""
    answer = counterexamples.answered(model, show.explored)
    if args.rewrite:
        if answer.broken == model.violated:
            keep_expected(model, _own_figures(model, answer))
        model = next(now for now in models(model.protocol) if now.name == model.name)  # with what has just been written
    if surprise := counterexamples.surprise(model, answer):
        surprises.append(surprise)
    elif model.counterexample_path:
        surprises += _not_replayed(model)
    said.append(_answer_line(model, answer))
    return "; ".join(said), surprises, counterexamples.drawn(answer.graph, answer.path).text()


def _own_figures(model: Model, answer: Answer) -> dict[str, int]:
    """What is expected of the explorer alone. In all else it is held to what TLC says, also where that is written down."""
    if answer.trap:
        return {"trap": len(answer.path)}
    return dict(answer.counts) if model.by == "explorer" and not answer.broken else {}


def _by_tlc(args: Namespace, tools: Tools, model: Model, show: ModelTicker) -> Checked:
    from peerproof.tla.checking import Checked, check, has_expected_verdict, keep

    if args.rewrite:
        model.cfg_path.parent.mkdir(exist_ok=True)
        model.cfg_path.write_text(model.cfg(), encoding="utf-8")
    checked = check(tools, model, show, seconds=args.seconds)
    if args.rewrite and has_expected_verdict(model, checked.result):
        keep(checked)
        return Checked(checked.model, checked.result, ())
    return checked


def _rewrite_vectors(protocols: set[str]) -> None:
    from peerproof.conformance import counterexample_vectors, sources
    from peerproof.tla.manifest import models

    for protocol in sorted(protocols):
        if telling := counterexample_vectors.chosen(models(protocol)):
            path = sources.vectors_root() / protocol / counterexample_vectors.FILE
            path.write_text(counterexample_vectors.text(protocol, telling), encoding="utf-8")


def _not_replayed(model: Model) -> list[str]:
    from peerproof.conformance.counterexamples import Unlike, replayed, stored

    try:
        replayed(model, stored(model))
    except Unlike as problem:
        return [str(problem)]
    return []


def _line(checked: Checked) -> str:
    result = checked.result
    if checked.model.violated is None:
        return f"holds: {result.distinct:,} states, {result.edges:,} edges, depth {result.depth}"
    steps = f"; TLC {result.counterexample.steps} steps" if result.counterexample else ""
    return f"fails as it must: {checked.model.violated}{steps}"


def _answer_line(model: Model, answer: Answer) -> str:
    if answer.trap:
        said = f"explorer {len(answer.path)} steps to a trap of {answer.trap.size} states"
    elif answer.broken:
        said = f"explorer {len(answer.path)} steps"
    elif model.by == "tlc":
        return "explorer the same"
    else:
        return f"holds: {answer.counts['distinct']:,} states; by the explorer alone"
    return said if model.by == "tlc" else f"fails as it must: {answer.broken}; {said}"


def _positive(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError
    return seconds


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _refused(problem: str, code: int) -> int:
    print(f"peerproof: {problem}", file=sys.stderr)
    return code
