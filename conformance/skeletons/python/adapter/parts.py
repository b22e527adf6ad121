"""What the file of each protocol uses: errors, the effects of a node, what a node starts with, random choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: Lets the suite answer a question about a random choice: the places of the chosen options.
Choose = Callable[[dict[str, Any]], list[int]]


class Malformed(Exception):
    """
    The bytes are no message, or a message has no bytes: truncated, trailing, bad_type, bad_length, bad_value, too_large or other.

    Any of these will do, unless a vector names the one that it expects.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Refused(Exception):
    """The implementation refuses a call; the reason is one of the protocol's words."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Effects:
    """The effects of one request, in order. They are recorded; nothing is sent for real."""

    def __init__(self, transport: str) -> None:
        self.done: list[dict[str, Any]] = []
        self._transport = transport

    def send(self, to: Any, data: bytes) -> None:
        """Sends a message. The address has the form that addresses have in requests."""
        sent = {"via": self._transport, "to": to, "bytes": data.hex()}
        self.done.append({"send": sent})

    def reply(self, conn: str, data: bytes) -> None:
        """Sends bytes on a connection that a peer has opened."""
        sent = {"conn": conn, "event": "data", "bytes": data.hex()}
        self.done.append({"stream": sent})

    def close(self, conn: str) -> None:
        """Closes such a connection."""
        self.done.append({"stream": {"conn": conn, "event": "close"}})

    def tell(self, event: str, **members: Any) -> None:
        """Reports an event to the application. Claim "events" if you use it."""
        self.done.append({"event": {"name": event, **members}})


class Choices:
    """Lets the suite make the random choices of a node. Call `pick` where your code calls its random generator."""

    def __init__(self) -> None:
        self.choose: Choose | None = None  #: None: no question may be asked
        self._request: Any = None
        self._asked = 0

    def begin(self, request: Any) -> None:
        """Begins a request: the questions that follow carry its id."""
        self._request, self._asked = request, 0

    def pick(self, site: str, among: Iterable[Any], some: int = 1) -> list[Any]:
        """
        Returns some of the options, in the order in which to use them.

        The site is the protocol's name for this choice. The options are all numbers, or all texts: `bytes` or `str`.
        """
        if self.choose is None:
            raise NotImplementedError('CHOICES of this protocol is not "oracle"')
        options = sorted(among, key=_octets)
        some = min(some, len(options))
        if not options[1:]:
            return options
        self._asked += 1
        kind = "permutation" if some == len(options) else "sample"
        about = {
            "for": self._request,
            "n": self._asked,
            "site": site,
            "of": [_plain(option) for option in options],
        }
        how = {"kind": "one"} if some == 1 else {"kind": kind, "some": some}
        return [options[index] for index in self.choose({**about, **how})]


@dataclass
class Birth:
    """What a node starts with."""

    addr: Any
    config: dict[str, Any]  #: missing members have the protocol's defaults
    seed: str  #: seed of the node's own random generator
    now: int
    choices: Choices


def _octets(option: Any) -> Any:
    """Returns the bytes of a text, by which options are sorted, and a number as it is."""
    if isinstance(option, str):
        return option.encode("utf-8", "surrogateescape")
    return option


def _plain(option: Any) -> Any:
    """Returns an option in plain form: a text whose bytes are not UTF-8 as `{"hex": "fffe"}`."""
    octets = _octets(option)
    if not isinstance(octets, bytes):
        return option
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": octets.hex()}
