"""
The interface of an adapter, through which the runner talks to an implementation, and its errors.

A fault before the implementation has answered `hello` raises `AdapterUnavailable`. A later fault raises `AdapterError` for
the request that was not answered: the implementation exited, hung, or wrote a line that is not a reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from peerproof.conformance.adapter.messages import VERSION, Hello, Reply, Request

#: Answers a question: maps the inner object of a `choice` line to the indices of the chosen options.
Choose = Callable[[dict[str, Any]], list[int]]

_DETAIL: Final = 4_000  #: the most characters of an error text, which may quote the implementation

#: Receives each line: the direction, `>` to the adapter or `<` from it, and the line without its end.
Watch = Callable[[str, str], None]


class AdapterUnavailable(Exception):
    """There is no implementation to judge; the message says why."""

    def __init__(self, message: str, errors: bytes = b"", tip: str | None = None) -> None:
        super().__init__(_shorten(message))
        self.errors = errors
        self.tip = tip  #: what to do


class AdapterError(Exception):
    """The implementation did not answer a request and must be started again."""

    def __init__(self, kind: str, detail: str, answered: Sequence[Reply] = (), errors: bytes = b"") -> None:
        detail = _shorten(detail)
        super().__init__(detail)
        self.kind = kind  #: crashed, hung, flooded or garbled
        self.detail = detail
        self.answered = answered  #: replies to earlier requests
        self.errors = errors  #: the end of its standard error


def _shorten(text: str) -> str:
    return text if len(text) <= _DETAIL else f"{text[:_DETAIL]}… ({len(text):,} characters)"


class Adapter(ABC):
    """The interface of all adapters, with the methods of one that has no process of its own."""

    @abstractmethod
    def start(self) -> Hello:
        """Starts or restarts the implementation. Raises AdapterUnavailable."""

    @abstractmethod
    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """Returns the replies to independent requests. Raises AdapterError."""

    @abstractmethod
    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """The same as fast as possible; `choosing` has a chooser for each request. Raises AdapterError."""

    def stretch(self, times: float) -> None:  # noqa: B027  # nothing to do without a process
        """Multiplies the initial time limit of requests by this factor from now on."""

    def take_errors(self) -> bytes:
        """Returns the end of what the implementation wrote to standard error since the last call. Never raises."""
        return b""

    def stop(self) -> bool:
        """Sends `bye`, then kills the process. Returns True if it exited by itself. Never raises."""
        return True

    def kill(self) -> None:  # noqa: B027  # nothing to do without a process
        """Kills the implementation. Never raises."""

    def abort(self) -> None:  # noqa: B027  # nothing to do without a process
        """Makes a request that another thread waits for fail soon with AdapterError. Never raises."""


def introduction(suite: str) -> Request:
    """Returns the `hello` request of this runner."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        runner = f"peerproof {version('peerproof')}"
    except PackageNotFoundError:  # runs from a source tree that is not installed
        runner = "peerproof"
    return {"op": "hello", "protocol": [VERSION, VERSION], "runner": runner, "vectors": suite, "choices": ["oracle", "set"]}
