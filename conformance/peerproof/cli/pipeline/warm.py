"""
Makes Spark start faster on this machine: writes an archive of its classes, once for each version of Java and Spark.

  peerproof pipeline warm
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from peerproof.cli.exits import OK, UNUSABLE
from peerproof.cli.pipeline.options import CANNOT_RUN, stage

EXITS: Final = {
    OK: "the archive is written",
    UNUSABLE: CANNOT_RUN,
}


def configure(parser: ArgumentParser) -> None:
    """Declares no options."""


@stage
def run(args: Namespace) -> int:  # noqa: ARG001  # every command has this parameter
    """Makes the archive."""
    from peerproof.pipeline.spark.quick_start import warm

    archive = warm()
    print(f"{archive}: {archive.stat().st_size:,} bytes; Spark uses it from now on")
    return OK
