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

import sys
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from peerproof.cli.command import interruptible, refuse
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.ticker import ModelTicker

if TYPE_CHECKING:
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

SIZES = ("small", "medium", "large")


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("protocol", nargs="?", metavar="PROTOCOL", help="whose models (default: all)")
    add("--size", choices=SIZES, default="small", help="models up to this size (default: small)")
    add("--model", action="append", metavar="NAME", help="this model, of whatever size; may be given again")
    add("--show", action="store_true", help="draw the counterexamples as message graphs")
    add("--list", action="store_true", help="print the models, and end")
    add("--seconds", type=_positive, metavar="N", help="give up on a model after so long")
    add(
        "--rewrite",
        action="store_true",
        help="write down what comes out as what is expected: counts, counterexamples, and the vectors made from them",
    )


def run(args: Namespace) -> int:
    """Prints a line for each model, and one for all."""
    from peerproof.conformance.models.model_check import select_models
    from peerproof.tla.manifest import BadManifest, models, root
    from peerproof.tla.tools.installation import ToolsUnusable, find

    with refuse(BadManifest):
        known = sorted({model.protocol for model in models()})
        if args.protocol not in (None, *known):
            raise Refusal(f"peerproof: no models of {args.protocol!r}; there are some of {', '.join(known)}")
        chosen = select_models(args.protocol, SIZES[-1] if args.list else args.size, args.model or ())
    if unknown := set(args.model or ()) - {model.name for model in chosen}:
        raise Refusal(f"peerproof: no model {', '.join(sorted(unknown))}; see peerproof model-check --list")
    if not chosen:
        raise Refusal("peerproof: no model is that small", NOTHING)
    if args.list:
        width = max(len(model.name) for model in chosen)
        print("\n".join(f"{model.name:{width}}  {model.size:6}  {model.question}" for model in chosen))
        return OK
    tools = None
    if any(model.by == "tlc" for model in chosen):
        try:
            tools = find()
        except ToolsUnusable as problem:
            raise Refusal(f"peerproof: {problem}\nnothing was checked", UNUSABLE) from None
        print(f"TLC in {tools.jar.name}, Java {tools.java_version}, modules in {root().name}/", file=sys.stderr)
    with interruptible():
        return _check(args, tools, chosen)


def _check(args: Namespace, tools: Tools | None, chosen: list[Model]) -> int:
    from peerproof.conformance.models import model_check
    from peerproof.tla.output.outcome import RunFailed

    width = max(len(model.name) for model in chosen)
    surprising, failed = 0, 0
    for model in chosen:
        begun = time.monotonic()
        try:
            with ModelTicker(model.name, width) as ticker:
                on_tlc, on_explored = ticker.show_tlc, ticker.show_exploration
                found = model_check.check_model(
                    model, tools, seconds=args.seconds, rewrite=args.rewrite, on_tlc=on_tlc, on_explored=on_explored
                )
        except RunFailed as problem:
            print(f"{model.name:{width}}  NO VERDICT: {problem}", flush=True)
            failed += 1
            continue
        surprising += not found.is_as_expected
        line = found.text if found.is_as_expected else f"UNEXPECTED: {'; '.join(found.surprises)}"
        print(f"{model.name:{width}}  {line}  {time.monotonic() - begun:.1f} s", flush=True)
        if found.diagram and (args.show or not found.is_as_expected):
            print("\n".join(f"    {row}" for row in found.diagram.splitlines()), flush=True)
    if args.rewrite:
        model_check.rewrite_vectors({model.protocol for model in chosen})
    total = f"{len(chosen)} models: {len(chosen) - surprising - failed} as expected"
    print(f"{total}, {surprising} not, {failed} without a verdict")
    return UNUSABLE if failed else FAILED if surprising else OK


def _positive(text: str) -> float:
    seconds = float(text)
    if not seconds > 0:
        raise ValueError
    return seconds
