"""Shrinks bytes in length and values as long as they show the same flaw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from peerproof.conformance.fuzz.bytes.flaws import Flaw
from peerproof.conformance.fuzz.simpler import build_valid, leave_parts_out, simpler_data
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.packing import Codec

#: Default maximum number of smaller inputs that are tried.
MOST_TRIED: Final = 2_000

#: Bytes; from inputs of this length on, every span is tried for removal, because a list entry can have any size.
SHORT: Final = 64

#: Replacements for a byte, the plainest first.
_PLAIN: Final = b"\x00\x01a0"


class Shrinking:
    """The smallest input so far, and its flaw."""

    def __init__(self, codec: Codec[Any], judge: Callable[[bytes], Flaw | None], flaw: Flaw, most: int = MOST_TRIED) -> None:
        self.flaw = flaw
        self._codec = codec
        self._judge = judge
        self._seen = {flaw.data}
        self._most = most  #: maximum number of smaller inputs tried

    def shrink(self) -> None:
        """Shrinks until nothing helps. Exceptions of `judge` pass through; the smallest input so far is kept."""
        size = None
        while size != (size := self.flaw.data) and len(self._seen) < self._most:
            self._simpler_message()
            self._fewer_bytes()
            self._plainer_bytes()

    def _try(self, data: bytes) -> bool:
        """Returns True if these bytes show the same flaw, and keeps them as the smallest so far."""
        if data in self._seen or len(self._seen) >= self._most:
            return False
        self._seen.add(data)
        flaw = self._judge(data)
        if flaw is None or flaw.what != self.flaw.what:
            return False
        self.flaw = flaw
        return True

    def _simpler_message(self) -> None:
        """If the input is a message: tries simpler messages."""
        while any(self._try(data) for data in self._messages()):
            pass

    def _messages(self) -> Iterator[bytes]:
        try:
            plain = self._codec.plain(self._codec.decode(self.flaw.data))
        except MalformedMessage:
            return
        except Exception:  # noqa: BLE001  # this decoder may be the one at fault
            return
        smaller = build_valid(self._codec.encode, build_valid(self._codec.value, simpler_data(plain)))
        yield from (data for data in smaller if len(data) <= len(self.flaw.data))

    def _fewer_bytes(self) -> None:
        leave_parts_out(lambda: self.flaw.data, lambda left: self._try(bytes(left)))
        while len(self.flaw.data) <= SHORT and any(self._try(data) for data in _without_a_span(self.flaw.data)):
            pass

    def _plainer_bytes(self) -> None:
        for at in range(len(self.flaw.data)):
            for byte in _PLAIN:
                data = self.flaw.data
                if data[at] in _PLAIN[: _PLAIN.index(byte) + 1] or self._try(data[:at] + bytes((byte,)) + data[at + 1 :]):
                    break


def _without_a_span(data: bytes) -> Iterator[bytes]:
    """Yields the data without each of its spans, the longest span first."""
    for size in range(len(data), 0, -1):
        yield from (data[:start] + data[start + size :] for start in range(len(data) - size + 1))
