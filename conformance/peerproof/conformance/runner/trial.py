"""
One trial of a case: what is asked, what came of it, and what is kept for the report.

A case is a *dialogue*: a generator that yields requests and is sent their replies. It returns a `Verdict`, or raises `Failure`
where the implementation first did what it must not. It knows neither processes nor time: the runner can pack the requests
of many dialogues together, run one again alone, or stop in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.adapter.choices import Choices, case_seed
from peerproof.conformance.adapter.messages import Hello, Offered, Reply, Request
from peerproof.conformance.suite.bounds import USUAL, Bounds
from peerproof.conformance.vectors.basis import ANOTHER_FORM, OR, THE_END, fingerprint, open_keys
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.suite import Vector

#: How a case can fail; the words of reports and of lists of known failures.
FAILURES: Final[Mapping[str, str]] = {
    "crashed": "the implementation ended",
    "hung": "the implementation did not answer in time",
    "flooded": "the implementation put out more than a case may",
    "garbled": "the adapter wrote what is no line of the protocol",
    "misshapen": "the adapter's reply has not the members that it must have",
    "error": "the adapter says that it has a problem",
    "bytes": "encoding gave other bytes",
    "value": "decoding gave another message",
    "rejected": "a legal message was rejected",
    "accepted": "a malformed message was accepted",
    "class": "a malformed message was rejected for another reason",
    "messages": "other messages were sent",
    "events": "other events were told",
    "streams": "something else was done with connections",
    "observed": "a query gave something else",
    "refused": "a call was refused, or was not, or for another reason",
    "choice": "a choice was asked for among other options",
    "clock": "timers stand still or lie in the past",
    "changed": "a malformed message changed the node, or was answered",
    "unserving": "after malformed messages the node no longer serves as before",
}

_EVENT: Final = re.compile(r"\[\d+\]$")

_DIGITS: Final = 400  #: so many hexadecimal digits of what comes over a connection are shown


class Verdict(NamedTuple):
    """The case is as it should be, or as it may be."""

    branches: tuple[str, ...] = ()  #: the named branches that were taken
    tolerated: str | None = None  #: why it is not quite as it should be


class Failure(Exception):
    """The implementation did what it must not."""

    def __init__(self, failure: str, difference: Difference) -> None:
        super().__init__(f"{failure}: {difference.where}")
        assert failure in FAILURES, failure
        self.failure = failure
        self.difference = difference

    @property
    def fingerprint(self) -> str:
        """
        What came instead of what was expected, as `vectors.basis` has it.

        All other forms of one message are one thing; how many events came before depends on the hello.
        """
        if self.difference.is_other_form:
            return ANOTHER_FORM
        where = self.difference.where
        return fingerprint(self.failure, _EVENT.sub("", where) if self.failure == "events" else where, self.difference.actual)


class Unsupported(Exception):
    """The implementation cannot do what the case needs, and its hello has not claimed that it can; the message says what."""


Dialogue: TypeAlias = Generator[Sequence[Request], list[Reply], Verdict]
Asking: TypeAlias = Generator[Sequence[Request], list[Reply], Any]  #: a part of a dialogue


class Arrow(NamedTuple):
    """A datagram, or a question to a codec and its answer."""

    at: int | None  #: virtual milliseconds
    source: str
    target: str
    bytes: str | None
    label: str = ""  #: instead of what the bytes say


class TrialEvent(NamedTuple):
    """Something that happened at a node, or to all of them (an empty name)."""

    at: int | None
    node: str
    what: str


def on_connection(stream: Mapping[str, Any]) -> str:
    """What happens to a connection; of many bytes the first."""
    what = f"connection {stream['conn']}: {stream['event']}"
    digits = stream.get("bytes")
    if digits is None:
        return what
    return f"{what} {digits}" if len(digits) <= _DIGITS else f"{what} {digits[:_DIGITS]}… ({len(digits) // 2} bytes)"


class TimingFailure(Failure):
    """The same, but whether it must not hangs on time, and the runner itself was late."""

    def __init__(self, miss: Failure, because: str) -> None:
        super().__init__(miss.failure, miss.difference)
        self.because = because


class Flood(Failure):
    """The implementation put out so much that nobody can go on listening."""

    def __init__(self, difference: Difference, because: str) -> None:
        super().__init__("flooded", difference)
        self.because = because


class Unanswered(Failure):
    """That the implementation is a recording, which has no answer: nothing is known."""

    def __init__(self, op: str, because: str) -> None:
        super().__init__("error", Difference(f"reply to {op}", {"ok": True}, None))
        self.because = because


@dataclass(frozen=True)
class Over:
    """That a case is tried over a real socket, in real time."""

    transport: str  #: udp or tcp
    slack: float  #: seconds that an answer may take
    to: tuple[str, int] | None = None  #: host and port of a node that runs, if there is no adapter


@dataclass(frozen=True)
class Case:
    """A vector, or the part of it that is judged by itself."""

    id: str  #: the vector's id, and `#` with the name of the part
    vector: Vector
    part: str
    needs: frozenset[str]
    probes: tuple[str, ...] = ()  #: legal messages that show whether a node serves
    over: Over | None = None  #: none under virtual time

    @property
    def codec(self) -> bool:
        """Whether it takes no node, so that it can be asked together with others."""
        return self.part in ("decode", "encode", "reencode", "rejects")

    @property
    def pack(self) -> str | None:
        """What it can be asked together with, the requests of all in turn; None if it is asked alone."""
        return "codec" if self.codec else self.part if self.part in ("model", "socket") else None


@dataclass
class Trial:
    """A case being tried."""

    case: Case
    run_seed: str
    hello: Hello
    bounds: Bounds = USUAL
    story: list[Arrow | TrialEvent] = field(default_factory=list)
    essence: list[Request] = field(default_factory=list)  #: what it comes down to: the requests to put in by hand
    handles: list[Any] = field(default_factory=list)  #: of nodes that are open
    judged: int = 0  #: so much of the story has come before what is judged next
    wanted: Mapping[str, Any] | None = None  #: the expectation that is being judged
    place: str = ""  #: the step that is under way, `steps[2]`; nothing in a case without steps
    #: Where a step was not as it should be and the case went on all the same; None: the first such step ends the case.
    missed: dict[str, Failure] | None = None
    #: Which known differences a miss shows, if it shows no other; the case goes on after such a step.
    assume: Callable[[Trial, Failure], Sequence[str]] | None = None
    past: list[str] = field(default_factory=list)  #: the known differences that it has gone past

    def goes_past(self, miss: Failure) -> bool:
        """Whether the case goes on after this, as it is assumed; then that is kept."""
        known = self.assume(self, miss) if self.assume else ()
        self.past += [difference for difference in known if difference not in self.past]
        return bool(known)

    @property
    def judged_at(self) -> str:
        """The place that is judged: a step, or the part of a vector without steps."""
        return self.place or self.case.part

    def find_claimed(self, miss: Failure) -> list[str]:
        """The readings that the implementation says it takes and that lead to this instead of what the vector expects."""
        claims = self.hello.readings
        for key, others in self.vector.rests_on.get(self.judged_at, {}).items():
            for came in (miss.fingerprint, *open_keys(miss.failure), THE_END):
                taken = dict(zip(key.split(), others.get(came, "").split(), strict=False))
                if taken and all(claims.get(decision) in names.split(OR) for decision, names in taken.items()):
                    return [f"{decision}: {claims[decision]}" for decision in taken]
        return []

    @cached_property
    def seed(self) -> str:
        """Of what is drawn by lot in this case."""
        return case_seed(self.run_seed, self.case.id)

    @cached_property
    def choices(self) -> Choices:
        """Who answers the implementation's questions."""
        return Choices(self.seed)

    @property
    def vector(self) -> Vector:
        """The case's vector."""
        return self.case.vector

    @property
    def body(self) -> Mapping[str, Any]:
        """What the vector says."""
        return self.case.vector.body

    @property
    def offered(self) -> Offered:
        """What the implementation can do in this protocol."""
        return self.hello.protocols[self.vector.protocol]
