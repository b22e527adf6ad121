"""What is known of a case after its trial: one line of the report of record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference

#: Every status that a case can have, and whether it makes the run fail.
STATUSES: Final[Mapping[str, bool]] = {
    "passed": False,
    "failed": True,
    "crashed": True,
    "hung": True,
    "known": False,  #: it fails, as the list of known failures says
    "stale": True,  #: it passes, against the list of known failures
    "skipped": False,
    "undetermined": False,  #: what it did over a socket hangs on time, and the machine was too slow to tell
    "tolerated": False,  #: not quite as it should be, but nothing that it must be
}


@dataclass(frozen=True)
class Result:
    """How a case ended."""

    id: str
    status: str
    vector: str
    rev: int
    level: str
    clauses: tuple[str, ...]
    seed: str | None = None
    failure: str | None = None  #: one of `trial.FAILURES`, also of a failure that is known or tolerated
    reason: str | None = None  #: why it was skipped, tolerated or is known; what happened to a process
    confirmed: bool | None = None  #: of a crash or a hang: whether it came again when the case was tried alone
    branches: tuple[str, ...] = ()
    difference: Difference | None = None
    milliseconds: float | None = None
    errors: str = ""  #: the last that the implementation wrote on standard error
    title: str = ""  #: of the vector; this and the next two are there if it failed
    file: str = ""  #: the vector's, below the root of the vectors
    line: int | None = None  #: in that file
    story: tuple[Arrow | TrialEvent, ...] = ()
    judged: int = 0  #: so much of the story came before what the expectation that was not met is about
    expected: tuple[Arrow | TrialEvent, ...] = ()  #: all that this expectation wants; empty also if it wants nothing
    essence: tuple[Request, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)  #: the entry of the list of known failures: link, reason

    def plain(self) -> dict[str, Any]:
        """For reports: the members that say something."""
        shown: dict[str, Any] = {
            "id": self.id,
            "status": self.status,
            "vector": self.vector,
            "rev": self.rev,
            "level": self.level,
            "clauses": list(self.clauses),
            "seed": self.seed,
            "failure": self.failure,
            "reason": self.reason,
            "confirmed": self.confirmed,
            "branches": list(self.branches) or None,
            "difference": self.difference and self.difference.plain(),
            "ms": None if self.milliseconds is None else round(self.milliseconds, 3),
            "stderr": self.errors or None,
            "title": self.title or None,
            "file": self.file or None,
            "line": self.line,
            "story": [_plain_part(part) for part in self.story] or None,
            "judged": self.judged or None,
            "expected": [_plain_part(part) for part in self.expected] or None,
            "essence": list(self.essence) or None,
            "known": dict(self.known) or None,
        }
        return {name: value for name, value in shown.items() if value is not None}


def of_plain(plain: Mapping[str, Any]) -> Result:
    """The result that a line of a report shows."""
    difference = plain.get("difference")
    return Result(
        id=plain["id"],
        status=plain["status"],
        vector=plain["vector"],
        rev=plain["rev"],
        level=plain["level"],
        clauses=tuple(plain["clauses"]),
        seed=plain.get("seed"),
        failure=plain.get("failure"),
        reason=plain.get("reason"),
        confirmed=plain.get("confirmed"),
        branches=tuple(plain.get("branches", ())),
        difference=difference and Difference(**difference),
        milliseconds=plain.get("ms"),
        errors=plain.get("stderr", ""),
        title=plain.get("title", ""),
        file=plain.get("file", ""),
        line=plain.get("line"),
        story=tuple(_parse_part(part) for part in plain.get("story", ())),
        judged=plain.get("judged", 0),
        expected=tuple(_parse_part(part) for part in plain.get("expected", ())),
        essence=tuple(plain.get("essence", ())),
        known=plain.get("known", {}),
    )


def _plain_part(part: Arrow | TrialEvent) -> dict[str, Any]:
    always = ("source", "target", "what")  # an address may have no letter
    return {name: value for name, value in part._asdict().items() if name in always or value not in (None, "")}


def _parse_part(part: Mapping[str, Any]) -> Arrow | TrialEvent:
    if "what" in part:
        return TrialEvent(part.get("at"), part.get("node", ""), part["what"])
    return Arrow(part.get("at"), part.get("source", ""), part.get("target", ""), part.get("bytes"), part.get("label", ""))
