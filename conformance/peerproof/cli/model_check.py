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
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

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
    from peerproof.conformance.models.model_check import select_models
    from peerproof.tla.manifest import BadManifest, models, root
    from peerproof.tla.tools.installation import ToolsUnusable, find

    try:
        known = sorted({model.protocol for model in models()})
        if args.protocol not in (None, *known):
            return _complain(f"no models of {args.protocol!r}; there are some of {', '.join(known)}", USAGE)
        chosen = select_models(args.protocol, SIZES[-1] if args.list else args.size, args.model or ())
    except BadManifest as problem:
        return _complain(str(problem), USAGE)
    unknown = set(args.model or ()) - {model.name for model in chosen}
    if unknown:
        return _complain(f"no model {', '.join(sorted(unknown))}; see peerproof model-check --list", USAGE)
    if not chosen:
        return _complain("no model is that small", NOTHING_SELECTED)
    if args.list:
        width = max(len(model.name) for model in chosen)
        print("\n".join(f"{model.name:{width}}  {model.size:6}  {model.question}" for model in chosen))
        return AS_EXPECTED
    tools = None
    if any(model.by == "tlc" for model in chosen):
        try:
            tools = find()
        except ToolsUnusable as problem:
            return _complain(f"{problem}\nnothing was checked", UNUSABLE)
        print(f"TLC in {tools.jar.name}, Java {tools.java_version}, modules in {root().name}/", file=sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)  # so that no Java machine outlives this process
    return _check(args, tools, chosen)


def _check(args: Namespace, tools: Tools | None, chosen: list[Model]) -> int:
    from peerproof.conformance.models import model_check
    from peerproof.tla.output.outcome import RunFailed

    width = max(len(model.name) for model in chosen)
    surprising, failed = 0, 0
    for model in chosen:
        begun = time.monotonic()
        show = ModelTicker(model.name, width)
        try:
            found = model_check.check_model(
                model, tools, seconds=args.seconds, rewrite=args.rewrite, on_tlc=show, on_explored=show.show_exploration
            )
        except RunFailed as problem:
            show.clear()
            print(f"{model.name:{width}}  NO VERDICT: {problem}", flush=True)
            failed += 1
            continue
        show.clear()
        surprising += not found.is_as_expected
        line = found.text if found.is_as_expected else f"UNEXPECTED: {'; '.join(found.surprises)}"
        print(f"{model.name:{width}}  {line}  {time.monotonic() - begun:.1f} s", flush=True)
        if found.diagram and (args.show or not found.is_as_expected):
            print("\n".join(f"    {row}" for row in found.diagram.splitlines()), flush=True)
    if args.rewrite:
        model_check.rewrite_vectors({model.protocol for model in chosen})
    total = f"{len(chosen)} models: {len(chosen) - surprising - failed} as expected"
    print(f"{total}, {surprising} not, {failed} without a verdict")
    return UNUSABLE if failed else UNEXPECTED if surprising else AS_EXPECTED


def _positive(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError
    return seconds


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _complain(problem: str, code: int) -> int:
    print(f"peerproof: {problem}", file=sys.stderr)
    return code
