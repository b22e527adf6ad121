"""
What a node of DistKV keeps, as bytes: for its disk, and for who downloads it. [DA-71, DA-81]

It is a map in MessagePack: `tock`; `ticks`, a map of nodes to ticks; `superseded`, a map of nodes to lists of ranges; and
`entries`, a list of byte strings, each the payload of an update. All of it is written and read by the rules for messages. On the
disk there is, one after the other, what has changed since, and `known` takes the place of `superseded`: it only grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from peerproof.reference.protocols.distkv.journal import Journal, JournalError
from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv import Loaded, State, Stored, Update
from peerproof.spec.distkv.chains import is_name
from peerproof.spec.distkv.codec import of_payload, payload, read_number
from peerproof.spec.distkv.entries import Entry, on_chains
from peerproof.spec.distkv.ranges import Ranges, read
from peerproof.spec.distkv.ticks import difference
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import pack, unpack

_LOADED: Final = ("tock", "ticks", "superseded", "entries")
_CHANGE: Final = ("tock", "ticks", "known", "entries")


def bytes_of(loaded: Loaded) -> bytes:
    """A download."""
    return _pack_members(_LOADED, loaded.tock, loaded.ticks, loaded.superseded, loaded.entries)


def loaded_of(node: NodeId, data: bytes) -> Loaded:
    """What these bytes say that were downloaded from a node. Raises MalformedMessage."""
    tock, ticks, superseded, entries = _read(_LOADED, data)
    if len({update.path for update in entries}) < len(entries):
        raise MalformedMessage("bad_value", 0, "a path stands twice")
    return Loaded(node, entries, superseded, ticks, tock)


def change_of(before: State | None, after: State) -> bytes | None:
    """What is to be put onto the disk when one state follows another, or is the first; None for nothing."""
    if before is None:
        before = State(after.self_id, after.config)
    elif after.tock == before.tock and after.ticks is before.ticks and after.entries is before.entries:
        return None
    rows = before.entries.rows
    entries = [
        Update(entry.chain, path, entry.value, entry.tock)
        for path, entry in ({} if after.entries.rows is rows else after.entries.rows).items()
        if rows.get(path) != entry
    ]
    known = _new(before.entries.known, after.entries.known)
    return _pack_members(_CHANGE, after.tock, _new(before.ticks, after.ticks), known, entries)


def _new(before: Mapping[NodeId, Any], after: Mapping[NodeId, Any]) -> dict[NodeId, Any]:
    return {} if after is before else {node: row for node, row in after.items() if before.get(node) != row}


def stored_after(changes: Iterable[bytes]) -> Stored | None:
    """What a node finds after these changes; None if there were none. Raises MalformedMessage."""
    tock: int | None = None
    rows: dict[bytes, Update] = {}
    known: dict[NodeId, Ranges] = {}
    ticks: dict[NodeId, int] = {}
    for data in changes:
        tock, more, seen, entries = _read(_CHANGE, data)
        rows.update((update.path, update) for update in entries)
        known.update(seen)
        ticks.update(more)
    if tock is None:
        return None
    present = on_chains({update.path: Entry(update.chain, update.value, update.tock) for update in rows.values()})
    return Stored(tock, tuple(rows.values()), difference(known, present), Table(ticks))


def _pack_members(
    names: tuple[str, ...], tock: int, ticks: Mapping[NodeId, int], sets: Mapping[NodeId, Ranges], entries: Iterable[Update]
) -> bytes:
    members = (tock, list(ticks.items()), [(node, ranges.wire()) for node, ranges in sets.items()], tuple(map(payload, entries)))
    return pack(list(zip(names, members, strict=True)))


def _read(names: tuple[str, ...], data: bytes) -> tuple[int, Table[NodeId, int], Table[NodeId, Ranges], tuple[Update, ...]]:
    members = _map(unpack(data))
    if members.keys() != set(names):
        raise MalformedMessage("bad_value", 0, f"expected {', '.join(names)}, found {', '.join(map(str, members))}")
    tock, ticks, sets, entries = (members[name] for name in names)
    if type(entries) is not tuple:
        raise MalformedMessage("bad_type", 0, f"entries: expected a list, found {entries!r:.80}")
    return (
        read_number(tock),
        Table({_node(node): read_number(tick) for node, tick in _map(ticks).items()}),
        Table({_node(node): read(ranges) for node, ranges in _map(sets).items()}),
        tuple(map(_update, entries)),
    )


def _update(data: Any) -> Update:
    message = of_payload("update", data) if type(data) is bytes else None
    if not isinstance(message, Update) or message.sender is not None:
        raise MalformedMessage("bad_value", 0, f"no update of an entry: {data!r:.80}")
    return message


def _map(pairs: Any) -> dict[Any, Any]:
    if type(pairs) is not list or not all(type(key) is str for key, _ in pairs) or len(dict(pairs)) < len(pairs):
        raise MalformedMessage("bad_value", 0, f"expected a map of texts, none of which stands twice; found {pairs!r:.80}")
    return dict(pairs)


def _node(name: str) -> NodeId:
    if not is_name(name):
        raise MalformedMessage("bad_value", 0, f"no name of a node: {name!r:.80}")
    return NodeId(name)


#: A journal is written anew when it has so many bytes, and so many times as many as when this process did that last.
LEAST: Final = 2**18
TIMES: Final = 4


class Disk:
    """A node's journal. Use `stored` once, then `keep` after each step."""

    def __init__(self, path: Path, node: NodeId) -> None:
        """Opens it. Raises JournalError."""
        self._journal: Final = Journal(path, f"the DistKV node {node}")
        try:
            self.stored: Stored | None = stored_after(self._journal.records)
        except MalformedMessage as error:
            self._journal.close()
            raise JournalError(f"{path} holds what no node keeps: {error.detail}; it is of another version") from None
        self._journal.records.clear()
        self._kept: State | None = None
        self._next = LEAST

    def keep(self, state: State) -> None:
        """Put onto the disk what has changed. Raises JournalError; then the disk has what it had before."""
        is_new = self._kept is not None or self.stored is None  #: or it is what was found
        change = change_of(self._kept, state) if is_new else None
        if change is not None:
            self._journal.append(change)
        self._kept = state
        if self._journal.size > self._next:
            whole = change_of(None, state)
            with suppress(JournalError):  # for want of space: all is there, only longer than it must be
                self._journal.replace([] if whole is None else [whole])
            self._next = max(LEAST, TIMES * self._journal.size)

    def close(self) -> None:
        """Let others use it."""
        self._journal.close()
