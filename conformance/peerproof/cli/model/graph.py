"""
Compares the two state graphs of a protocol: that of its TLA+ module and that of its Python specification.

  peerproof model graph                                 the small configurations of every protocol
  peerproof model graph scuttlebutt --size medium       the medium ones too: minutes
  peerproof model graph scuttlebutt --model small-a     one configuration
  peerproof model graph scuttlebutt --model medium --jobs 2 --resume build/medium

Both sides explore the whole configuration; the page "Constants of the models" explains its constants. A line for each pair says
that the graphs are equal, with the counts of both, or what differs, with the shortest path to the first difference and the step
that each side takes there. Equal graphs must have the stored counts and digest as well. Without Java only the Python side runs;
its counts and its digest are compared with the stored ones, and the line says so.

--jobs divides the work of the Python side; the result is the same. --resume stores each level in a folder as soon as it is
explored: after an interruption the same command goes on from there.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import interruptible, positive_seconds, refuse
from peerproof.cli.console import note, print_tip, warn
from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.cli.options import add_jobs, add_protocol, check_protocol
from peerproof.cli.parser import did_you_mean

if TYPE_CHECKING:
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

EXIT_CODES = {"EQUAL": 0, "NOT_COMPARED": 0, "UNEXPECTED": 1, "UNEQUAL": 1, "UNDETERMINED": 3}


EXITS: Final = {
    0: "every pair is equal",
    1: "a difference, or counts other than the stored ones",
    3: "TLC gave no verdict, or --rewrite has no TLC",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add_protocol(parser, "only the graphs of this protocol")
    add("--size", choices=("small", "medium"), default="small", help="configurations up to this size (default: small)")
    add("--model", action="append", metavar="NAME", help="this configuration, of any size (repeatable)")
    add("--seconds", type=positive_seconds, metavar="N", help="give up on TLC after N seconds")
    add_jobs(parser, "explore with N processes")
    add("--resume", type=Path, metavar="DIR", help="store what is explored there, and go on from what is stored")
    add("--rewrite", action="store_true", help="store the digests of graphs that TLC agrees with")


def run(args: Namespace) -> int:
    """Prints a line for each pair of graphs."""
    from peerproof.conformance.models.generation import table_protocols
    from peerproof.conformance.models.graph_check import select_graphs
    from peerproof.tla.manifest import BadManifest, models
    from peerproof.tla.tools.installation import ToolsUnusable, find

    with refuse(BadManifest):
        known = table_protocols()
        check_protocol(args.protocol, known, "model")
        protocols = [args.protocol] if args.protocol else known
        chosen = [model for protocol in protocols for model in select_graphs(protocol, args.size, args.model or ())]
    if unknown := set(args.model or ()) - {model.name for model in chosen}:
        names = [model.name for protocol in protocols for model in select_graphs(protocol, "medium", ())]
        those = f"there are {', '.join(names)}"
        if others := sorted(unknown & {model.name for protocol in protocols for model in models(protocol)}):
            plain = "only models that hold, with the steps of the protocol itself, have whole graphs"
            raise Refusal(f"no graph of {', '.join(others)} is compared: {plain}", tip=those)
        raise Refusal(f"unknown graph {', '.join(sorted(unknown))}", tip=did_you_mean(min(unknown), names) or those)
    try:
        tools = find()
    except ToolsUnusable as problem:
        if args.rewrite:
            raise Refusal(f"--rewrite needs TLC: {problem}", UNUSABLE) from None
        warn(str(problem))
        warn("TLC is not run: the Python side is only compared with the stored counts and digests")
        tools = None
    try:
        with interruptible():
            return max([_one(args, tools, model) for model in chosen])
    except KeyboardInterrupt:
        if args.resume:
            note(f"\nthe same command goes on from what is in {args.resume}")
        raise


def _one(args: Namespace, tools: Tools | None, model: Model) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.models.graph_check import compare_graphs, record_digest
    from peerproof.spec.model.checkpoint import BadCheckpoint

    name = model.name if args.protocol else f"{model.protocol} {model.name}"
    with ModelTicker(name, 0) as ticker, refuse(BadCheckpoint):
        found = compare_graphs(
            model,
            tools,
            processes=args.jobs,
            checkpoint=Path(args.resume, model.protocol, model.name) if args.resume else None,
            seconds=args.seconds,
            check_digest=not args.rewrite,
            on_explored=ticker.show_exploration,
            on_tlc=ticker.show_tlc,
        )
    print("\n".join([f"{name}  {found.text}", *found.difference]), flush=True)
    if found.tip:
        print_tip(found.tip)
    if args.rewrite:
        record_digest(found)
    return EXIT_CODES[found.verdict.name]
