"""
Lists the batches of a folder: inputs, progress, number of rows, and number of inputs set aside.

  peerproof pipeline status --in out
  peerproof pipeline status --in out --format json
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli.exits import NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.options import add_format
from peerproof.cli.pipeline.options import CANNOT_RUN, add_in, stage

EXITS: Final = {
    OK: "the batches are listed",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "no batch in the folder",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_in(parser)
    add_format(parser)


@stage
def run(args: Namespace) -> int:
    """Prints a few lines for each batch."""
    from peerproof.pipeline.storage.status import Standing, standings

    found = standings(args.place)
    if not found:
        raise Refusal(f"no batch in {args.place}", NOTHING)

    def text(batch: Standing) -> str:
        rows = ", ".join(f"{rows:,} {table}" for table, rows in batch.rows.items())
        state = "committed" if batch.committed else f"not committed, {batch.finished:,} units finished: run its command again"
        made = ", ".join(f"{name} {json.dumps(value)}" for name, value in batch.arguments.items())
        about = f"{batch.name}  {state}\n  {made[:400]}; seeds {', '.join(batch.seeds) or 'none'}"
        return f"{about}\n  {rows}" if rows else about

    print(json.dumps([batch._asdict() for batch in found]) if args.format == "json" else "\n".join(map(text, found)))
    return OK
