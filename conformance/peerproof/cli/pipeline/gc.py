"""
Removes the leftovers of killed processes from a folder: unfinished files, and units that no batch lists.

  peerproof pipeline gc --in out                     files only; every batch stays
  peerproof pipeline gc --in out --uncommitted       also batches that are not committed: their work is lost

Refused while a stage runs there.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli.exits import OK, UNUSABLE
from peerproof.cli.pipeline.options import CANNOT_RUN, add_in, stage

EXITS: Final = {
    OK: "the leftovers are removed",
    UNUSABLE: CANNOT_RUN,
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    parser.add_argument("--uncommitted", action="store_true", help="also batches that are not committed")


@stage
def run(args: Namespace) -> int:
    """Removes the leftovers, and prints how much."""
    from peerproof.pipeline.storage.status import collect

    files, size = collect(args.place, uncommitted_too=args.uncommitted)
    print(f"removed {files:,} files, {size:,} bytes")
    return OK
