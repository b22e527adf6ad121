"""What is known of a case after its trial: one line of the report of record; and which cases differ between transports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference

#: What violates the document: the implementation does otherwise than its words demand.
VIOLATIONS: Final = ("failed", "crashed", "hung", "flooded")

#: Every status that a case can have, and whether it makes the run fail.
STATUSES: Final[Mapping[str, bool]] = {
    "passed": False,
    "failed": True,
    "crashed": True,
    "hung": True,
    "flooded": True,
    "known": False,  #: it fails, as the list of known failures says
    "stale": True,  #: it passes, against the list of known failures
    "differs": False,  #: it fails what only a decision of ours demands, not the document's words
    "skipped": False,
    "undetermined": False,  #: it hangs on time, and the machine was too slow to tell; or it was not recorded
    "tolerated": False,  #: not quite as it should be, but nothing that it must be
}

SILENT: Final = ("skipped", "undetermined")  #: what says nothing about the implementation


@dataclass(frozen=True)
class Result:
    """How a case ended."""

    id: str
    status: str
    vector: str
    rev: int
    level: str
    clauses: tuple[str, ...]
    decisions: tuple[str, ...] = ()  #: of a case that fails: what the expectation rests on; none if on the document's words
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
    cut: tuple[str, ...] = ()  #: what of this is too large for a report, and is not all there
    known: Mapping[str, str] = field(default_factory=dict)  #: the entry of the list of known failures: link, reason

    @property
    def outcome(self) -> str:
        """The status, and how the case failed."""
        return f"{self.status} ({self.failure})" if self.failure else self.status

    def plain(self) -> dict[str, Any]:
        """For reports: the members that every case has, and those that say something."""
        shown: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name in _ALWAYS or value != getattr(_BLANK, name):
                shown[_REPORTED.get(name, name)] = list(value) if isinstance(value, tuple) else value
        if self.difference:
            shown["difference"] = self.difference.plain()
        if self.milliseconds is not None:
            shown["ms"] = round(self.milliseconds, 3)
        for name in _DIAGRAMS & shown.keys():
            shown[name] = [plain_part(part) for part in shown[name]]
        return shown


_ALWAYS: Final = ("id", "status", "vector", "rev", "level", "clauses")
_BLANK: Final = Result("", "", "", 0, "", ())
_REPORTED: Final = {"milliseconds": "ms", "errors": "stderr"}  #: members that reports call otherwise
_SOMETIMES: Final = {_REPORTED.get(name, name): name for name in vars(_BLANK) if name not in _ALWAYS}
_DIAGRAMS: Final = {"story", "expected"}
_TUPLES: Final = {"clauses", "decisions", "branches", "essence", "cut"}


def of_plain(plain: Mapping[str, Any]) -> Result:
    """The result that a line of a report shows."""
    members = {name: plain[name] for name in _ALWAYS}
    members |= {_SOMETIMES[name]: value for name, value in plain.items() if name in _SOMETIMES}
    for name in _DIAGRAMS & members.keys():
        members[name] = tuple(map(_parse_part, members[name]))
    for name in _TUPLES & members.keys():
        members[name] = tuple(members[name])
    if members.get("difference"):
        difference = members["difference"]
        members["difference"] = Difference(**difference | {"nulls": tuple(difference.get("nulls", ()))})
    return Result(**members)


def plain_part(part: Arrow | TrialEvent) -> dict[str, Any]:
    """For reports: a part of a story."""
    always = ("source", "target", "what")  # an address may have no letter
    return {name: value for name, value in part._asdict().items() if name in always or value not in (None, "")}


def _parse_part(part: Mapping[str, Any]) -> Arrow | TrialEvent:
    if "what" in part:
        return TrialEvent(part.get("at"), part.get("node", ""), part["what"])
    return Arrow(part.get("at"), part.get("source", ""), part.get("target", ""), part.get("bytes"), part.get("label", ""))


class TransportDifference(NamedTuple):
    """A vector that comes out otherwise over a socket than under virtual time."""

    vector: str
    virtual: Result
    over: str  #: the transport
    socket: Result

    def plain(self) -> dict[str, Any]:
        """For reports."""
        return {"vector": self.vector, "virtual": self.virtual.status, self.over: self.socket.status}

    def text(self) -> str:
        """In words."""
        return f"{self.vector}: {self.virtual.outcome} under virtual time, {self.socket.outcome} over {self.over}"


def compare_transports(results: Iterable[Result]) -> tuple[int, list[TransportDifference]]:
    """How many vectors came out both ways, and those that came out differently; skipped and undetermined ones did not."""
    every = {result.id: result for result in results}
    both = list(_both(every))
    return len(both), [pair for pair in both if pair.virtual.status != pair.socket.status]


def _both(every: Mapping[str, Result]) -> Iterator[TransportDifference]:
    for name, socket in every.items():
        base, at, over = name.partition("@")
        virtual = every.get(base)
        if at and virtual and virtual.status not in SILENT and socket.status not in SILENT:
            yield TransportDifference(base, virtual, over, socket)


def transport_lines(results: Iterable[Result]) -> Iterator[str]:
    """For people; nothing if nothing was tried both ways."""
    count, otherwise = compare_transports(results)
    yield from (f"otherwise: {each.text()}" for each in otherwise)
    if count:
        agree = "all agree" if not otherwise else f"{len(otherwise)} disagree"
        yield f"virtual time and real sockets: {count} vectors came out both ways, {agree}"
