"""
Serialization of a DistKV node's data, for its disk and for downloads. [DA-71, DA-81]

A download is a map in MessagePack: `tock`; `ticks`, a map of nodes to ticks; `superseded`, a map of nodes to lists of ranges; and
`entries`, a list of byte strings, each the payload of an update. The rules for messages apply to all of it. The disk has a
sequence of changes in the same format, with `known` instead of `superseded`, because `known` only grows.
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
    """Serializes a download."""
    return _pack_members(_LOADED, loaded.tock, loaded.ticks, loaded.superseded, loaded.entries)


def loaded_of(node: NodeId, data: bytes) -> Loaded:
    """Parses the bytes of a download from a node. Raises MalformedMessage."""
    tock, ticks, superseded, entries = _read(_LOADED, data)
    if len({update.path for update in entries}) < len(entries):
        raise MalformedMessage("bad_value", 0, "a path occurs twice")
    return Loaded(node, entries, superseded, ticks, tock)


def change_of(before: State | None, after: State) -> bytes | None:
    """Serializes the change from one state to the next, or to the first one; None if there is nothing to store."""
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
    """Restores a node's data from its changes; None if there are none. Raises MalformedMessage."""
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
        raise MalformedMessage("bad_value", 0, f"not an update of an entry: {data!r:.80}")
    return message


def _map(pairs: Any) -> dict[Any, Any]:
    if type(pairs) is not list or not all(type(key) is str for key, _ in pairs) or len(dict(pairs)) < len(pairs):
        raise MalformedMessage("bad_value", 0, f"expected a map with texts as distinct keys, found {pairs!r:.80}")
    return dict(pairs)


def _node(name: str) -> NodeId:
    if not is_name(name):
        raise MalformedMessage("bad_value", 0, f"not a node name: {name!r:.80}")
    return NodeId(name)


#: A journal is rewritten when it has more than LEAST bytes, and more than TIMES its size after the last rewrite.
LEAST: Final = 2**18
TIMES: Final = 4


class Disk:
    """A node's journal. Read `stored` once, then call `keep` after each step."""

    def __init__(self, path: Path, node: NodeId) -> None:
        """Opens the journal. Raises JournalError."""
        self._journal: Final = Journal(path, f"the DistKV node {node}")
        try:
            self.stored: Stored | None = stored_after(self._journal.records)
        except MalformedMessage as error:
            self._journal.close()
            raise JournalError(f"{path} has invalid data: {error.detail}; it is from another version") from None
        self._journal.records.clear()
        self._kept: State | None = None
        self._next = LEAST

    def keep(self, state: State) -> None:
        """Stores the change since the last call. Raises JournalError; the disk is unchanged then."""
        is_new = self._kept is not None or self.stored is None  # else the state is the one that was restored
        change = change_of(self._kept, state) if is_new else None
        if change is not None:
            self._journal.append(change)
        self._kept = state
        if self._journal.size > self._next:
            whole = change_of(None, state)
            with suppress(JournalError):  # no space: the journal stays complete, but longer than necessary
                self._journal.replace([] if whole is None else [whole])
            self._next = max(LEAST, TIMES * self._journal.size)

    def close(self) -> None:
        """Closes the journal."""
        self._journal.close()
