"""
Compares the two state graphs of a protocol: the one of its TLA+ module and the one of its Python specification.

  peerproof graph scuttlebutt                     the small configurations
  peerproof graph scuttlebutt --size medium       the medium ones too, and those that models are mended with: minutes
  peerproof graph scuttlebutt --model small-a     one configuration
  peerproof graph scuttlebutt --model medium --processes 2 --resume build/medium

Both sides explore the same configuration whole; its constants stand in tla/PROTOCOL/constants.json. One line for each pair of
graphs: equal, with the counts of both; or what differs, with the shortest way to the first difference. Without Java only
the Python side runs; its counts and its digest are compared with those that are written down, and the line says so.

--processes shares the Python side's work; the result is the same. --resume keeps each level of it in a folder as soon as it is
explored: after an interruption, Ctrl-C or a kill, the same command goes on there.

Exit codes of this command: 0 all equal; 1 a difference, or counts other than those written down; 2 usage; 3 no verdict from TLC.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.cli.command import interruptible, refuse
from peerproof.cli.exits import Refusal

if TYPE_CHECKING:
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

EXIT_CODES = {"EQUAL": 0, "NOT_COMPARED": 0, "UNEXPECTED": 1, "UNEQUAL": 1, "UNDETERMINED": 3}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("protocol", metavar="PROTOCOL", help="whose graphs")
    add("--size", choices=("small", "medium"), default="small", help="configurations up to this size (default: small)")
    add("--model", action="append", metavar="NAME", help="this configuration, of whatever size; may be given again")
    add("--seconds", type=float, metavar="N", help="give up on TLC after so long")
    add("--processes", type=_processes, default=1, metavar="N", help="explore with so many (default: 1)")
    add("--resume", type=Path, metavar="DIR", help="keep what is explored there, and go on with what is there")
    add("--rewrite", action="store_true", help="write down the digests of graphs that TLC has as well")


def run(args: Namespace) -> int:
    """Prints a line for each pair of graphs."""
    from peerproof.conformance.models.graph_check import select_graphs
    from peerproof.tla.manifest import BadManifest
    from peerproof.tla.tools.installation import ToolsUnusable, find

    with refuse(BadManifest):
        chosen = select_graphs(args.protocol, args.size, args.model or ())
    unknown = set(args.model or ()) - {model.name for model in chosen}
    if unknown or not chosen:
        names = " ".join(sorted(unknown))
        raise Refusal(f"peerproof: no graph of {args.protocol} {names}; see peerproof model-check --list --size medium")
    try:
        tools = find()
    except ToolsUnusable as problem:
        print(f"peerproof: {problem}", file=sys.stderr)
        print("the TLC half is NOT RUN; the Python half is compared with what is written down", file=sys.stderr)
        tools = None
    try:
        with interruptible():
            return max([_one(args, tools, model) for model in chosen])
    except KeyboardInterrupt:
        if args.resume:
            print(f"\npeerproof: interrupted; the same command goes on with what is in {args.resume}", file=sys.stderr)
        raise


def _one(args: Namespace, tools: Tools | None, model: Model) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.models.graph_check import compare_graphs, record_digest
    from peerproof.spec.model.checkpoint import BadCheckpoint

    with ModelTicker(model.name, 0) as ticker, refuse(BadCheckpoint):
        found = compare_graphs(
            model,
            tools,
            processes=args.processes,
            checkpoint=args.resume / model.name if args.resume else None,
            seconds=args.seconds,
            check_digest=not args.rewrite,
            on_explored=ticker.show_exploration,
            on_tlc=ticker.show_tlc,
        )
    print("\n".join([f"{model.name}  {found.text}", *found.difference]), flush=True)
    if args.rewrite:
        record_digest(found)
    return EXIT_CODES[found.verdict.name]


def _processes(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
