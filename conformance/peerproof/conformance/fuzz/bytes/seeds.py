"""The initial inputs of a search, and the clauses that a vector of a finding cites, both from the suite's codec vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import in_order, specification
from peerproof.conformance.runner import codec_cases
from peerproof.conformance.traces.other_readings import Taken, specification_by
from peerproof.conformance.vectors.suite import Suite, Vector, load
from peerproof.spec.forms.packing import Codec

#: Maximum bytes of an input.
LONGEST: Final = 4_096


@dataclass(frozen=True)
class Seeds:
    """The codec of a protocol, without shortcuts, and its codec vectors."""

    protocol: str
    codec: Codec[Any]
    data: tuple[bytes, ...]  #: the bytes of the vectors without duplicates, the shortest first
    one_form: bool  #: each message has one form only: no vector has another one
    vectors: tuple[Vector, ...]
    taken: Taken = ()  #: the other readings of the document that the codec takes

    def clauses(self, data: bytes, message: str | None) -> list[str]:
        """Returns the clauses of the vector with the most similar bytes, of this message type, or None for malformed bytes."""
        return _nearest_clauses([vector for vector in self.vectors if _about(vector) == message], data, _count_alike)


def seeds_of(suite: Suite, protocol: str) -> Seeds:
    """Returns the seeds of a protocol."""
    vectors = tuple(vector for vector in suite.vectors if vector.protocol == protocol and vector.layer == "codec")
    data = {bytes.fromhex("")} | {data for vector in vectors for data in _data(vector)}
    one_form = not any("encode" not in vector.body.get("checks", ("encode",)) for vector in vectors if "message" in vector.body)
    short = sorted((one for one in data if len(one) <= LONGEST), key=lambda one: (len(one), one))
    return Seeds(protocol, specification(protocol).MESSAGE.careful, tuple(short), one_form, vectors)


def take_readings(seeds: Seeds, taken: Taken) -> Seeds:
    """Returns the same seeds with the codec of other readings of the document."""
    return replace(seeds, codec=specification_by(seeds.protocol, taken).MESSAGE.careful, taken=taken) if taken else seeds


def read(seeds: Seeds, data: bytes) -> Any:
    """Returns the message that the specification reads; None if there is none, or if the specification fails."""
    try:
        return seeds.codec.decode(data)
    except Exception:  # noqa: BLE001  # this may be the flaw
        return None


@cache
def format_clauses(protocol: str, data: bytes) -> Sequence[str]:
    """
    Returns the clauses about the form of messages that bytes contradict: those of the message with the most similar bytes.

    >>> format_clauses("scuttlebutt", b"?")
    ['B-32', 'B-40', 'B-41']
    """
    vectors = load(protocol=protocol).vectors
    return _nearest_clauses([vector for vector in vectors if vector.layer == "codec" and _about(vector)], data, _count_front)


def _nearest_clauses(vectors: Sequence[Vector], data: bytes, count: Callable[[bytes, bytes], int]) -> list[str]:
    """Returns the clauses of the vector with the most similar bytes; `count` counts those that two have in common."""
    known = [(one, vector) for vector in vectors for one in _data(vector)]
    if not known:
        return []
    _, nearest = max(known, key=lambda one: (count(one[0], data), -abs(len(one[0]) - len(data))))
    return sorted(nearest.clauses, key=in_order)


def _data(vector: Vector) -> Iterator[bytes]:
    if "message" in vector.body:
        yield bytes.fromhex(vector.body["bytes"])
        return
    yield from (variant.data for variant in codec_cases.variants(vector.protocol, vector.body))


def _count_alike(one: bytes, other: bytes) -> int:
    """Returns the number of bytes that two strings share at their beginning and at their end."""
    front = _count_front(one, other)
    return front + _count_front(one[front:][::-1], other[front:][::-1])


def _count_front(one: bytes, other: bytes) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _about(vector: Vector) -> str | None:
    message = vector.body.get("message")
    return None if message is None else str(message["type"])
