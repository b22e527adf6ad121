"""
SWIM messages as bytes. [S-15…S-23, SA-44]

A datagram is one Transit value: a vector of vectors, each beginning with a keyword. `transit.py` reads and writes Transit; this
module has the contents of the vectors. A message is decoded in one pass, in the order of its bytes: elements in their usual
form are used directly, all others go through `Reader.value`, which knows all forms.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from reprlib import repr as brief
from typing import Any, Final, TypeAlias

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import REMEMBERED, integer_bytes, string_bytes
from peerproof.spec.forms.packing import Codec
from peerproof.spec.swim.forms import MESSAGE_FORM
from peerproof.spec.swim.messages import (
    COUNTER_MAX,
    Ack,
    AntiEntropy,
    Dead,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Leave,
    Member,
    Message,
    Normal,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.state import MAX_HOST, PORT_MAX, is_host
from peerproof.spec.swim.transit import (
    DEPTH_MAX,
    LIST_TAG,
    Pairs,
    Reader,
    Writer,
    escape,
    is_tagged,
    unescape,
    unpack,
    uuid_bytes,
)
from peerproof.spec.swim.transit_json import concise, render_json

#: The keys of a map in anti-entropy, in the document's order. [S-22]
MEMBER_KEYS: Final = ("~:host", "~:port", "~:uuid", "~:restart-counter", "~:tx-counter")

Raw: TypeAlias = tuple[Any, ...]

_new: Final[Any] = tuple.__new__  # makes a named tuple in half the time of its class


def encode(message: Message) -> bytes:
    """Returns the bytes of a message in canonical form. Raises NotEnabled if the format cannot hold it. [SA-61]"""
    vectors = message.vectors if isinstance(message, (Ping, Ack)) else ()
    writer = Writer()
    writer.array(1 + len(vectors))
    _write(writer, message)
    for vector in vectors:
        _write(writer, vector)
    return bytes(writer.out)


class Room:
    """The free space of a datagram. [SA-32]"""

    def __init__(self, message: Message, limit: int) -> None:
        vectors = message.vectors if isinstance(message, (Ping, Ack)) else ()
        self._writer = Writer()
        self._limit = limit
        self._count = 1 + len(vectors)
        _write(self._writer, message)
        for vector in vectors:
            _write(self._writer, vector)

    def takes(self, vector: Vector) -> bool:
        """Whether this vector fits too; if so, it takes its space."""
        mark = self._writer.mark()
        _write(self._writer, vector)
        if len(self._writer.out) + (1 if self._count < 15 else 3) <= self._limit:  # noqa: PLR2004  # the array's header
            self._count += 1
            return True
        self._writer.back_to(mark)
        return False


def payload_fits(data: str, limit: int) -> bool:
    """Whether a payload fits into a ping without other vectors, however large its counters are. [SA-35]"""
    nobody = Uuid("80000000-0000-0000-8000-000000000000")  # each half takes the maximum number of bytes
    return Room(Ping(nobody, Incarnation(COUNTER_MAX, COUNTER_MAX), nobody), limit).takes(Payload(data))


def _write(writer: Writer, vector: Message | Vector) -> None:
    kind = type(vector)
    if kind is AntiEntropy:
        _write_members(writer, vector)  # type: ignore[arg-type]  # checked above
        return
    keyword, elements = WRITTEN[kind]
    rest = elements(vector)
    writer.array(1 + len(rest))
    writer.write_cacheable(keyword)
    if kind is Payload:
        writer.value(rest[0])
    else:
        writer.out += b"".join(rest)


def _write_members(writer: Writer, vector: AntiEntropy) -> None:
    writer.array(len(vector.members) + vector.tagged)
    if vector.tagged:
        writer.write_cacheable("~:anti-entropy")
    for host, port, uuid, restart, tx in vector.members:
        writer.map(len(MEMBER_KEYS))
        values = (*_contact_bytes(host, port, uuid), _counter_bytes(restart), _counter_bytes(tx))
        for key, value in zip(MEMBER_KEYS, values, strict=True):
            writer.write_cacheable(key)
            writer.out += value


@lru_cache(REMEMBERED)
def _contact_bytes(host: str, port: int, uuid: Uuid) -> tuple[bytes, bytes, bytes]:
    return _host_bytes(host), _counter_bytes(port), uuid_bytes(uuid)


def _counter_bytes(value: int) -> bytes:
    if not 0 <= value <= COUNTER_MAX:
        raise NotEnabled("bad_value", f"{value} is no counter from 0 to 2^63-1")
    return integer_bytes(value)


def _host_bytes(host: str) -> bytes:
    if not is_host(host):
        raise NotEnabled("bad_value", f"a host has 1 to {MAX_HOST} bytes of UTF-8: {host!a}")
    return string_bytes(escape(host))


def _about(node: Uuid, incarnation: Incarnation | None, *rest: bytes) -> tuple[bytes, ...]:
    if incarnation is None:
        return uuid_bytes(node), *rest
    restart, tx = incarnation
    return uuid_bytes(node), _counter_bytes(restart), _counter_bytes(tx), *rest


#: Cache: a node repeats its payload in every ping.
_concise = lru_cache(64)(lambda data: concise(json.loads(data)))

#: Keywords by vector, and the function for the rest: encoded elements, or a payload's one value. [S-16…S-23, SA-04, SA-05, SA-41]
WRITTEN: Final[Mapping[type[Any], tuple[str, Callable[[Any], tuple[Any, ...]]]]] = {
    Ping: ("~:ping", lambda m: _about(m.sender, m.incarnation, uuid_bytes(m.target))),
    Ack: ("~:ack", lambda m: _about(m.sender, m.incarnation, uuid_bytes(m.target), _counter_bytes(m.target_tx))),
    Probe: ("~:probe", lambda m: _about(m.sender, m.incarnation)),
    ProbeAck: ("~:probe-ack", lambda m: _about(m.sender, m.incarnation, _counter_bytes(m.probe_tx))),
    Joining: ("~:joining", lambda v: _about(v.node, v.incarnation, _host_bytes(v.host), _counter_bytes(v.port))),
    Normal: ("~:normal", lambda v: _about(v.node, v.incarnation)),
    Suspicious: ("~:suspicious", lambda v: _about(v.node, v.incarnation)),
    Dead: ("~:dead", lambda v: _about(v.node, v.incarnation)),
    Leave: ("~:leave", lambda v: _about(v.node, v.incarnation)),
    IndirectPing: ("~:indirect-ping", lambda v: (uuid_bytes(v.target), _host_bytes(v.host), _counter_bytes(v.port))),
    IndirectAck: ("~:indirect-ack", lambda v: _about(v.target, v.incarnation)),
    Payload: ("~:payload", lambda v: (_concise(v.data),)),
}


def decode(data: bytes) -> Message:
    """Decodes a message. Raises MalformedMessage. [SA-30, SA-31, SA-63, SA-64]"""
    reader = Reader()
    raw, depth = _unwrap_list(reader, unpack(data), 0)
    if type(raw) is not tuple or not raw:
        raise _bad("bad_type", "a message is a vector of vectors, and has a header")
    header, _ = _unwrap_list(reader, raw[0], depth)
    kind: Any = reader.keyword(header[0]) if type(header) is tuple and header and type(header[0]) is str else None
    if kind not in HEADERS:
        raise _bad("bad_type", "the first vector is neither ping nor ack")
    arity, message, read = HEADERS[kind]
    if len(header) != arity:
        raise _bad("bad_length", f"{kind[2:]} has {arity} elements, not {len(header)}")
    fields = read(reader, header)
    if kind in PROBES:
        if len(raw) > 1:
            raise _bad("bad_type", f"nothing follows a {kind[2:]}")
        return message(*fields)
    vectors = [vector for part in raw[1:] if (vector := _vector(reader, part, depth)) is not None]
    return message(*fields, tuple(vectors))


def _sender(reader: Reader, raw: Raw) -> tuple[Uuid, Incarnation]:
    return Uuid(reader.uuid(raw[1])), _incarnation(reader, raw[2], raw[3])


def _unwrap_list(reader: Reader, raw: Any, depth: int) -> tuple[Any, int]:
    """Unwraps a vector written as a list, `["~#list", […]]`; returns it and the nesting depth of its elements. [SA-63]"""
    while type(raw) is tuple and len(raw) == 2 and type(raw[0]) is str and type(raw[1]) is tuple:  # noqa: PLR2004
        tag = raw[0]
        if tag == LIST_TAG:
            reader.remember(tag)
        elif tag[:1] != "^" or reader.text(tag) != LIST_TAG:
            break
        raw = raw[1]
        depth += 1
    if depth >= DEPTH_MAX:
        raise _bad("too_large", f"arrays and maps nest deeper than {DEPTH_MAX}")
    return raw, depth + 1


def _vector(reader: Reader, raw: Any, depth: int) -> Vector | None:
    """Decodes one vector after the header; None for an unknown kind. [SA-31]"""
    if type(raw) is not tuple:
        raise _bad("bad_type", "every part of a message is a vector")
    if not raw or type(raw[0]) is list:
        return AntiEntropy(_members(reader, raw, depth + 1), tagged=False)  # [SA-18]
    if type(raw[0]) is not str:
        raise _bad("bad_type", f"a vector begins with a keyword, not {brief(raw[0])}")
    kind = reader.keyword(raw[0])
    known = VECTORS.get(kind)
    if known is not None:
        arities, read = known
        if arities and len(raw) not in arities:
            raise _bad("bad_length", f"{kind[2:]} has {' or '.join(map(str, arities))} elements, not {len(raw)}")
        return read(reader, raw, depth + 1)
    return _unusual(reader, kind, raw, depth + 1)


def _unusual(reader: Reader, kind: Any, raw: Raw, depth: int) -> Vector | None:
    """Decodes a vector that begins with no known keyword."""
    if kind == LIST_TAG and len(raw) == 2 and depth < DEPTH_MAX:  # noqa: PLR2004  # [SA-63]
        return _vector(reader, raw[1], depth)
    if type(kind) is not str or kind[:2] != "~:":
        raise _bad("bad_type", f"a vector begins with a keyword, not {brief(kind)}")
    if kind in HEADERS and kind not in PROBES:
        raise _bad("bad_type", f"a second header, {kind[2:]}")
    for element in raw[1:]:
        reader.value(element, depth)
    return None


def _counter(reader: Reader, raw: Any) -> int:
    value = raw if type(raw) is int else reader.value(raw, DEPTH_MAX)
    if type(value) is int and 0 <= value <= COUNTER_MAX:
        return value
    raise _bad("bad_value", f"{brief(value)} is no counter from 0 to 2^63-1")


def _incarnation(reader: Reader, restart: Any, tx: Any) -> Incarnation:
    if type(restart) is int and type(tx) is int and 0 <= restart <= COUNTER_MAX and 0 <= tx <= COUNTER_MAX:
        made: Incarnation = _new(Incarnation, (restart, tx))
        return made
    return Incarnation(_counter(reader, restart), _counter(reader, tx))


def _port(reader: Reader, raw: Any) -> int:
    value = raw if type(raw) is int else reader.value(raw, DEPTH_MAX)
    if type(value) is int and 1 <= value <= PORT_MAX:
        return value
    raise _bad("bad_value", f"{brief(value)} is no port from 1 to {PORT_MAX}")


def _host(reader: Reader, raw: Any) -> str:
    if type(raw) is str and raw[:1].isalnum() and raw.isascii() and len(raw) <= MAX_HOST:
        return raw
    value = reader.text(raw) if type(raw) is str else None
    host = unescape(value) if type(value) is str else None
    if host is None:
        raise _bad("bad_value", f"{brief(raw)} is no string")
    if not is_host(host):
        raise _bad("bad_length", f"a host has 1 to {MAX_HOST} bytes, not {len(host.encode())}")  # [SA-65]
    return host


def _status(kind: type[Any]) -> Callable[[Reader, Raw, int], Vector]:
    """Returns the reader of an event with or without an incarnation. [SA-12]"""

    def read(reader: Reader, raw: Raw, _: int) -> Vector:
        node = Uuid(reader.uuid(raw[1]))
        said: Vector = kind(node, _incarnation(reader, raw[2], raw[3]) if len(raw) > 2 else None)  # noqa: PLR2004
        return said

    return read


def _joining(reader: Reader, raw: Raw, _: int) -> Joining:
    _, node, restart, tx, host, port = raw
    return Joining(Uuid(reader.uuid(node)), _incarnation(reader, restart, tx), _host(reader, host), _port(reader, port))


def _members(reader: Reader, raws: Raw, depth: int) -> tuple[Member, ...]:
    return tuple([_member(reader, raw, depth) for raw in raws])


def _member(reader: Reader, raw: Any, depth: int) -> Member:
    if type(raw) is not list:
        raise _bad("bad_type", "anti-entropy holds maps")
    if depth >= DEPTH_MAX:
        raise _bad("too_large", f"arrays and maps nest deeper than {DEPTH_MAX}")
    found = {}
    for key, value in raw:
        name = reader.key(key, depth + 1)
        read = MEMBER.get(name) if type(name) is str else None
        if read is not None:
            found[name] = read(reader, value)
        else:
            reader.value(value, depth + 1)
    try:
        host, port, uuid, restart, tx = [found[name] for name in MEMBER_KEYS]
    except KeyError as missing:
        raise _bad("bad_value", f"a map of anti-entropy lacks {str(missing)[3:-1]}") from None
    member: Member = _new(Member, (host, port, uuid, restart, tx))
    return member


def _payload(reader: Reader, raw: Raw, depth: int) -> Payload:
    value = reader.value(raw[1], depth)
    if type(value) is not Pairs or is_tagged(value):
        raise _bad("bad_type", "a payload is a map, and its keys are keywords, strings or other scalars")
    return Payload(render_json(value))


def _bad(reason: str, detail: str) -> MalformedMessage:
    return MalformedMessage(reason, 0, detail)


#: Readers of the values of a map in anti-entropy. [S-22]
MEMBER: Final[Mapping[str, Callable[[Reader, Any], Any]]] = {
    "~:host": _host,
    "~:port": _port,
    "~:uuid": Reader.uuid,
    "~:restart-counter": _counter,
    "~:tx-counter": _counter,
}

#: Headers by keyword: the number of elements, the message, and the readers of the elements. [S-16, S-17, SA-41]
HEADERS: Final[Mapping[str, tuple[int, Callable[..., Message], Callable[[Reader, Raw], tuple[Any, ...]]]]] = {
    "~:ping": (5, Ping, lambda r, raw: (*_sender(r, raw), Uuid(r.uuid(raw[4])))),
    "~:ack": (6, Ack, lambda r, raw: (*_sender(r, raw), Uuid(r.uuid(raw[4])), _counter(r, raw[5]))),
    "~:probe": (4, Probe, _sender),
    "~:probe-ack": (5, ProbeAck, lambda r, raw: (*_sender(r, raw), _counter(r, raw[4]))),
}
PROBES: Final = ("~:probe", "~:probe-ack")

#: The other vectors by keyword: their arities, if limited, and their reader. [S-18…S-23, SA-04, SA-05, SA-12]
VECTORS: Final[Mapping[str, tuple[tuple[int, ...], Callable[[Reader, Raw, int], Vector]]]] = {
    "~:joining": ((6,), _joining),
    "~:normal": ((2, 4), _status(Normal)),
    "~:suspicious": ((2, 4), _status(Suspicious)),
    "~:dead": ((2, 4), _status(Dead)),
    "~:leave": ((4,), _status(Leave)),
    "~:anti-entropy": ((), lambda r, raw, depth: AntiEntropy(_members(r, raw[1:], depth))),
    "~:payload": ((2,), _payload),
    "~:indirect-ping": ((4,), lambda r, raw, _: IndirectPing(Uuid(r.uuid(raw[1])), _host(r, raw[2]), _port(r, raw[3]))),
    "~:indirect-ack": ((4,), lambda r, raw, _: IndirectAck(Uuid(r.uuid(raw[1])), _incarnation(r, raw[2], raw[3]))),
}

#: The messages. [S-15]
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode)
