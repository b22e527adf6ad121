"""
A shortcut for DistKV's updates and pings, by a library in C. [D-17…D-20, D-39…D-47, D-57, D-71, DA-49]

The library decodes a payload to its fields, and encodes these again. If that gives the same bytes, then no key was unknown or
stood twice, all were in the order of `codec.encode`, and each number and length was in its shortest form; what is left to check
is in this module. Infos, which are rare, have no shortcut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from peerproof.spec.core import NodeId
from peerproof.spec.distkv import codec, paths
from peerproof.spec.distkv.chains import ELEMENTS_MAX, Chain, Element, is_name
from peerproof.spec.distkv.forms import MESSAGE_FORM
from peerproof.spec.distkv.messages import Message, Ping, Update
from peerproof.spec.distkv.paths import Path
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.serf_events import event_name
from peerproof.spec.distkv.values import Value
from peerproof.spec.forms.messagepack import string_bytes, unpack
from peerproof.spec.forms.packing import Codec
from peerproof.spec.forms.shortcuts import UNUSUAL, Known, maker
from peerproof.spec.overrides import in_force

#: Maximum bytes of a path, and of a value, that is remembered.
LONGEST_PATH, LONGEST_VALUE = 256, 64

#: The nesting depth of a usual value.
SHALLOW: Final = 8

_UNUSUAL: Final = (*UNUSUAL, msgspec.MsgspecError)

Number: TypeAlias = Annotated[int, Meta(ge=0, le=TICK_MAX)]
ChangeTick: TypeAlias = Annotated[int, Meta(gt=0, le=TICK_MAX)]


class _Change(Struct, gc=False):
    """A change chain, from its latest element on; a chain without `prev` was cut."""

    node: str
    tick: ChangeTick
    prev: _Change | UnsetType | None = UNSET


class _Update(Struct, gc=False, kw_only=True):
    """The fields of an original update, in the order of `codec.encode`."""

    node: str
    tick: ChangeTick
    prev: _Change | UnsetType | None = UNSET
    path: Raw
    value: Raw
    tock: Number


class _Resent(Struct, gc=False):
    """The fields of an update that is sent again, in the order of `codec.encode`."""

    value: Raw
    chain: _Change
    tock: Number
    path: Raw
    node: str
    tick: Number


class _Pinged(Struct, gc=False):
    """A ping chain, from its latest element on; an element without `tick` is not initialised."""

    node: str
    tick: Number | UnsetType = UNSET
    prev: _Pinged | UnsetType | None = UNSET


class _Ping(Struct, gc=False, kw_only=True):
    """The fields of a ping, in the order of `codec.encode`."""

    node: str
    tick: Number | UnsetType = UNSET
    prev: _Pinged | UnsetType | None = UNSET
    tock: Number


class _Names(Known[str, NodeId]):
    """Names of nodes."""

    def __missing__(self, text: str) -> NodeId:
        if not is_name(text):
            raise KeyError(text)
        return self.keep(text, NodeId(text))


class _Paths(Known[bytes, Path]):
    """Paths by their canonical bytes."""

    def __missing__(self, raw: bytes) -> Path:
        path = paths.read(unpack(raw))
        if path != raw:
            raise KeyError(raw)
        return self.keep(path, path) if len(path) <= LONGEST_PATH else path


class _Values(Known[bytes, Value]):
    """Values by their canonical bytes; a switch or a status has few."""

    def __missing__(self, raw: bytes) -> Value:
        value = _decode(raw)
        if _encode(value) != raw or not _is_usual(value):
            raise KeyError(raw)
        return self.keep(raw, Value(raw)) if len(raw) <= LONGEST_VALUE else Value(raw)


_names: Final = _Names()
_paths: Final = _Paths()
_values: Final = _Values()

_SCALARS: Final = frozenset((str, int, bool, bytes, type(None)))
_ARRAYS: Final = frozenset((list, dict))

_new: Final[Any] = tuple.__new__
_make_update: Final = maker(Update)

_encode: Final[Callable[[Any], bytes]] = msgspec.msgpack.Encoder().encode
_decode: Final[Callable[[bytes], Any]] = msgspec.msgpack.Decoder().decode
_decode_update: Final[Callable[[bytes], _Update]] = msgspec.msgpack.Decoder(_Update).decode
_decode_resent: Final[Callable[[bytes], _Resent]] = msgspec.msgpack.Decoder(_Resent).decode
_decode_ping: Final[Callable[[bytes], _Ping]] = msgspec.msgpack.Decoder(_Ping).decode

_UPDATE: Final = string_bytes(event_name("update"))
_PING: Final = string_bytes(event_name("ping"))
_RESENT: Final = string_bytes("value")[0]  # the second byte, after the header of the map
_UPDATE_END: Final = len(_UPDATE)
_PING_END: Final = len(_PING)


def decode(data: bytes) -> Message:
    """Decodes an event to its message. Raises MalformedMessage."""
    if in_force:
        return codec.decode(data)
    message: Message | None = None
    try:
        if data[:_UPDATE_END] == _UPDATE:
            message = _read_update(data[_UPDATE_END:])
        elif data[:_PING_END] == _PING:
            message = _read_ping(data[_PING_END:])
    except _UNUSUAL:
        pass
    return codec.decode(data) if message is None else message


def _read_update(payload: bytes) -> Update | None:
    fields: Any
    if payload[1] != _RESENT:
        fields = _decode_update(payload)
        chain, sender = _change_chain(fields, ELEMENTS_MAX), None
    else:
        fields = _decode_resent(payload)
        chain, sender = _change_chain(fields.chain, ELEMENTS_MAX - 1), Element(_names[fields.node], fields.tick)
    if _encode(fields) != payload:
        return None
    return _make_update(chain, _paths[bytes(fields.path)], _values[bytes(fields.value)], fields.tock, sender)


def _read_ping(payload: bytes) -> Ping | None:
    fields = _decode_ping(payload)
    return Ping(_chain(fields), fields.tock) if _encode(fields) == payload else None


def _change_chain(link: Any, most: int) -> Chain:
    """Returns the chain of a change, from its fields. Raises ValueError for one that is too long, or has a node twice. [D-12]"""
    elements, nodes = [], set()
    while link:  # UNSET is false, too
        node = _names[link.node]
        nodes.add(node)
        elements.append(_new(Element, (node, link.tick)))
        link = link.prev
    if not len(nodes) == len(elements) <= most:
        raise ValueError(elements)
    chain: Chain = _new(Chain, (tuple(elements), link is UNSET))
    return chain


def _chain(link: Any) -> Chain:
    """Returns any chain, from its fields. Raises ValueError for one that is too long."""
    elements = []
    while link:
        tick = None if link.tick is UNSET else link.tick
        elements.append(_new(Element, (_names[link.node], tick)))
        link = link.prev
    if len(elements) > ELEMENTS_MAX:
        raise ValueError(elements)
    return Chain(tuple(elements), link is UNSET)


def _is_usual(value: Any, depth: int = 0) -> bool:
    """Whether a value has one encoding only, that of the library: it has no NaN and no extension, and its keys are in order."""
    kind = type(value)
    if kind is float:
        return bool(value == value)  # noqa: PLR0124  # only a NaN differs from itself
    if kind not in _ARRAYS or depth == SHALLOW:
        return kind in _SCALARS
    if kind is dict:
        keys = list(map(_encode, value))
        if keys != sorted(keys) or not all(type(key) is str for key in value):
            return False
        value = value.values()
    for item in value:  # noqa: SIM110  # `all` takes twice the time
        if type(item) not in _SCALARS and not _is_usual(item, depth + 1):
            return False
    return True


def encode(message: Message) -> bytes:
    """Encodes a message as an event. Raises NotEnabled if the format cannot hold it."""
    kind = type(message)
    try:
        if kind is Update and not in_force:
            return _UPDATE + _encode(_update_fields(message))  # type: ignore[arg-type]  # checked above
        if kind is Ping and not in_force:
            return _PING + _encode(_ping_fields(message))  # type: ignore[arg-type]  # checked above
    except _UNUSUAL:
        pass
    return codec.encode(message)


def _update_fields(message: Update) -> _Update | _Resent:
    (elements, cut), sender = message.chain, message.sender
    if not len({node for node, _ in elements}) == len(elements) <= ELEMENTS_MAX - (sender is not None):
        raise ValueError(elements)
    prev: _Change | UnsetType | None = UNSET if cut else None
    for node, tick in reversed(elements[1:]):
        prev = _Change(_names[node], _change_tick(tick), prev)
    node, tick = elements[0]
    name, tick, tock = _names[node], _change_tick(tick), _number(message.tock)
    path, value = Raw(message.path), Raw(message.value)
    if sender is None:
        return _Update(node=name, tick=tick, prev=prev, path=path, value=value, tock=tock)
    return _Resent(value, _Change(name, tick, prev), tock, path, _names[sender.node], _number(sender.tick))


def _ping_fields(message: Ping) -> _Ping:
    elements, cut = message.chain
    if len(elements) > ELEMENTS_MAX:
        raise ValueError(elements)
    prev: _Pinged | UnsetType | None = UNSET if cut else None
    for node, tick in reversed(elements[1:]):
        prev = _Pinged(_names[node], _tick(tick), prev)
    node, tick = elements[0]
    return _Ping(node=_names[node], tick=_tick(tick), prev=prev, tock=_number(message.tock))


def _number(number: Any) -> int:
    if type(number) is int and 0 <= number <= TICK_MAX:
        return number
    raise ValueError(number)


def _tick(tick: int | None) -> int | UnsetType:
    return UNSET if tick is None else _number(tick)


def _change_tick(tick: Any) -> int:
    if type(tick) is int and 0 < tick <= TICK_MAX:
        return tick
    raise ValueError(tick)


#: The messages.
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode, codec.MESSAGE)
