"""
A shortcut for SWIM's pings and acks, from MessagePack and to it without Transit's values in between. [S-15…S-23]

Both take every message; decoding takes what `codec.encode` writes.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import msgpack

from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.forms.packing import Codec
from peerproof.spec.forms.shortcuts import UNUSUAL, Known, maker
from peerproof.spec.overrides import in_force
from peerproof.spec.swim import codec
from peerproof.spec.swim.codec import MEMBER_KEYS, _concise, _host, _host_bytes, _payload
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
from peerproof.spec.swim.state import PORT_MAX
from peerproof.spec.swim.transit import CACHE_MAX, CODES, UUID_TAG, Reader, Writer, unpack, uuid_bytes, uuid_text

Raw: TypeAlias = tuple[Any, ...]

#: Number of payloads that are remembered in each direction, and the maximum length of one of them.
PAYLOADS: Final = 256
LONGEST_PAYLOAD: Final = 2048

#: A counter is not negative and has at most this many bits. [SA-47]
COUNTER_BITS: Final = COUNTER_MAX.bit_length()

#: The depth of a payload's map in a message without lists. [SA-65]
_DEPTH: Final = 2

_CODE: Final = ord("^")
_new: Final[Any] = tuple.__new__
_pack: Final[Callable[[Any], bytes]] = msgpack.Packer().pack  # `packb` makes a packer each time
_index: Final[Mapping[str, int]] = {code: index for index, code in enumerate(CODES)}


class _Uuids(Known[Any, Uuid]):
    """Uuids by their raw value, a tag with two halves; only those that have no half equal to a float, which are almost all."""

    def __missing__(self, raw: Any) -> Uuid:
        tag, halves = raw
        if tag != UUID_TAG or type(raw) is not tuple or type(halves) is not tuple:
            raise ValueError(raw)
        high, low = halves
        if type(high) is not int or type(low) is not int:
            raise TypeError(raw)
        uuid = Uuid(uuid_text(high, low))
        return self.keep(raw, uuid) if float(high) != high and float(low) != low else uuid


class _Statuses(Known[Any, Vector]):
    """Events of one kind without incarnations, by the raw value of their uuid; nodes pass on each event many times."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind

    def __missing__(self, raw: Any) -> Vector:
        made: Vector = self._kind(_uuids[raw])
        return self.keep(raw, made) if raw in _uuids else made


class _Hosts(Known[Any, str]):
    """Hosts by their text in Transit's notation."""

    def __missing__(self, raw: Any) -> str:
        return self.keep(raw, _host(Reader(), raw))


class _Listener(Reader):
    """A reader that has read these names before, and keeps those that it adds to its cache."""

    def __init__(self, before: list[Any]) -> None:
        super().__init__()
        self.names: list[Any] = []
        for name in before:
            super().remember(name)

    def remember(self, value: Any) -> None:
        """Adds a name to the cache."""
        self.names.append(value)
        super().remember(value)


_uuids: Final = _Uuids()
_hosts: Final = _Hosts()
_payloads: Final[BoundedDict[Any, tuple[Payload, list[str]]]] = BoundedDict(PAYLOADS)

_ping: Final = maker(Ping)
_ack: Final = maker(Ack)
_joining: Final = maker(Joining)
_anti_entropy: Final = maker(AntiEntropy)


def decode(data: bytes) -> Message:
    """Decodes a message. Raises MalformedMessage."""
    if in_force:
        return codec.decode(data)
    raw = unpack(data)
    try:
        message = _message(raw) if type(raw) is tuple else None
    except UNUSUAL:
        message = None
    return codec.decode(data) if message is None else message


def _message(raw: Raw) -> Message | None:
    header = raw[0]
    kind = header[0]
    names = [kind]  # the content of the cache [SA-62]
    vectors: list[Vector] = []
    for part in raw[1:]:
        name = part[0]
        try:
            read = _READ.get(name)
        except TypeError:  # a map, of anti-entropy without its keyword [SA-18]
            vectors.append(_read_anti_entropy((None, *part), names, tagged=False))
            continue
        if read is None:
            read = _READ[names[_index[name]]]
        else:
            names.append(name)
        vectors.append(read(part, names))
    if len(names) > CACHE_MAX:
        return None  # the cache begins anew
    if kind == "~:ping":
        _, sender, restart, tx, target = header
        return _ping(_uuids[sender], _incarnation(restart, tx), _uuids[target], tuple(vectors))
    if kind == "~:ack":
        _, sender, restart, tx, target, target_tx = header
        return _ack(_uuids[sender], _incarnation(restart, tx), _uuids[target], _counter(target_tx), tuple(vectors))
    if kind == "~:probe" and not vectors:
        _, sender, restart, tx = header
        return Probe(_uuids[sender], _incarnation(restart, tx))
    if kind == "~:probe-ack" and not vectors:
        _, sender, restart, tx, probe_tx = header
        return ProbeAck(_uuids[sender], _incarnation(restart, tx), _counter(probe_tx))
    return None


def _incarnation(restart: Any, tx: Any) -> Incarnation:
    if type(restart) is type(tx) is int and not (restart | tx) >> COUNTER_BITS:
        made: Incarnation = _new(Incarnation, (restart, tx))
        return made
    raise ValueError(restart, tx)


def _port(raw: Any) -> int:
    if type(raw) is int and 1 <= raw <= PORT_MAX:
        return raw
    raise ValueError(raw)


def _read_status(kind: type[Any]) -> Callable[[Raw, list[str]], Vector]:
    known, make = _Statuses(kind), maker(kind)

    def read(part: Raw, _: list[str]) -> Vector:
        if len(part) == 2:  # noqa: PLR2004  # [SA-12]
            return known[part[1]]
        _, node, restart, tx = part
        made: Vector = make(_uuids[node], _incarnation(restart, tx))
        return made

    return read


def _read_leave(part: Raw, _: list[str]) -> Vector:
    _, node, restart, tx = part
    return Leave(_uuids[node], _incarnation(restart, tx))


def _read_joining(part: Raw, _: list[str]) -> Vector:
    _, node, restart, tx, host, port = part
    if not type(port) is type(restart) is type(tx) is int or not 1 <= port <= PORT_MAX or (restart | tx) >> COUNTER_BITS:
        raise ValueError(part)
    return _joining(_uuids[node], _new(Incarnation, (restart, tx)), _hosts[host], port)


def _read_anti_entropy(part: Raw, names: list[str], *, tagged: bool = True) -> Vector:
    members = []
    keys: tuple[str, ...] = MEMBER_KEYS
    for raw in part[1:]:
        (host_key, host), (port_key, port), (uuid_key, uuid), (restart_key, restart), (tx_key, tx) = raw
        if type(raw) is not list or (host_key, port_key, uuid_key, restart_key, tx_key) != keys:
            raise ValueError(raw)
        if keys is MEMBER_KEYS:  # the first time in full
            keys = CODES[len(names) : len(names) + len(MEMBER_KEYS)]
            names += MEMBER_KEYS
        if not type(port) is type(restart) is type(tx) is int or not 1 <= port <= PORT_MAX or (restart | tx) >> COUNTER_BITS:
            raise ValueError(raw)
        members.append(_new(Member, (_hosts[host], port, _uuids[uuid], restart, tx)))
    return _anti_entropy(tuple(members), tagged)


def _read_payload(part: Raw, names: list[str]) -> Vector:
    _, raw = part
    key: Any = marshal.dumps(raw, 2)  # unlike tuples, these bytes differ for 1, 1.0 and true
    if _CODE in key:  # it may have cache codes
        key = key, *names
    found = _payloads.get(key)
    if found is None:
        reader = _Listener(names)
        found = _payload(reader, part, _DEPTH), reader.names
        if not all(type(name) is str for name in reader.names):
            raise TypeError("to Python, numbers in a key may be equal")
        if len(found[0].data) <= LONGEST_PAYLOAD:
            _payloads[key] = found
    payload, more = found
    names += more
    return payload


def _read_indirect_ping(part: Raw, _: list[str]) -> Vector:
    _, target, host, port = part
    return IndirectPing(_uuids[target], _hosts[host], _port(port))


def _read_indirect_ack(part: Raw, _: list[str]) -> Vector:
    _, target, restart, tx = part
    return IndirectAck(_uuids[target], _incarnation(restart, tx))


_READ: Final[Mapping[Any, Callable[[Raw, list[str]], Vector]]] = {
    "~:joining": _read_joining,
    "~:normal": _read_status(Normal),
    "~:suspicious": _read_status(Suspicious),
    "~:dead": _read_status(Dead),
    "~:leave": _read_leave,
    "~:anti-entropy": _read_anti_entropy,
    "~:payload": _read_payload,
    "~:indirect-ping": _read_indirect_ping,
    "~:indirect-ack": _read_indirect_ack,
}


class _RawUuids(Known[str, Any]):
    """The raw values of uuids, as `codec.encode` writes them."""

    def __missing__(self, uuid: str) -> Any:
        return self.keep(uuid, unpack(uuid_bytes(uuid)))


class _RawHosts(Known[str, str]):
    """Hosts in Transit's notation."""

    def __missing__(self, host: str) -> str:
        return self.keep(host, unpack(_host_bytes(host)))


_raw_uuids: Final = _RawUuids()
_raw_hosts: Final = _RawHosts()
_raw_payloads: Final[BoundedDict[Any, tuple[Any, dict[str, str]]]] = BoundedDict(PAYLOADS)

#: The codes of the names that a message has already, in their order. [SA-62]
Codes: TypeAlias = dict[str, str]


def encode(message: Message) -> bytes:
    """Returns the bytes of a message in canonical form. Raises NotEnabled."""
    if in_force:
        return codec.encode(message)
    try:
        return _bytes(message)
    except UNUSUAL:
        return codec.encode(message)


def _bytes(message: Message) -> bytes:
    kind: type[Any] = type(message)
    name, write = _WRITE[kind]
    codes: Codes = {name: CODES[0]}
    raws = [write(message, name, codes)]
    if kind is Ping or kind is Ack:
        for vector in message.vectors:  # type: ignore[union-attr]  # checked above
            name, write = _WRITE[type(vector)]
            code = codes.get(name)
            if code is None:
                codes[name] = CODES[len(codes)]
            raws.append(write(vector, code or name, codes))
    return _pack(raws)


def _counters(incarnation: Incarnation | None) -> Incarnation:
    restart, tx = incarnation  # type: ignore[misc]  # None is unusual
    if type(restart) is type(tx) is int and not (restart | tx) >> COUNTER_BITS:
        return incarnation  # type: ignore[return-value]  # as above
    raise ValueError(incarnation)


def _counter(value: Any) -> int:
    if type(value) is int and not value >> COUNTER_BITS:
        return value
    raise ValueError(value)


def _write_ping(message: Ping, name: str, _: Codes) -> Raw:
    restart, tx = _counters(message.incarnation)
    return name, _raw_uuids[message.sender], restart, tx, _raw_uuids[message.target]


def _write_ack(message: Ack, name: str, _: Codes) -> Raw:
    restart, tx = _counters(message.incarnation)
    target = _raw_uuids[message.target]
    return name, _raw_uuids[message.sender], restart, tx, target, _counter(message.target_tx)


def _write_status(vector: Any, name: str, _: Codes) -> Raw:
    if vector.incarnation is None:
        return name, _raw_uuids[vector.node]
    restart, tx = _counters(vector.incarnation)
    return name, _raw_uuids[vector.node], restart, tx


def _write_joining(vector: Joining, name: str, _: Codes) -> Raw:
    restart, tx = _counters(vector.incarnation)
    return name, _raw_uuids[vector.node], restart, tx, _raw_hosts[vector.host], _counter(vector.port)


def _write_anti_entropy(vector: AntiEntropy, name: str, codes: Codes) -> Raw:
    if codes.keys() & MEMBER_KEYS:
        raise ValueError(vector)
    if not vector.tagged and name in codes:  # not a code: it was new, and is not written
        del codes[name]
    raws: list[Any] = [name] if vector.tagged else []
    keys: tuple[str, ...] = MEMBER_KEYS
    for host, port, uuid, restart, tx in vector.members:
        if not type(port) is type(restart) is type(tx) is int or (port | restart | tx) >> COUNTER_BITS:
            raise ValueError(port, restart, tx)
        host_key, port_key, uuid_key, restart_key, tx_key = keys
        raws.append({host_key: _raw_hosts[host], port_key: port, uuid_key: _raw_uuids[uuid], restart_key: restart, tx_key: tx})
        if keys is MEMBER_KEYS:  # the first time in full
            keys = CODES[len(codes) : len(codes) + len(keys)]
            codes.update(zip(MEMBER_KEYS, keys, strict=True))
    return tuple(raws)


def _write_payload(vector: Payload, name: str, codes: Codes) -> Raw:
    key = (vector.data, *codes)
    found = _raw_payloads.get(key)
    if found is None:
        found = _raw_payload(vector.data, codes)
        if len(vector.data) <= LONGEST_PAYLOAD:
            _raw_payloads[key] = found
    raw, after = found
    codes.update(after)
    return name, raw


def _write_indirect_ping(vector: IndirectPing, name: str, _: Codes) -> Raw:
    return name, _raw_uuids[vector.target], _raw_hosts[vector.host], _counter(vector.port)


def _write_indirect_ack(vector: IndirectAck, name: str, _: Codes) -> Raw:
    restart, tx = _counters(vector.incarnation)
    return name, _raw_uuids[vector.target], restart, tx


def _write_probe(message: Probe, name: str, _: Codes) -> Raw:
    restart, tx = _counters(message.incarnation)
    return name, _raw_uuids[message.sender], restart, tx


def _write_probe_ack(message: ProbeAck, name: str, _: Codes) -> Raw:
    restart, tx = _counters(message.incarnation)
    return name, _raw_uuids[message.sender], restart, tx, _counter(message.probe_tx)


def _raw_payload(data: str, codes: Codes) -> tuple[Any, Codes]:
    """Returns the raw value of a payload after the names that have these codes, and all codes after it."""
    writer = Writer()
    for name in codes:
        writer.write_cacheable(name)
    start, _ = writer.mark()
    writer.value(_concise(data))
    written, after = bytes(writer.out[start:]), writer.mark()[1]
    raw = msgpack.unpackb(written, strict_map_key=False)
    names = list(after)
    if _pack(raw) != written or names[: len(codes)] != list(codes):  # keys that are equal to Python, or a new cache
        raise ValueError(data)
    return raw, dict(zip(names, CODES, strict=False))


_WRITE: Final[Mapping[type[Any], tuple[str, Callable[[Any, str, Codes], Raw]]]] = {
    Ping: ("~:ping", _write_ping),
    Ack: ("~:ack", _write_ack),
    Probe: ("~:probe", _write_probe),
    ProbeAck: ("~:probe-ack", _write_probe_ack),
    Joining: ("~:joining", _write_joining),
    Normal: ("~:normal", _write_status),
    Suspicious: ("~:suspicious", _write_status),
    Dead: ("~:dead", _write_status),
    Leave: ("~:leave", _write_status),
    AntiEntropy: ("~:anti-entropy", _write_anti_entropy),
    Payload: ("~:payload", _write_payload),
    IndirectPing: ("~:indirect-ping", _write_indirect_ping),
    IndirectAck: ("~:indirect-ack", _write_indirect_ack),
}


#: The messages. [S-15]
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode, codec.MESSAGE)
