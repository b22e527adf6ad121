"""
Messages, as the original makes and reads them, in the suite's plain form.

Everything that decides something is the original's: `NodeEvent`, `UpdateEvent`, `RangeSet` and its unpacker read what has come,
as `Server.monitor` and the `user_…` methods do; `serialize` and `Server._send_event` write. Whatever exception that raises
counts as the rejection of the message; a server ends of it.
"""

# What is imported is in another environment than the checker's.
# mypy: disable-error-code="import-not-found, import-untyped, no-any-return"

from __future__ import annotations

from typing import Any

import msgpack
from distkv.codec import unpacker
from distkv.model import Node, NodeEvent, UpdateEvent
from distkv.server import Server, max_n
from distkv.types import RootEntry
from distkv.util import attrdict
from plain import read, shown
from range_set import RangeSet

#: The root that vectors have. [D-04]
ROOT = "distkv"

#: What a server listens for, with `user_update` and so on.
ACTIONS = {f"{ROOT}.{action}": action for action in ("update", "info", "ping")}


class Rejected(Exception):
    """These bytes are no message, or this message has no bytes: the suite's word for why, and what was raised."""

    def __init__(self, error: Exception, kind: str = "other") -> None:
        super().__init__(kind, f"{type(error).__name__}: {error}")


class Bus:
    """Serf, for one event."""

    async def event(self, name: str, payload: bytes, coalesce: bool) -> None:
        """Keeps it."""
        assert not coalesce
        self.sent = msgpack.packb(name) + payload


def decoded(data: bytes) -> dict[str, Any]:
    """The message that an event carries: its name, and what comes with it."""
    action, message = unpacked(data)
    try:
        heard = message.get("tock", 0)
        Server("judge", {}).tock_seen(heard)
        return {"type": action, **READERS[action](message), "tock": text(heard)}
    except Exception as error:
        raise Rejected(error, "other" if isinstance(message, attrdict) else "bad_type") from error


def unpacked(data: bytes) -> tuple[str, Any]:
    """Which of the events that a server listens for this is, and what its payload says."""
    try:
        names = msgpack.Unpacker(raw=False)
        names.feed(data)
        name = names.unpack()
        payload = unpacker(data[names.tell() :])
    except msgpack.ExtraData as error:
        raise Rejected(error, "trailing") from error
    except Exception as error:
        is_short = isinstance(error, msgpack.OutOfData) or "incomplete" in str(error) or " exceeds max_" in str(error)
        raise Rejected(error, "truncated" if is_short else "other") from error
    if name not in ACTIONS:
        raise Rejected(KeyError(name), "bad_type")
    return ACTIONS[name], payload


def _update(message: Any) -> dict[str, Any]:
    root = RootEntry(tock=0)  # entries do not keep it
    event = UpdateEvent.deserialize(root, message, cache={}, nulls_ok=True)
    sender = {"node": message.node, "tick": text(message.tick)} if "chain" in message else None
    return {
        "chain": chain_of(event.event),
        "path": shown(event.entry.path),
        "value": shown(event.new_value),
        "tock": text(event.tock),
        "sender": sender,
    }


def _ping(message: Any) -> dict[str, Any]:
    return {"chain": chain_of(NodeEvent.deserialize(message, cache={}, check_dup=False, nulls_ok=True))}


def _info(message: Any) -> dict[str, Any]:
    """Of an info the original looks at the sender, and at no chain."""
    nodes: dict[str, Any] = {}
    head = NodeEvent(Node(message.node, message.get("tick"), cache=nodes), message.get("tick"), check_dup=False)
    ticks = {name: max_n(Node(name, cache=nodes).tick, tick) for name, tick in (message.get("ticks") or {}).items()}
    reason = NodeEvent.deserialize(message.get("reason"), cache={}, check_dup=False, nulls_ok=True)
    return {
        "chain": {**chain_of(head), "cut": True},
        "known": ranges_of(message.get("known")),
        "ticks": {name: text(tick) for name, tick in ticks.items() if tick is not None},
        "missing": ranges_of(message.get("missing")),
        "reason": None if reason is None else chain_of(reason),
    }


READERS = {"update": _update, "info": _info, "ping": _ping}


def text(number: Any) -> Any:
    """A tick or tock, as the suite writes it; anything else as it is."""
    return str(number) if type(number) is int else shown(number)


def chain_of(event: Any) -> dict[str, Any]:
    """A chain. Whether it was cut the original does not know."""
    elements = []
    while event is not None:
        elements.append({"node": shown(event.node.name), "tick": text(event.tick)})
        event = event.prev
    return {"elements": elements, "cut": False}


def ranges_of(lists: Any) -> dict[str, Any]:
    """Sets of ticks by node."""
    found = {}
    for name, state in (lists or {}).items():
        ranges = RangeSet()
        ranges.__setstate__(state)
        items = ranges.__getstate__()
        found[name] = [text(item) if isinstance(item, int) else [text(bound) for bound in item] for item in items]
    return {name: items for name, items in found.items() if items}


def encoded(value: dict[str, Any]) -> bytes:
    """The event that carries a message."""
    head = (value.get("sender") or value["chain"]["elements"][0]) if value["type"] == "update" else value["chain"]["elements"][0]
    server = Server(head["node"], {"root": ROOT})
    server.node.tick = number(head["tick"])
    server.serf = bus = Bus()
    try:
        message = WRITERS[value["type"]](value)
        ran(server._send_event(value["type"], {**message, "tock": int(value["tock"])}))  # noqa: SLF001  # what sends everything
    except Exception as error:
        raise Rejected(error) from error
    return bus.sent


def _of_update(value: dict[str, Any]) -> Any:
    """A change, or one that is sent again."""
    chain, length = chain_from(value["chain"])
    root = RootEntry(tock=0)  # entries do not keep it
    entry = root.follow(*read(value["path"]), nulls_ok=True)
    entry.tock = int(value["tock"])
    if value.get("sender"):
        entry.chain = chain
        entry._set(read(value["value"]))  # noqa: SLF001  # what `apply` does
        return entry.serialize(nchain=length)
    return UpdateEvent(chain, entry, read(value["value"])).serialize(nchain=length)


def _of_ping(value: dict[str, Any]) -> Any:
    chain, length = chain_from(value["chain"])
    return chain.serialize(length)


def _of_info(value: dict[str, Any]) -> Any:
    """The server sends one kind of content at a time, and adds itself, without a chain."""
    message = attrdict()
    for member in ("known", "ticks", "missing"):
        if value.get(member):
            rows = value[member].items()
            message[member] = {name: int(row) if member == "ticks" else ranges_from(row).__getstate__() for name, row in rows}
    if value.get("reason"):
        chain, length = chain_from(value["reason"])
        message.reason = chain.serialize(length)
    return message


WRITERS = {"update": _of_update, "info": _of_info, "ping": _of_ping}


def chain_from(plain: dict[str, Any]) -> tuple[Any, int]:
    """A chain, and how many elements of it are sent. The original cuts where a chain goes on that is sent no further."""
    nodes: dict[str, Any] = {}
    elements = [(element["node"], number(element["tick"])) for element in plain["elements"]]
    chain = NodeEvent(Node("further", 1, cache=nodes), 1) if plain["cut"] else None
    for name, tick in reversed(elements):
        chain = NodeEvent(Node(name, tick, cache=nodes), tick, prev=chain, check_dup=False)
    return chain, len(elements)


def number(tick: Any) -> Any:
    """A tick, or None."""
    return None if tick is None else int(tick)


def ranges_from(items: list[Any]) -> Any:
    """A set of ticks."""
    ranges = RangeSet()
    for item in items:
        begin, end = item if isinstance(item, list) else (item, int(item) + 1)
        ranges += RangeSet(((int(begin), int(end)),))
    return ranges


def ran(coroutine: Any) -> None:
    """Runs what waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("it waits")
