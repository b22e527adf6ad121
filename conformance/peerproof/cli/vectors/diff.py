"""
Prints what changed between two exports: vectors that are new, gone or changed, with the places that differ.

  peerproof vectors diff bundles-0.1 bundles-0.2                       all bundles of two folders
  peerproof vectors diff old/scuttlebutt.json new/scuttlebutt.json     one protocol
  peerproof vectors diff bundles-0.1 bundles-0.2 --json                for programs

Bundles come from `peerproof vectors export`.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK
from peerproof.conformance.bundles.bundle_diff import compare_bundles
from peerproof.conformance.bundles.bundle_file import BundleError


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("old", metavar="OLD", type=Path, help="the earlier bundle, or a folder of bundles")
    parser.add_argument("new", metavar="NEW", type=Path, help="the later bundle, or a folder of bundles")
    options.add_format(parser)


def run(args: Namespace) -> int:
    """Prints the changes of each protocol."""
    with refuse(BundleError):
        diffs = compare_bundles(args.old, args.new)
    if args.format == "json":
        print(json.dumps([diff.plain() for diff in diffs], indent=2, ensure_ascii=False))
    else:
        print("\n".join(diff.text() for diff in diffs))
    return OK
