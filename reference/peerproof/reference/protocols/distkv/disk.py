"""What a node of DistKV has on its disk before anybody hears of it. [DA-81]"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from peerproof.reference.protocols.distkv.inventory import change_of, stored_after
from peerproof.reference.protocols.distkv.journal import Journal, JournalError
from peerproof.spec.core import NodeId
from peerproof.spec.distkv import State, Stored
from peerproof.spec.errors import MalformedMessage

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
