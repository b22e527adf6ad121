"""
Make Spark start faster on this machine: an archive of its classes for Java, made once for each Java and each Spark.

  peerproof pipeline warm
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli.exits import OK
from peerproof.cli.pipeline.options import stage


def configure(parser: ArgumentParser) -> None:
    """There are no options."""


@stage
def run(args: Namespace) -> int:  # noqa: ARG001  # every command has them
    """Makes the archive."""
    from peerproof.pipeline.spark.quick_start import warm

    archive = warm()
    print(f"{archive}: {archive.stat().st_size:,} bytes; Spark uses it from now on")
    return OK
