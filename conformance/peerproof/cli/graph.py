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

import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerproof.tla.manifest import Model
    from peerproof.tla.tools.installation import Tools

EXIT_CODES = {"EQUAL": 0, "NOT_COMPARED": 0, "UNEXPECTED": 1, "UNEQUAL": 1, "UNDETERMINED": 3}
USAGE, UNUSABLE = 2, 3
SIZES = ("small", "medium")


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", metavar="PROTOCOL", help="whose graphs")
    parser.add_argument("--size", choices=SIZES, default="small", help="configurations up to this size (default: small)")
    parser.add_argument(
        "--model", action="append", metavar="NAME", help="this configuration, of whatever size; may be given again"
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="give up on TLC after so long")
    parser.add_argument("--processes", type=_processes, default=1, metavar="N", help="explore with so many (default: 1)")
    parser.add_argument("--resume", type=Path, metavar="DIR", help="keep what is explored there, and go on with what is there")
    parser.add_argument("--rewrite", action="store_true", help="write down the digests of graphs that TLC has as well")


def run(args: Namespace) -> int:
    """Prints a line for each pair of graphs."""
    from peerproof.conformance.models.graph_check import select_graphs
    from peerproof.tla.manifest import BadManifest
    from peerproof.tla.tools.installation import ToolsUnusable, find

    try:
        chosen = select_graphs(args.protocol, args.size, args.model or ())
    except BadManifest as problem:
        return _complain(str(problem), USAGE)
    unknown = set(args.model or ()) - {model.name for model in chosen}
    if unknown or not chosen:
        return _complain(
            f"no graph of {args.protocol} {' '.join(sorted(unknown))}; see peerproof model-check --list --size medium", USAGE
        )
    try:
        tools = find()
    except ToolsUnusable as problem:
        _complain(f"{problem}\nthe TLC half is NOT RUN; the Python half is compared with what is written down", UNUSABLE)
        tools = None
    signal.signal(signal.SIGTERM, _interrupt)  # so that no Java machine outlives this process
    try:
        return max([_one(args, tools, model) for model in chosen])
    except KeyboardInterrupt:
        if args.resume:
            print(f"\npeerproof: interrupted; the same command goes on with what is in {args.resume}", file=sys.stderr)
        raise


def _one(args: Namespace, tools: Tools | None, model: Model) -> int:
    from peerproof.cli.ticker import ModelTicker
    from peerproof.conformance.models.graph_check import compare_graphs, record_digest
    from peerproof.spec.model.checkpoint import BadCheckpoint

    ticker = ModelTicker(model.name, 0)
    try:
        found = compare_graphs(
            model,
            tools,
            processes=args.processes,
            checkpoint=args.resume / model.name if args.resume else None,
            seconds=args.seconds,
            check_digest=not args.rewrite,
            on_explored=ticker.show_exploration,
            on_tlc=ticker,
        )
    except BadCheckpoint as problem:
        return _complain(str(problem), USAGE)
    finally:
        ticker.clear()
    print("\n".join([f"{model.name}  {found.text}", *found.difference]), flush=True)
    if args.rewrite:
        record_digest(found)
    return EXIT_CODES[found.verdict.name]


def _processes(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _complain(problem: str, code: int) -> int:
    print(f"peerproof: {problem}", file=sys.stderr)
    return code
