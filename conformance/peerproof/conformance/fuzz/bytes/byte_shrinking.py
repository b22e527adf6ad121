"""Bytes made as few and as plain as they get while they still show the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from peerproof.conformance.fuzz.bytes.flaws import Flaw
from peerproof.conformance.fuzz.simpler import build_valid, leave_parts_out, simpler_data
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.packing import Codec

#: So many smaller inputs are tried at most, if nobody says more.
MOST_TRIED: Final = 2_000

#: From so few bytes on, every part of them is left out: an entry of a list can be of any size.
SHORT: Final = 64

#: What a byte may become, the plainest first.
_PLAIN: Final = b"\x00\x01a0"


class Shrinking:
    """The smallest input so far, and what it shows."""

    def __init__(self, codec: Codec[Any], judge: Callable[[bytes], Flaw | None], flaw: Flaw, most: int = MOST_TRIED) -> None:
        self.flaw = flaw
        self._codec = codec
        self._judge = judge
        self._seen = {flaw.data}
        self._most = most  #: smaller inputs are tried

    def shrink(self) -> None:
        """Makes it smaller, until nothing helps. What the judge raises goes through; what is smallest then stays."""
        size = None
        while size != (size := self.flaw.data) and len(self._seen) < self._most:
            self._simpler_message()
            self._fewer_bytes()
            self._plainer_bytes()

    def _try(self, data: bytes) -> bool:
        """Whether these bytes show the same; then they are the smallest so far."""
        if data in self._seen or len(self._seen) >= self._most:
            return False
        self._seen.add(data)
        flaw = self._judge(data)
        if flaw is None or flaw.what != self.flaw.what:
            return False
        self.flaw = flaw
        return True

    def _simpler_message(self) -> None:
        """If it is a message: one with less in it."""
        while any(self._try(data) for data in self._messages()):
            pass

    def _messages(self) -> Iterator[bytes]:
        try:
            plain = self._codec.plain(self._codec.decode(self.flaw.data))
        except MalformedMessage:
            return
        except Exception:  # noqa: BLE001  # the decoder at fault may be this one
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
    """What is left without a part of it, the longest first."""
    for size in range(len(data), 0, -1):
        yield from (data[:start] + data[start + size :] for start in range(len(data) - size + 1))
