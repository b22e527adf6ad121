"""
Known differences after which cases continue, so that later faults are found too.

A file has one difference a line, in the words of `peerproof report groups`; a comment begins with #:

    digest_response was sent and not expected    # BD-03, issue 12

A case continues after a step that shows only these differences; the rest of the case is checked against the vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peerproof.conformance.report.failure_groups import differences_of
from peerproof.conformance.runner.result import Result
from peerproof.conformance.suite.locations import path_text


class UnreadableAssumptions(Exception):
    """The file cannot be read; the message says why."""


@dataclass
class Assumptions:
    """The differences of a file."""

    file: str
    differences: dict[str, int]  #: and their lines in the file
    shown: set[str] = field(default_factory=set)  #: differences that some case has shown

    def known(self, result: Result) -> Sequence[str]:
        """Returns the differences of a case if all of them are in the file; else nothing."""
        found = differences_of(result)
        if not self.differences.keys() >= {*found}:
            return ()
        self.shown |= {*found}
        return found

    def problems(self) -> Iterator[str]:
        """Yields the differences that no case has shown."""
        for difference, line in self.differences.items():
            if difference not in self.shown:
                yield f"{self.file}:{line}: no case shows {difference!r}: remove it, or see peerproof report groups for the words"


def load_assumptions(path: Path) -> Assumptions:
    """Loads the assumptions of a file. Raises UnreadableAssumptions."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it is not UTF-8, at byte {error.start}"
        raise UnreadableAssumptions(f"{path_text(path)}: the assumptions cannot be read: {why}") from None
    lines = ((line.partition(" #")[0].strip(), number) for number, line in enumerate(text.splitlines(), start=1))
    return Assumptions(path_text(path), {line: number for line, number in lines if line and not line.startswith("#")})
