"""`--reading`: the other readings of decisions that the nodes of a log take."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Collection, Sequence

from peerproof.cli.command import refuse
from peerproof.cli.console import warn


def add_readings(parser: ArgumentParser) -> None:
    """Adds `--reading`."""
    about = "the nodes take this other reading of a decision, as SA-29=unknown-only; its steps are accepted (repeatable)"
    parser.add_argument("--reading", metavar="CLAUSE=NAME", action="append", default=[], help=about)


def check_readings(readings: Sequence[str]) -> None:
    """Ends the command if a reading cannot be declared."""
    from peerproof.conformance.traces.other_readings import NoReading, declared_readings

    with refuse(NoReading, prefix="--reading: "):
        declared_readings(readings)


def warn_of_readings(readings: Sequence[str], protocols: Collection[str]) -> None:
    """Warns of readings of protocols that no file is of."""
    from peerproof.conformance.traces.other_readings import declared_readings

    for reading in readings:
        for protocol in declared_readings([reading]).keys() - protocols:
            warn(f"--reading {reading} changes nothing: it is of {protocol}, and no file is a trace of that")
