"""The result of a case: one line of the report of record; and which cases differ between transports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.messages import Request
from peerproof.conformance.runner.trial import Arrow, TrialEvent
from peerproof.conformance.vectors.matching import Difference

#: Statuses that mean a violation of the document's own words.
VIOLATIONS: Final = ("failed", "crashed", "hung", "flooded")

#: Failures that are statuses of their own: the implementation gave no proper answer at all.
BROKEN: Final = ("crashed", "hung", "flooded")

#: Failures that show no reading of the document.
ADAPTERS_OWN: Final = ("garbled", "misshapen", "error")

#: Every status of a case, and whether it makes the run fail.
STATUSES: Final[Mapping[str, bool]] = {
    "passed": False,
    "failed": True,
    "crashed": True,
    "hung": True,
    "flooded": True,
    "known": False,  #: fails as the list of expected failures says
    "stale": True,  #: passes although the list of expected failures names it
    "differs": False,  #: fails only what a decision of this project requires, not the document's words
    "skipped": False,
    "undetermined": False,  #: depends on timing on a machine that was too slow, or was not recorded
    "tolerated": False,  #: deviates, but violates no requirement
}

SILENT: Final = ("skipped", "undetermined")  #: statuses that say nothing about the implementation


@dataclass(frozen=True)
class Result:
    """The result of a case."""

    id: str
    status: str
    vector: str
    rev: int
    level: str
    clauses: tuple[str, ...]
    decisions: tuple[str, ...] = ()  #: the decisions on which a failed expectation rests; empty if on the document's words
    seed: str | None = None
    failure: str | None = None  #: one of `trial.FAILURES`, also if the failure is expected or tolerated
    reason: str | None = None  #: why it was skipped, is tolerated or expected; or what happened to a process
    confirmed: bool | None = None  #: of a crash or a timeout: whether it happened again when the case ran alone
    branches: tuple[str, ...] = ()
    difference: Difference | None = None
    milliseconds: float | None = None  #: in whole microseconds, so that a record has the same
    errors: str = ""  #: the end of the implementation's standard error
    title: str = ""  #: of the vector; this and the next two are set if it failed
    file: str = ""  #: of the vector, relative to the root of the vectors
    line: int | None = None  #: in `file`
    story: tuple[Arrow | TrialEvent, ...] = ()
    judged: int = 0  #: the length of the story before the part that the failed expectation checks
    expected: tuple[Arrow | TrialEvent, ...] = ()  #: all that this expectation requires; also empty if it requires no output
    essence: tuple[Request, ...] = ()
    cut: tuple[str, ...] = ()  #: which parts were too large for a report and are incomplete
    known: Mapping[str, str] = field(default_factory=dict)  #: link and reason of the entry in the list of expected failures

    @property
    def outcome(self) -> str:
        """The status, followed by the failure."""
        return f"{self.status} ({self.failure})" if self.failure else self.status

    def plain(self) -> dict[str, Any]:
        """Plain data for reports: the members that every case has, and those that are not empty."""
        shown: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name in _ALWAYS or value != getattr(_BLANK, name):
                shown[_REPORTED.get(name, name)] = list(value) if isinstance(value, tuple) else value
        if self.difference:
            shown["difference"] = self.difference.plain()
        if self.milliseconds is not None:
            shown["ms"] = self.milliseconds
        for name in _DIAGRAMS & shown.keys():
            shown[name] = [plain_part(part) for part in shown[name]]
        return shown


_ALWAYS: Final = ("id", "status", "vector", "rev", "level", "clauses")
_BLANK: Final = Result("", "", "", 0, "", ())
_REPORTED: Final = {"milliseconds": "ms", "errors": "stderr"}  #: members with other names in reports
_SOMETIMES: Final = {_REPORTED.get(name, name): name for name in vars(_BLANK) if name not in _ALWAYS}
_DIAGRAMS: Final = {"story", "expected"}
_TUPLES: Final = {"clauses", "decisions", "branches", "essence", "cut"}


def of_plain(plain: Mapping[str, Any]) -> Result:
    """Returns the result of a line of a report."""
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
    """Plain data of a part of a story, for reports."""
    always = ("source", "target", "what")  # an address may be empty
    return {name: value for name, value in part._asdict().items() if name in always or value not in (None, "")}


def _parse_part(part: Mapping[str, Any]) -> Arrow | TrialEvent:
    if "what" in part:
        return TrialEvent(part.get("at"), part.get("node", ""), part["what"])
    return Arrow(part.get("at"), part.get("source", ""), part.get("target", ""), part.get("bytes"), part.get("label", ""))


class TransportDifference(NamedTuple):
    """A vector whose verdict differs between virtual time and a socket."""

    vector: str
    virtual: Result
    over: str  #: the transport
    socket: Result

    def plain(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {"vector": self.vector, "virtual": self.virtual.status, self.over: self.socket.status}

    def text(self) -> str:
        """The text for terminals."""
        return f"{self.vector}: {self.virtual.outcome} under virtual time, {self.socket.outcome} over {self.over}"


def compare_transports(results: Iterable[Result]) -> tuple[int, list[TransportDifference]]:
    """Returns how many vectors ran both ways, and those whose statuses differ; leaves out skipped and undetermined ones."""
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
    """Yields lines for terminals; none if no vector ran both ways."""
    count, otherwise = compare_transports(results)
    yield from (f"otherwise: {each.text()}" for each in otherwise)
    if count:
        agree = "all agree" if not otherwise else f"{len(otherwise)} disagree"
        yield f"virtual time and real sockets: {count} vectors ran both ways, {agree}"
