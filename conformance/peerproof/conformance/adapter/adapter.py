"""
An adapter: an implementation that can be asked, and everything that can go wrong on the way.

What goes wrong before the implementation has said who it is makes it `AdapterUnavailable`. After that it is an `AdapterError` of
the request that was not answered: the implementation died, hung, or said what is no reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from peerproof.conformance.adapter.choices import WrongQuestion
from peerproof.conformance.adapter.messages import VERSION, Hello, Reply, Request

#: Answers a question: the inner object of a `choice` line to the indices of the options to take.
Choose = Callable[[dict[str, Any]], list[int]]

_DETAIL: Final = 4_000  #: characters of what went wrong, which may quote what the implementation said

#: Sees each line: the direction, `>` to the adapter or `<` from it, and the line without its end.
Watch = Callable[[str, str], None]


class AdapterUnavailable(Exception):
    """There is no implementation to judge; the message says why."""

    def __init__(self, message: str, errors: bytes = b"", tip: str | None = None) -> None:
        super().__init__(_shorten(message))
        self.errors = errors
        self.tip = tip  #: what to do


class AdapterError(Exception):
    """The implementation has not answered a request and must be started again."""

    def __init__(self, kind: str, detail: str, answered: Sequence[Reply] = (), errors: bytes = b"") -> None:
        detail = _shorten(detail)
        super().__init__(detail)
        self.kind = kind  #: crashed, hung, flooded or garbled
        self.detail = detail
        self.answered = answered  #: replies to the requests before it
        self.errors = errors  #: the last of what it wrote on standard error


def _shorten(text: str) -> str:
    return text if len(text) <= _DETAIL else f"{text[:_DETAIL]}… ({len(text):,} characters)"


class Adapter(Protocol):
    """An implementation that can be asked."""

    def start(self) -> Hello:
        """Starts it, or starts it again. Raises AdapterUnavailable."""
        ...

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """The replies to requests, none of which depends on another's reply. Raises AdapterError."""
        ...

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """The same as fast as possible; who answers the questions of each request stands beside it. Raises AdapterError."""
        ...

    def stretch(self, times: float) -> None:
        """From now on a request may take so many times as long as was said at first."""
        ...

    def stop(self) -> bool:
        """Says goodbye, then ends it by force; whether there was no need for that. Never raises."""
        ...

    def kill(self) -> None:
        """Ends it by force. Never raises."""
        ...

    def abort(self) -> None:
        """Makes the request that another thread waits for end in an AdapterError, soon. Never raises."""
        ...


def introduction(suite: str) -> Request:
    """The `hello` of this runner."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        runner = f"peerproof {version('peerproof')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        runner = "peerproof"
    return {"op": "hello", "protocol": [VERSION, VERSION], "runner": runner, "vectors": suite, "choices": ["oracle", "set"]}


def nothing_to_choose(question: dict[str, Any]) -> list[int]:
    """Answers no question. Raises WrongQuestion."""
    raise WrongQuestion(f"asked for a choice where there is nothing to choose: {question!r}")
