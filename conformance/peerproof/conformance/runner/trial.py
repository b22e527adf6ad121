"""
One trial of a case: its requests, its outcome, and the evidence for the report.

A case is a *dialogue*: a generator that yields requests and is sent their replies. It returns a `Verdict`, or raises
`Failure` at the first violation. It depends on neither processes nor time: the runner can pack the requests of many dialogues
together, run one again alone, or stop in the middle.
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
from peerproof.conformance.vectors.basis import ANOTHER_FORM, OR, SAME_MEANING, THE_END, fingerprint, open_keys
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.suite import Vector

#: How a case can fail; the words of reports and of lists of expected failures.
FAILURES: Final[Mapping[str, str]] = {
    "crashed": "the implementation ended",
    "hung": "the implementation did not answer in time",
    "flooded": "the implementation produced more output than a case may",
    "garbled": "the adapter wrote a line that is not in the protocol",
    "misshapen": "the adapter's reply lacks members or has wrong ones",
    "error": "the adapter reported an error",
    "bytes": "encoding gave other bytes",
    "value": "decoding gave another message",
    "rejected": "a legal message was rejected",
    "accepted": "a malformed message was accepted",
    "class": "a malformed message was rejected for another reason",
    "messages": "other messages were sent",
    "events": "other events were reported",
    "streams": "other actions on connections",
    "observed": "a query returned another value",
    "refused": "a call was refused, or was not, or for another reason",
    "choice": "the options of a choice were not the expected ones",
    "clock": "timers do not advance or lie in the past",
    "changed": "a malformed message changed the node, or was answered",
    "unserving": "after malformed messages the node no longer serves as before",
}

_NO_ANSWER: Final = ("crashed", "hung", "error")

_EVENT: Final = re.compile(r"\[\d+\]$")

_DIGITS: Final = 400  #: the most hexadecimal digits of connection data that are shown


class Verdict(NamedTuple):
    """The case passed, perhaps only as tolerated."""

    branches: tuple[str, ...] = ()  #: the named branches that the implementation took
    tolerated: str | None = None  #: why it is only tolerated


class Failure(Exception):
    """The implementation violated an expectation."""

    def __init__(self, failure: str, difference: Difference) -> None:
        super().__init__(f"{failure}: {difference.where}")
        assert failure in FAILURES, failure
        self.failure = failure
        self.difference = difference

    @property
    def fingerprint(self) -> str:
        """
        A hash of the actual outcome, as `vectors.basis` computes it.

        All other forms of one message have the same fingerprint, and so have all with the same meaning. The index of an event
        is left out, since it depends on the hello.
        """
        if self.difference.has_same_meaning:
            return SAME_MEANING
        if self.difference.is_other_form:
            return ANOTHER_FORM
        where = self.difference.where
        return fingerprint(self.failure, _EVENT.sub("", where) if self.failure == "events" else where, self.difference.actual)


class Unsupported(Exception):
    """The implementation does not support a request of the case, and its hello did not claim so; the message names it."""


Dialogue: TypeAlias = Generator[Sequence[Request], list[Reply], Verdict]
Asking: TypeAlias = Generator[Sequence[Request], list[Reply], Any]  #: a part of a dialogue


class Arrow(NamedTuple):
    """A datagram, or a codec request or its answer."""

    at: int | None  #: virtual milliseconds
    source: str
    target: str
    bytes: str | None
    label: str = ""  #: shown instead of the decoded bytes


class TrialEvent(NamedTuple):
    """An event at a node, or at all nodes (empty name)."""

    at: int | None
    node: str
    what: str


def on_connection(stream: Mapping[str, Any]) -> str:
    """The text of a connection event; long data is shortened."""
    what = f"connection {stream['conn']}: {stream['event']}"
    digits = stream.get("bytes")
    if digits is None:
        return what
    return f"{what} {digits}" if len(digits) <= _DIGITS else f"{what} {digits[:_DIGITS]}… ({len(digits) // 2} bytes)"


class TimingFailure(Failure):
    """A failure that depends on timing, while the runner itself was late."""

    def __init__(self, miss: Failure, because: str) -> None:
        super().__init__(miss.failure, miss.difference)
        self.because = because


class Flood(Failure):
    """The implementation produced more output than the bounds allow."""

    def __init__(self, difference: Difference, because: str) -> None:
        super().__init__("flooded", difference)
        self.because = because


class Unanswered(Failure):
    """A recorded implementation has no answer to this request; there is no verdict."""

    def __init__(self, op: str, because: str) -> None:
        super().__init__("error", Difference(f"reply to {op}", {"ok": True}, None))
        self.because = because


@dataclass(frozen=True)
class Over:
    """Marks a case that runs over a real socket, in real time."""

    transport: str  #: udp or tcp
    slack: float  #: seconds that an answer may take
    to: tuple[str, int] | None = None  #: host and port of a running node, if there is no adapter


@dataclass(frozen=True)
class Case:
    """A vector, or a separately checked part of it."""

    id: str  #: the vector's id, followed by `#` and the name of the part
    vector: Vector
    part: str
    needs: frozenset[str]
    probes: tuple[str, ...] = ()  #: legal messages that show whether a node still works
    over: Over | None = None  #: None under virtual time

    @property
    def codec(self) -> bool:
        """Whether it needs no node, so that it can be packed with others."""
        return self.part in ("decode", "encode", "reencode", "rejects")

    @property
    def pack(self) -> str | None:
        """The kind of pack that it can share with other cases; None if it runs alone."""
        return "codec" if self.codec else self.part if self.part in ("model", "socket") else None


@dataclass
class Trial:
    """A running case."""

    case: Case
    run_seed: str
    hello: Hello
    bounds: Bounds = USUAL
    story: list[Arrow | TrialEvent] = field(default_factory=list)
    essence: list[Request] = field(default_factory=list)  #: the requests that reproduce the failure by hand
    handles: list[Any] = field(default_factory=list)  #: of open nodes
    judged: int = 0  #: the length of the story before the part that is checked next
    wanted: Mapping[str, Any] | None = None  #: the expectation that is being checked
    place: str = ""  #: the current step, such as `steps[2]`; empty in a case without steps
    #: Failures by step, if the case continues after a failure; None: the first failure ends the case.
    missed: dict[str, Failure] | None = None
    #: Returns the known differences that a failure shows, if it shows no other; the case then continues.
    assume: Callable[[Trial, Failure], Sequence[str]] | None = None
    past: list[str] = field(default_factory=list)  #: the known differences after which it has continued
    #: The implementation was given bytes of a peer, or a call that it must refuse: readings of the document may end there.
    is_challenged: bool = False

    def goes_past(self, miss: Failure) -> bool:
        """Whether the case continues after this failure as a known difference; records that difference."""
        known = self.assume(self, miss) if self.assume else ()
        self.past += [difference for difference in known if difference not in self.past]
        return bool(known)

    def owes_answer(self, failure: str) -> bool:
        """Whether no reading of the document explains this failure: no answer, though all that was asked is legal."""
        return failure in _NO_ANSWER and not (self.is_challenged or self.case.codec)

    @property
    def checked_at(self) -> str:
        """The step that is being checked, or the part of a vector without steps."""
        return self.place or self.case.part

    def find_claimed(self, miss: Failure) -> list[str]:
        """The readings that the implementation declares in its hello and that explain this failure."""
        if self.owes_answer(miss.failure):
            return []
        claims = self.hello.readings
        for key, others in self.vector.rests_on.get(self.checked_at, {}).items():
            for came in (miss.fingerprint, *open_keys(miss.failure), THE_END):
                taken = dict(zip(key.split(), others.get(came, "").split(), strict=False))
                if taken and all(claims.get(decision) in names.split(OR) for decision, names in taken.items()):
                    return [f"{decision}: {claims[decision]}" for decision in taken]
        return []

    @cached_property
    def seed(self) -> str:
        """The seed of the random choices in this case."""
        return case_seed(self.run_seed, self.case.id)

    @cached_property
    def choices(self) -> Choices:
        """The source of the answers to the implementation's questions."""
        return Choices(self.seed)

    @property
    def vector(self) -> Vector:
        """The case's vector."""
        return self.case.vector

    @property
    def body(self) -> Mapping[str, Any]:
        """The vector's content."""
        return self.case.vector.body

    @property
    def offered(self) -> Offered:
        """What the implementation offers for this protocol."""
        return self.hello.protocols[self.vector.protocol]
