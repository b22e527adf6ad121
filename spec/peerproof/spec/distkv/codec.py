"""
DistKV messages as bytes. [D-02, D-03, D-06, D-17…D-20, D-28…D-32, DA-24…DA-30, DA-90, DA-92]

A message is sent as a user event of Serf, which has a name and a payload; the name determines the type of the message. Traces and
vectors have each message as one byte string: the name with the default root, as a string of MessagePack, followed by the payload.
The type is not derived from the payload's keys: a corrupt update would be a ping. The configured root is not used here: the
client of Serf replaces it, and a node need not know it (`serf_events`).

Encoding has the keys in the order of the original, and all values in their shortest form. Decoding accepts any order and form,
and ignores unknown keys; a message with any other fault is rejected as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import paths
from peerproof.spec.distkv.chains import ELEMENTS_MAX, NAME_MAX, Chain, Element, is_change_chain, is_name
from peerproof.spec.distkv.forms import MESSAGE_FORM
from peerproof.spec.distkv.messages import Info, Message, Ping, Update
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges
from peerproof.spec.distkv.ranges import read as read_ranges
from peerproof.spec.distkv.serf_events import TYPES, event_name
from peerproof.spec.distkv.ticks import Ticks, TickSets
from peerproof.spec.distkv.values import value_of
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import REMEMBERED, array_header, integer_bytes, map_header, read, string_bytes
from peerproof.spec.forms.packing import Codec

_NULL: Final = b"\xc0"

_NO_CHANGE: Final = "in the chain of an update each element has a tick above 0, and no node stands twice"

_NODE, _TICK, _PREV, _TOCK, _PATH, _VALUE, _CHAIN, _KNOWN, _TICKS, _MISSING, _REASON = map(
    string_bytes, ("node", "tick", "prev", "tock", "path", "value", "chain", "known", "ticks", "missing", "reason")
)


def encode(message: Message) -> bytes:
    """Encodes a message as an event. Raises NotEnabled if the format cannot hold it."""
    return _EVENTS[type(message)] + payload(message)


def payload(message: Message) -> bytes:
    """Returns the payload of that event, without its name. Raises NotEnabled."""
    return _PAYLOADS[type(message)](message)


def _update(message: Update) -> bytes:
    if not is_change_chain(message.chain):
        raise NotEnabled("bad_value", _NO_CHANGE)
    if message.sender is None:
        count, chain = _chain_fields(message.chain)
        head = map_header(count + 3) + chain
        return b"".join((head, _PATH, message.path, _VALUE, message.value, _TOCK, number_bytes(message.tock)))
    count, sender = _chain_fields(Chain((message.sender,), cut=True))
    head = map_header(count + 4) + _VALUE + message.value + _CHAIN + chain_bytes(message.chain)
    return b"".join((head, _TOCK, number_bytes(message.tock), _PATH, message.path, sender))


def _ping(message: Ping) -> bytes:
    count, chain = _chain_fields(message.chain)
    return b"".join((map_header(count + 1), chain, _TOCK, number_bytes(message.tock)))


def _info(message: Info) -> bytes:
    parts: list[bytes] = []
    if message.known:
        parts += (_KNOWN, _sets_bytes(message.known))
    if message.ticks:
        parts += (_TICKS, _ticks_bytes(message.ticks))
    if message.missing:
        parts += (_MISSING, _sets_bytes(message.missing))
    if message.reason is not None:
        parts += (_REASON, chain_bytes(message.reason))
    count, chain = _chain_fields(message.chain)
    return b"".join((map_header(len(parts) // 2 + 1 + count), *parts, _TOCK, number_bytes(message.tock), chain))


def chain_bytes(chain: Chain) -> bytes:
    """Encodes a chain as nested maps. Raises NotEnabled for one with no element, or too many. [D-17…D-20]"""
    count, fields = _chain_fields(chain, ELEMENTS_MAX - 1)  # within the map of the message
    return map_header(count) + fields


def _chain_fields(chain: Chain, most: int = ELEMENTS_MAX) -> tuple[int, bytes]:
    """Returns the number of fields in the map of a chain, and the fields; the nested map comes last in each map."""
    elements, cut = chain
    if not 1 <= len(elements) <= most:
        raise NotEnabled("bad_value", f"a chain that is sent has 1 to {most} elements here, not {len(elements)}")
    counts = [2 + (tick is not None) for _, tick in elements]
    counts[-1] -= cut
    parts = []
    for (node, tick), next_count in zip(elements, (*counts[1:], None), strict=True):
        parts += [_NODE, _name_bytes(node)]
        if tick is not None:
            parts += [_TICK, number_bytes(tick)]
        if next_count is not None:
            parts += [_PREV, map_header(next_count)]
    if not cut:
        parts += [_PREV, _NULL]
    return counts[0], b"".join(parts)


@lru_cache(REMEMBERED)
def _name_bytes(node: str) -> bytes:
    if not is_name(node):
        raise NotEnabled("bad_value", f"the name of a node has 1 to {NAME_MAX} bytes of UTF-8: {node!a:.80}")
    return string_bytes(node)


def number_bytes(number: int) -> bytes:
    """Encodes a tick or tock. Raises NotEnabled if it is out of range. [D-26]"""
    if not 0 <= number <= TICK_MAX:
        raise NotEnabled("bad_value", f"{number} is no tick or tock from 0 to 2^63-1")
    return integer_bytes(number)


def ranges_bytes(ranges: Ranges) -> bytes:
    """Encodes a set of ticks. [D-30]"""
    items = [
        integer_bytes(item) if type(item) is int else b"\x92" + integer_bytes(item[0]) + integer_bytes(item[1])  # type: ignore[index]  # a pair
        for item in ranges.wire()
    ]
    return array_header(len(items)) + b"".join(items)


def _ticks_bytes(ticks: Ticks) -> bytes:
    return map_header(len(ticks)) + b"".join([_name_bytes(node) + number_bytes(tick) for node, tick in ticks.items()])


def _sets_bytes(sets: TickSets) -> bytes:
    rows = [_name_bytes(node) + ranges_bytes(ranges) for node, ranges in sets.items() if not ranges.is_empty()]
    return map_header(len(rows)) + b"".join(rows)


def decode(data: bytes) -> Message:
    """Decodes an event to its message. Raises MalformedMessage."""
    if not data:
        raise MalformedMessage("truncated", 0, "an empty datagram has no event name")
    name, at = read(data, 0)
    kind = _TYPES.get(name) if type(name) is str else None
    if kind is None:
        raise MalformedMessage("bad_type", 0, f"events named {name!r} carry none of {', '.join(TYPES)}")
    return of_payload(kind, data, at)


def of_payload(kind: str, data: bytes, at: int = 0) -> Message:
    """Decodes the message of this type from this offset to the end of the data. Raises MalformedMessage."""
    raw, end = read(data, at)
    if end != len(data):
        raise MalformedMessage("trailing", end, f"{len(data) - end} bytes follow the message")
    return _READERS[kind](_fields(raw))


def _fields(raw: Any) -> dict[str, Any]:
    """Returns the entries of a map whose keys are strings."""
    if type(raw) is not list:
        raise _bad("bad_type", f"expected a map, found {raw!r:.60}")
    fields = {key: value for key, value in raw if type(key) is str}
    if len(fields) < len(raw) and len(fields) < sum(type(key) is str for key, _ in raw):
        raise _bad("bad_value", "a key stands twice in a map")
    return fields


def _read_update(fields: dict[str, Any]) -> Update:
    is_nested = "chain" in fields  # [DA-49]
    chain = read_chain(_fields(fields["chain"]) if is_nested else fields)
    if not is_change_chain(chain):
        raise _bad("bad_value", _NO_CHANGE)
    for key in ("path", "value"):
        if key not in fields:  # [DA-28]
            raise _bad("bad_value", f"an update has a {key}")
    path, value = paths.read(fields["path"]), value_of(fields["value"])
    return Update(chain, path, value, _tock(fields), _sender(fields) if is_nested else None)


def _read_ping(fields: dict[str, Any]) -> Ping:
    return Ping(read_chain(fields), _tock(fields))


def _read_info(fields: dict[str, Any]) -> Info:
    reason = fields.get("reason")
    _sender(fields)
    return Info(
        read_chain(fields),
        _tock(fields),
        known=_sets(fields.get("known", [])),
        ticks=_ticks(fields.get("ticks", [])),
        missing=_sets(fields.get("missing", [])),
        reason=None if reason is None else read_chain(_fields(reason)),
    )


def read_chain(fields: dict[str, Any]) -> Chain:
    """Returns the chain whose head is in these fields. Raises MalformedMessage. [D-17…D-20]"""
    elements = [_element(fields)]
    while (prev := fields.get("prev")) is not None:
        fields = _fields(prev)
        elements.append(_element(fields))
    return Chain(tuple(elements), cut="prev" not in fields)


def _element(fields: dict[str, Any]) -> Element:
    """Returns a node and its tick, which may be missing or Null. [D-10, DA-16]"""
    tick = fields.get("tick")
    return Element(_node(fields.get("node")), None if tick is None else read_number(tick))


def _sender(fields: dict[str, Any]) -> Element:
    """Returns the sender of an info, or of an update that is sent again; it must be initialised. [DA-90]"""
    sender = _element(fields)
    if sender.tick is None:
        raise _bad("bad_value", "its sender has a tick")
    return sender


def _node(raw: Any) -> NodeId:
    if type(raw) is not str or not (is_name(raw) if len(raw) > NAME_MAX // 4 else raw):
        raise _bad("bad_value", f"the name of a node is a string of 1 to {NAME_MAX} bytes, not {raw!r:.80}")
    return NodeId(raw)


def _tock(fields: dict[str, Any]) -> int:
    if "tock" not in fields:
        raise _bad("bad_value", "a message has a tock")
    return read_number(fields["tock"])


def read_number(raw: Any) -> int:
    """Returns a tick or tock. Raises MalformedMessage. [D-26, DA-17]"""
    if type(raw) is int and 0 <= raw <= TICK_MAX:
        return raw
    raise _bad("bad_value", f"a tick or tock is a number from 0 to 2^63-1, not {raw!r:.60}")


def _by_node(raw: Any, row: Callable[[Any], Any]) -> dict[NodeId, Any]:
    rows = {_node(node): row(value) for node, value in _fields(raw).items()}
    if len(rows) < len(raw):
        raise _bad("bad_value", "the name of a node is a string")
    return rows


def _ticks(raw: Any) -> Ticks:
    """Returns ticks by node, without nodes that are not initialised. [DA-45]"""
    rows = _by_node(raw, lambda tick: None if tick is None else read_number(tick))
    return Table({node: tick for node, tick in rows.items() if tick is not None})


def _sets(raw: Any) -> TickSets:
    return Table({node: ranges for node, ranges in _by_node(raw, read_ranges).items() if not ranges.is_empty()})


def _bad(reason: str, detail: str) -> MalformedMessage:
    return MalformedMessage(reason, 0, detail)


#: The first bytes of an event, by type of message.
_EVENTS: Final[Mapping[type[Any], bytes]] = {kind: string_bytes(event_name(name)) for kind, name in MESSAGE_FORM.names.items()}
_TYPES: Final[Mapping[str, str]] = {event_name(kind): kind for kind in TYPES}

_PAYLOADS: Final[Mapping[type[Any], Callable[[Any], bytes]]] = {Update: _update, Info: _info, Ping: _ping}
_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Message]]] = {
    "update": _read_update,
    "info": _read_info,
    "ping": _read_ping,
}

#: The messages.
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode)
