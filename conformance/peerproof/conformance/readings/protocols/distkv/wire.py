"""Other readings of DistKV's document on the wire: which messages are read or refused, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Asked, Pick, Received, Step, Table
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.codec import _NODE, _NULL, _PAYLOADS, _PREV, _TICK, _name_bytes, _ticks, number_bytes
from peerproof.spec.distkv.messages import DeleteValue, Info, Message, SetValue, Update
from peerproof.spec.distkv.outgoing import Next
from peerproof.spec.distkv.paths import Path, names_of, path_of
from peerproof.spec.distkv.ranges import TICK_MAX, Ranges
from peerproof.spec.distkv.ranges import read as read_ranges
from peerproof.spec.distkv.serf_events import TYPES, event_name
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import Ticks
from peerproof.spec.distkv.values import NULL
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import Extension, array_header, map_header, pack, read, string_bytes

Decode = Callable[[bytes], Any]
Encode = Callable[[Any], bytes]
Right = Callable[..., Next]
_OWN: Final = frozenset(map(event_name, TYPES))
_CHAIN: Final = frozenset(("node", "tick", "prev"))
_MAPS: Final = ("known", "ticks", "missing")
#: The members of each type of message, the nested form of an update included. [DA-49]
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "update": _CHAIN | {"path", "value", "tock", "chain"},
    "info": _CHAIN | {*_MAPS, "reason", "tock"},
    "ping": _CHAIN | {"tock"},
}
READINGS: Final = Readings()


@READINGS.register("DA-16", "written-as-null", "codec._chain_fields")
def _write_null_ticks(chain: Chain, _: int = 0) -> tuple[int, bytes]:
    """An element that has no tick is written with the tick Null."""
    (node, tick), *others = chain.elements
    parts = [_NODE, _name_bytes(node), _TICK, _NULL if tick is None else number_bytes(tick)]
    if others:
        count, rest = _write_null_ticks(chain.prev)
        return 3, b"".join((*parts, _PREV, map_header(count), rest))
    return (2, b"".join(parts)) if chain.cut else (3, b"".join((*parts, _PREV, _NULL)))


def _event(data: bytes) -> tuple[str, Any]:
    """Returns the name and the payload of a well-formed event."""
    name, at = read(data, 0)
    return name, read(data, at)[0]


def _chains_in(raw: Any) -> Iterator[dict[str, Any]]:
    """Yields the elements of all chains in a message."""
    fields = {key: value for key, value in raw if type(key) is str}
    yield fields
    for name in ("prev", "chain", "reason"):
        if type(fields.get(name)) is list:
            yield from _chains_in(fields[name])


@READINGS.register("DA-16", "null-is-refused", "decode", is_open=True)
def _refuse_null_ticks(right: Decode, data: bytes) -> Any:
    """A tick that is Null makes a message malformed."""
    message = right(data)
    if any("tick" in element and element["tick"] is None for element in _chains_in(_event(data)[1])):
        raise MalformedMessage("bad_value", 0, "a tick is a number, and Null is none")
    return message


@READINGS.register("DA-17", "ends-are-ticks", "codec.read_ranges", is_open=True)
def _read_ends_that_are_ticks(items: Any) -> Ranges:
    """The end of a range is a tick, and 2^63 is none."""
    found = read_ranges(items)
    if found.ends and found.ends[-1] > TICK_MAX and type(items[-1]) is not int:
        raise MalformedMessage("bad_value", 0, "the end of a range is a tick")
    return found


@READINGS.register("DA-24", "as-written", "codec.read_ranges", is_open=True)
def _read_written_ranges(items: Any) -> Ranges:
    """Ranges in another form than they are written in are refused."""
    found = read_ranges(items)
    if found.wire() != items:
        raise MalformedMessage("bad_value", 0, "ranges in another form than they are written in")
    return found


@READINGS.register("DA-24", "pairs-only", "codec.ranges_bytes")
def _pair_bytes(ranges: Ranges) -> bytes:
    """A single tick is written as a pair, too."""
    pairs = [b"\x92" + pack(begin) + pack(end) for begin, end in zip(ranges.begins, ranges.ends, strict=True)]
    return array_header(len(pairs)) + b"".join(pairs)


def _write_empty_maps(message: Info) -> bytes:
    raw, _ = read(_PAYLOADS[Info](message), 0)
    found = dict(raw)
    members = [(name, found.get(name, [])) for name in _MAPS] + [(name, value) for name, value in raw if name not in _MAPS]
    return map_header(len(members)) + b"".join(pack(key) + pack(value) for key, value in members)


READINGS.add(
    "DA-25", "written", "Maps without nodes are written.", instead={"codec._PAYLOADS": {**_PAYLOADS, Info: _write_empty_maps}}
)


def _without_zeros(ticks: Ticks) -> Ticks:
    return Table({node: tick for node, tick in ticks.items() if tick})


READINGS.add(
    "DA-25",
    "without-zeros",
    "A node whose tick is 0 has no ticks, and is left out of `ticks` as well.",
    instead={
        "codec._PAYLOADS": {
            **_PAYLOADS,
            Info: lambda message: _PAYLOADS[Info](replace(message, ticks=_without_zeros(message.ticks))),
        },
        "codec._ticks": lambda raw: _without_zeros(_ticks(raw)),
    },
)


@READINGS.register("DA-25", "refused", "decode", is_open=True)
def _refuse_empty_maps(right: Decode, data: bytes) -> Any:
    """Maps without nodes, and nodes without ticks, make a message malformed."""
    message = right(data)
    if isinstance(message, Info):
        fields = dict(pair for pair in _event(data)[1] if pair[0] in _MAPS)
        rows = [row for value in fields.values() for _, row in value]
        if not all(fields.values()) or any(row is None or row == () for row in rows):
            raise MalformedMessage("bad_value", 0, "a map that says nothing")
    return message


@READINGS.register("DA-26", "the-stricter-of-both-lists", "paths.path_of", is_open=True)
def _name_by_strings_and_integers(names: Any) -> Path:
    """Names are strings, byte strings and integers; floats and booleans make a message malformed."""
    found = tuple(names)
    if any(type(name) in (bool, float) for name in found):
        raise NotEnabled("bad_value", "a name is a string, bytes or an integer")
    return path_of(found)


def _as_in_dicts(path: Path) -> Path:
    return path_of(
        int(name) if type(name) is bool or (type(name) is float and name.is_integer()) else name for name in names_of(path)
    )


@READINGS.register("DA-27", "as-dicts-do", "step", is_open=True)
def _name_as_dicts_do(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Names that hash tables take for one are one: 1, 1.0 and true."""
    match event:
        case Received(message=Update() as update):
            event = replace(event, message=replace(update, path=_as_in_dicts(update.path)))
        case Asked(command=SetValue() | DeleteValue() as command):
            event = replace(event, command=replace(command, path=_as_in_dicts(command.path)))
    return right(state, event, pick)


@READINGS.register("DA-29", "any-form", "encode")
def _turn_members_around(right: Encode, message: Message) -> bytes:
    """Members come in any order, and headers may be longer than they need to be."""
    name, raw = _event(right(message))
    return string_bytes(name) + map_header(len(raw)) + b"".join(pack(key) + pack(value) for key, value in reversed(raw))


def _is_of_others(data: bytes) -> bool:
    try:
        name, _ = read(data, 0)
    except MalformedMessage:
        return False
    return type(name) is str and name not in _OWN


@READINGS.register("DA-30", "unspecified", "decode", ends=True)
def _die_of_what_is_malformed(right: Decode, data: bytes) -> Any:
    """The document does not say how malformed messages are handled."""
    try:
        return right(data)
    except MalformedMessage as error:
        if _is_of_others(data):
            raise
        raise RuntimeError(error.detail) from None


def _knows(raw: Any, members: frozenset[str]) -> bool:
    """Returns True if a map and the chains in it have only these members."""
    inner = [value for key, value in raw if type(key) is str and key in ("prev", "chain", "reason") and type(value) is list]
    return all(type(key) is str and key in members for key, _ in raw) and all(_knows(one, _CHAIN | {"tock"}) for one in inner)


@READINGS.register("DA-30", "unknown-members-are-refused", "decode", is_open=True)
def _refuse_unknown_members(right: Decode, data: bytes) -> Any:
    """A member that is not known makes a message malformed."""
    message = right(data)
    name, raw = _event(data)
    if not _knows(raw, _MEMBERS[name.rpartition(".")[2]]):
        raise MalformedMessage("bad_value", 0, "a member that is not known")
    return message


@READINGS.register("DA-49", "refused", "decode", is_open=True)
def _refuse_nested_form(right: Decode, data: bytes) -> Any:
    """An update in the nested form is malformed."""
    message = right(data)
    if isinstance(message, Update) and message.sender is not None:
        raise MalformedMessage("bad_value", 0, "an update names the node that made the change")
    return message


@READINGS.register("DA-54", "dropped", "step")
def _drop_own(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Of its own messages a node handles only updates."""
    if isinstance(event, Received) and not isinstance(event.message, Update) and event.message.chain.head.node == state.self_id:
        return Step(state)
    return right(state, event, pick)


@READINGS.register("DA-63", "not-noticed", "transitions.is_of_namesake")
def _say_nothing_of_namesakes(_: State, __: Message) -> bool:
    """Nothing is said of another node of the same name."""
    return False


READINGS.add(
    "DA-83",
    "any-number-of-names",
    "Any number of names is kept.",
    instead={"transitions.has_room": lambda *_: True},
    is_open=True,
)


def _says_nothing(row: Any) -> bool:
    return row == () or any((item if type(item) is int else item[0]) == 0 for item in row)


@READINGS.register("DA-90", "refused", "decode", is_open=True)
def _refuse_what_says_nothing(right: Decode, data: bytes) -> Any:
    """A list of no ranges, the tick 0 in a list and a reason that is Null make a message malformed."""
    message = right(data)
    if isinstance(message, Info):
        fields = {key: value for key, value in _event(data)[1] if type(key) is str}
        lists = [row for name in ("known", "missing") for _, row in fields.get(name, ())]
        if ("reason" in fields and fields["reason"] is None) or any(_says_nothing(row) for row in lists):
            raise MalformedMessage("bad_value", 0, "a list or a reason that says nothing")
    return message


def _is_beyond_libraries(raw: Any) -> bool:
    """Returns True for extensions of types reserved by MessagePack, and for keys that hash tables reject or treat as equal."""
    if type(raw) is Extension:
        return raw.code < 0
    if type(raw) is tuple:
        return any(map(_is_beyond_libraries, raw))
    if type(raw) is not list:
        return False
    keys = [key for key, _ in raw]
    has_others = any(type(key) in (list, tuple) for key in keys)
    return has_others or len({*keys}) < len(keys) or any(_is_beyond_libraries(value) for _, value in raw)


def _decode_as_a_library_does(right: Decode, data: bytes) -> Any:
    message = right(data)
    if isinstance(message, Update) and _is_beyond_libraries(read(message.value, 0)[0]):
        raise MalformedMessage("bad_value", 0, "a value that is none to its MessagePack")
    return message


def _encode_as_a_library_does(right: Encode, message: Message) -> bytes:
    if isinstance(message, Update) and _is_beyond_libraries(read(message.value, 0)[0]):
        return right(replace(message, value=NULL))
    return right(message)


READINGS.add(
    "DA-92",
    "as-its-library-does",
    "Values are what its MessagePack can work with, of which some know no extensions of negative types, nor any key.",
    decode=_decode_as_a_library_does,
    encode=_encode_as_a_library_does,
    is_open=True,
)
