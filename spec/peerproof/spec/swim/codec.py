"""
How SWIM values look: messages as Transit and as plain data, everything else as plain data. [S-15…S-23, SA-44]

A datagram is one Transit value: a vector of vectors, each beginning with a keyword. How Transit itself is read and written is
in `transit.py`; here is what the vectors hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.packing import Codec
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AddNode,
    AntiEntropy,
    ClusterEvent,
    Dead,
    EventType,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    LeaveNode,
    Member,
    Message,
    NodeEvent,
    Normal,
    OnClusterEvent,
    OnNodeEvent,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    ProbeNode,
    ProbeTimeout,
    Quantum,
    Reachable,
    RemoveNode,
    SetPayload,
    Suspicious,
    Unreachable,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import LEAST_DATAGRAM, MAX_HOST, MOST_DATAGRAM, PORT_MAX, Config, Seed
from peerproof.spec.swim.transit import Pairs, Reader, Writer, canonical_json, concise, escaped, unescaped, unpacked, verbose
from peerproof.spec.wire import U64, Flag, Form, ListOf, Maybe, OneOf, Plain, Record, Tagged, Text, Whole, misfit, octets


class UuidText(Form):
    """A UUID, as text."""

    def plain(self, value: Any) -> Plain:
        """Its canonical text."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From any text of it."""
        try:
            return Uuid(str(UUID(plain)))
        except (ValueError, AttributeError, TypeError):
            raise misfit(where, "a UUID", plain) from None


class TransitMap(Form):
    """A map in the verbose JSON form of Transit; as a value it is its text. [S-23]"""

    def plain(self, value: Any) -> Plain:
        """The object."""
        return json.loads(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an object whose texts are in Transit's writing."""
        if not isinstance(plain, Mapping):
            raise misfit(where, "an object", plain)
        try:
            concise(dict(plain))
        except NotEnabled as error:
            raise MalformedMessage("bad_value", 0, f"{where}: {error}") from None
        return canonical_json(dict(plain))


UUID_TEXT: Final = UuidText()
COUNTER: Final = U64(most=COUNTER_MAX)  # [SA-47]
HOST: Final = Text(most=MAX_HOST)
PORT: Final = Whole(1, PORT_MAX)
INCARNATION: Final = Record(Incarnation, restart=COUNTER, tx=COUNTER)
MEMBER: Final = Record(Member, host=HOST, port=PORT, uuid=UUID_TEXT, restart_counter=COUNTER, tx_counter=COUNTER)
DATA: Final = TransitMap()
EVENT_TYPE: Final = OneOf(EventType)

VECTOR: Final = Tagged(
    joining=(0, Record(Joining, node=UUID_TEXT, incarnation=INCARNATION, host=HOST, port=PORT)),
    normal=(0, Record(Normal, node=UUID_TEXT, incarnation=Maybe(INCARNATION))),
    suspicious=(0, Record(Suspicious, node=UUID_TEXT, incarnation=Maybe(INCARNATION))),
    dead=(0, Record(Dead, node=UUID_TEXT, incarnation=Maybe(INCARNATION))),
    leave=(0, Record(Leave, node=UUID_TEXT, incarnation=INCARNATION)),
    anti_entropy=(0, Record(AntiEntropy, members=ListOf(MEMBER), tagged=Flag())),
    payload=(0, Record(Payload, data=DATA)),
    indirect_ping=(0, Record(IndirectPing, target=UUID_TEXT, host=HOST, port=PORT)),
    indirect_ack=(0, Record(IndirectAck, target=UUID_TEXT, incarnation=INCARNATION)),
)

MESSAGE_FORM: Final = Tagged(
    ping=(0, Record(Ping, sender=UUID_TEXT, incarnation=INCARNATION, target=UUID_TEXT, vectors=ListOf(VECTOR))),
    ack=(0, Record(Ack, sender=UUID_TEXT, incarnation=INCARNATION, target=UUID_TEXT, target_tx=COUNTER, vectors=ListOf(VECTOR))),
    probe=(0, Record(Probe, sender=UUID_TEXT, incarnation=INCARNATION)),
    probe_ack=(0, Record(ProbeAck, sender=UUID_TEXT, incarnation=INCARNATION, probe_tx=COUNTER)),
)

COMMAND: Final = Tagged(
    add_node=(0, Record(AddNode, uuid=UUID_TEXT, host=HOST, port=PORT)),
    leave_node=(0, Record(LeaveNode, uuid=UUID_TEXT)),
    remove_node=(0, Record(RemoveNode, uuid=UUID_TEXT)),
    probe_node=(0, Record(ProbeNode, host=HOST, port=PORT)),
    on_node_event=(0, Record(OnNodeEvent, uuid=UUID_TEXT, event_type=EVENT_TYPE)),
    on_cluster_event=(0, Record(OnClusterEvent, event_type=EVENT_TYPE)),
    set_payload=(0, Record(SetPayload, uuid=UUID_TEXT, data=DATA)),
)
TIMER: Final = Tagged(quantum=(0, Record(Quantum)), probe_timeout=(0, Record(ProbeTimeout, host=HOST, port=PORT)))
NOTICE: Final = Tagged(
    node_event=(0, Record(NodeEvent, node=UUID_TEXT, event_type=EVENT_TYPE)),
    cluster_event=(0, Record(ClusterEvent, node=UUID_TEXT, event_type=EVENT_TYPE)),
    reachable=(0, Record(Reachable, host=HOST, port=PORT, node=UUID_TEXT)),
    unreachable=(0, Record(Unreachable, host=HOST, port=PORT)),
)
CONFIG: Final = Record(
    Config,
    uuid=UUID_TEXT,
    restart_counter=COUNTER,
    seeds=ListOf(Record(Seed, uuid=UUID_TEXT, host=HOST, port=PORT)),
    interval=Whole(1),
    ae_size=Whole(),
    max_datagram=Whole(LEAST_DATAGRAM, MOST_DATAGRAM),
    emit_incarnation=Flag(),
    cluster_events=ListOf(EVENT_TYPE),
)

#: The keys of a map in anti-entropy, in the document's order. [S-22]
MEMBER_KEYS: Final = ("~:host", "~:port", "~:uuid", "~:restart-counter", "~:tx-counter")


def encode(message: Message) -> bytes:
    """The bytes of a message, in the canonical form. Raises NotEnabled for what the format cannot hold. [SA-61]"""
    writer = Writer()
    writer.array(1 + len(getattr(message, "vectors", ())))
    _write_header(writer, message)
    for vector in getattr(message, "vectors", ()):
        _write(writer, vector)
    return bytes(writer.out)


class Room:
    """What else fits into a datagram. [SA-32]"""

    def __init__(self, message: Message, limit: int) -> None:
        self._writer = Writer()
        self._limit = limit
        self._count = 1 + len(getattr(message, "vectors", ()))
        _write_header(self._writer, message)
        for vector in getattr(message, "vectors", ()):
            _write(self._writer, vector)

    def takes(self, vector: Vector) -> bool:
        """Whether this vector fits too; if so, there is less room afterwards."""
        mark = self._writer.mark()
        _write(self._writer, vector)
        if len(self._writer.out) + (1 if self._count < 15 else 3) <= self._limit:  # noqa: PLR2004  # the array's header
            self._count += 1
            return True
        self._writer.back_to(mark)
        return False


def payload_fits(data: str, limit: int) -> bool:
    """Whether a payload fits into a ping that carries nothing else, however large its counters. [SA-35]"""
    nobody = Uuid(str(UUID(int=0x8000 << 48)))
    return Room(Ping(nobody, Incarnation(COUNTER_MAX, COUNTER_MAX), nobody), limit).takes(Payload(data))


def _write_header(writer: Writer, message: Message) -> None:
    match message:
        case Ping(sender, incarnation, target):
            _vector(writer, "~:ping", f"~u{sender}", *incarnation, f"~u{target}")
        case Ack(sender, incarnation, target, target_tx):
            _vector(writer, "~:ack", f"~u{sender}", *incarnation, f"~u{target}", target_tx)
        case Probe(sender, incarnation):
            _vector(writer, "~:probe", f"~u{sender}", *incarnation)
        case ProbeAck(sender, incarnation, probe_tx):
            _vector(writer, "~:probe-ack", f"~u{sender}", *incarnation, probe_tx)


def _write(writer: Writer, vector: Vector) -> None:
    match vector:
        case Joining(node, incarnation, host, port):
            _vector(writer, "~:joining", f"~u{node}", *incarnation, escaped(host), port)
        case Normal(node, incarnation) | Suspicious(node, incarnation) | Dead(node, incarnation) | Leave(node, incarnation):
            _vector(writer, KEYWORDS[type(vector)], f"~u{node}", *(incarnation or ()))
        case IndirectPing(target, host, port):
            _vector(writer, "~:indirect-ping", f"~u{target}", escaped(host), port)
        case IndirectAck(target, incarnation):
            _vector(writer, "~:indirect-ack", f"~u{target}", *incarnation)
        case AntiEntropy(members, tagged):
            writer.value([*(["~:anti-entropy"] if tagged else []), *map(_member, members)])
        case Payload(data):
            writer.value(["~:payload", concise(json.loads(data))])


KEYWORDS: Final[Mapping[type[Any], str]] = {Normal: "~:normal", Suspicious: "~:suspicious", Dead: "~:dead", Leave: "~:leave"}


def _vector(writer: Writer, *elements: str | int) -> None:
    writer.array(len(elements))
    for element in elements:
        if isinstance(element, int) and not 0 <= element <= COUNTER_MAX:
            raise NotEnabled("bad_value", f"{element} is no counter from 0 to 2^63-1")
        writer.value(element)


def _member(member: Member) -> Pairs:
    host, port, uuid, restart, tx = member
    return Pairs(zip(MEMBER_KEYS, (escaped(host), port, f"~u{uuid}", restart, tx), strict=True))


def decode(data: bytes) -> Message:
    """The message of these bytes. Raises MalformedMessage. [SA-30, SA-31, SA-63, SA-64]"""
    vectors = Reader().value(unpacked(data))
    if type(vectors) is not list or not vectors:
        raise _bad("bad_type", "a message is a vector of vectors, and has a header")
    header, *others = vectors
    kind = header[0] if type(header) is list and header else None
    if not isinstance(kind, str) or kind not in HEADERS:
        raise _bad("bad_type", "the first vector is neither ping nor ack")
    arity, read_header = HEADERS[kind]
    fields = _fields(header, kind, (arity,))
    if kind in PROBES:
        if others:
            raise _bad("bad_type", f"nothing follows a {kind[2:]}")
        return read_header(fields, ())
    return read_header(fields, tuple(vector for read in map(_read, others) if (vector := read) is not None))


def _read(vector: Any) -> Vector | None:
    """One vector after the header; None for one of an unknown kind."""
    if type(vector) is not list:
        raise _bad("bad_type", "every part of a message is a vector")
    kind = vector[0] if vector else None
    if not vector or type(kind) is Pairs:
        return AntiEntropy(tuple(map(_read_member, vector)), tagged=False)  # [SA-18]
    if not isinstance(kind, str) or not kind.startswith("~:"):
        raise _bad("bad_type", f"a vector begins with a keyword, not {kind!r}")
    if kind in HEADERS and kind not in PROBES:
        raise _bad("bad_type", f"a second header, {kind[2:]}")
    if kind == "~:anti-entropy":
        return AntiEntropy(tuple(map(_read_member, vector[1:])))
    if kind not in VECTORS:
        return None  # [SA-31]
    arities, read = VECTORS[kind]
    return read(_fields(vector, kind, arities))


def _fields(vector: list[Any], kind: str, arities: tuple[int, ...]) -> list[Any]:
    if len(vector) not in arities:
        raise _bad("bad_length", f"{kind[2:]} has {' or '.join(map(str, arities))} elements, not {len(vector)}")
    return vector[1:]


def _uuid(value: Any) -> Uuid:
    if type(value) is str and value[:2] == "~u":
        return Uuid(value[2:])
    raise _bad("bad_value", f"{value!r} is no uuid")


def _counter(value: Any) -> int:
    if type(value) is int and 0 <= value <= COUNTER_MAX:
        return value
    raise _bad("bad_value", f"{value!r} is no counter from 0 to 2^63-1")


def _incarnation(restart: Any, tx: Any) -> Incarnation:
    return Incarnation(_counter(restart), _counter(tx))


def _said(incarnation: list[Any]) -> Incarnation | None:
    return _incarnation(*incarnation) if incarnation else None


def _port(value: Any) -> int:
    if type(value) is int and 1 <= value <= PORT_MAX:
        return value
    raise _bad("bad_value", f"{value!r} is no port from 1 to {PORT_MAX}")


def _host(value: Any) -> str:
    host = unescaped(value) if type(value) is str else None
    if host is None:
        raise _bad("bad_value", f"{value!r} is no string")
    if not 1 <= len(octets(host)) <= MAX_HOST:
        raise _bad("bad_length", f"a host has 1 to {MAX_HOST} bytes, not {len(octets(host))}")  # [SA-65]
    return host


def _read_member(entries: Any) -> Member:
    if type(entries) is not Pairs:
        raise _bad("bad_type", "anti-entropy holds maps")
    members = {key: value for key, value in entries if isinstance(key, str)}
    missing = [key[2:] for key in MEMBER_KEYS if key not in members]
    if missing:
        raise _bad("bad_value", f"a map of anti-entropy lacks {', '.join(missing)}")
    host, port, uuid, restart, tx = (members[key] for key in MEMBER_KEYS)
    return Member(_host(host), _port(port), _uuid(uuid), _counter(restart), _counter(tx))


def _read_payload(fields: list[Any]) -> Payload:
    if type(fields[0]) is not Pairs:
        raise _bad("bad_type", "a payload is a map")
    shown = verbose(fields[0], lambda why: _bad("bad_value", why))
    if type(shown) is not dict:
        raise _bad("bad_value", "the keys of a payload are keywords, strings or other scalars")
    return Payload(canonical_json(shown))


def _bad(reason: str, detail: str) -> MalformedMessage:
    return MalformedMessage(reason, 0, detail)


#: Headers by keyword: how many elements, and how they are read. [S-16, S-17, SA-41]
HEADERS: Final[Mapping[str, tuple[int, Callable[[list[Any], tuple[Vector, ...]], Message]]]] = {
    "~:ping": (5, lambda f, vectors: Ping(_uuid(f[0]), _incarnation(f[1], f[2]), _uuid(f[3]), vectors)),
    "~:ack": (6, lambda f, vectors: Ack(_uuid(f[0]), _incarnation(f[1], f[2]), _uuid(f[3]), _counter(f[4]), vectors)),
    "~:probe": (4, lambda f, _: Probe(_uuid(f[0]), _incarnation(f[1], f[2]))),
    "~:probe-ack": (5, lambda f, _: ProbeAck(_uuid(f[0]), _incarnation(f[1], f[2]), _counter(f[3]))),
}
PROBES: Final = ("~:probe", "~:probe-ack")

#: The other vectors by keyword: their arities, and how they are read. [S-18…S-23, SA-04, SA-05, SA-12]
VECTORS: Final[Mapping[str, tuple[tuple[int, ...], Callable[[list[Any]], Vector]]]] = {
    "~:joining": ((6,), lambda f: Joining(_uuid(f[0]), _incarnation(f[1], f[2]), _host(f[3]), _port(f[4]))),
    "~:normal": ((2, 4), lambda f: Normal(_uuid(f[0]), _said(f[1:]))),
    "~:suspicious": ((2, 4), lambda f: Suspicious(_uuid(f[0]), _said(f[1:]))),
    "~:dead": ((2, 4), lambda f: Dead(_uuid(f[0]), _said(f[1:]))),
    "~:leave": ((4,), lambda f: Leave(_uuid(f[0]), _incarnation(f[1], f[2]))),
    "~:payload": ((2,), _read_payload),
    "~:indirect-ping": ((4,), lambda f: IndirectPing(_uuid(f[0]), _host(f[1]), _port(f[2]))),
    "~:indirect-ack": ((4,), lambda f: IndirectAck(_uuid(f[0]), _incarnation(f[1], f[2]))),
}

#: The messages. [S-15]
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode)
