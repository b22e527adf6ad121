"""
Restarts: whether a node can have restarted, with an empty state, between two of the messages that it has sent.

No message says that a node has restarted; an observer only sees that the node shows less than before. This is excused if there is
a beginning from which a node with an empty state can know all that this one has sent since. A later message may show that
there is no such beginning. A violation that a restart explains is not reported.

The node's sent messages are counted: beginning `n` is after the `n`-th message and before the next. Beginnings before the first
observed message are not considered.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

Name = TypeVar("Name", bound=Hashable)
Excused = TypeVar("Excused")

#: Limits: spans of beginnings, received numbers for each name, and excuses.
SPANS: Final = 256
NUMBERS: Final = 64
EXCUSES: Final = 64


class Span(NamedTuple):
    """Beginnings from `first` to `last`, both included."""

    first: int
    last: int


class Excuse(NamedTuple, Generic[Excused]):
    """A violation, unless the node has begun within a span."""

    span: Span
    excused: Excused


class Lives(Generic[Name, Excused]):
    """
    The lives of one node.

    A name stands for an item with a number that grows. Here the node receives 7 of `c`, sends 7, and later sends only 0:

    >>> lives = Lives[str, str]()
    >>> lives.receive("c", 7)
    >>> lives.send([("c", 7)]), lives.send([("c", 0)]), lives.excuse(1, "c is forgotten"), lives.count
    ([], [], True, 2)
    >>> lives.send([("c", 7)])
    ['c is forgotten']
    """

    def __init__(self) -> None:
        self.sent = 0  #: number of messages
        self.count = 1  #: number of lives
        self._spans: list[Span] = []  #: possible beginnings, in order
        self._came: dict[Name, list[tuple[int, int]]] = {}  #: numbers, falling, and sent messages when each came last
        self._excuses: list[Excuse[Excused]] = []

    def receive(self, name: Name, number: int) -> None:
        """The node receives a number, and may know it from now on."""
        came = self._came.setdefault(name, [])
        while came and came[-1][0] <= number:
            came.pop()
        came.append((number, self.sent))
        if len(came) > NUMBERS:
            came[:2] = [(came[0][0], came[1][1])]  # as if the larger one had come later: that excuses more

    def send(self, shown: Iterable[tuple[Name, int]]) -> list[Excused]:
        """The node sends a message that shows numbers of others; returns the excuses that no longer hold."""
        latest = min((self._last(name, number) for name, number in shown if number), default=self.sent)
        self._possible(self.sent)
        while self._spans and self._spans[-1].last > latest:
            span = self._spans.pop()
            if span.first <= latest:
                self._spans.append(Span(span.first, latest))
        self.sent += 1
        over = [excuse for excuse in self._excuses if not self._is_possible(excuse.span)]
        self._excuses = [excuse for excuse in self._excuses if excuse not in over]
        self.count -= len(over)
        return [excuse.excused for excuse in over]

    def excuse(self, since: int, excused: Excused) -> bool:
        """
        Whether the node can have begun after the `since`-th message and before the last one that `send` has recorded.

        If so, another life is counted, and the excuse is kept.
        """
        span = Span(since, self.sent - 1)
        if not self._is_possible(span):
            return False
        self.count += 1
        self._excuses = [*self._excuses, Excuse(span, excused)][-EXCUSES:]
        return True

    def _last(self, name: Name, number: int) -> int:
        """Returns the count of sent messages when such a number, or a higher one, was last received; -1 for never."""
        return next((sent for other, sent in reversed(self._came.get(name, ())) if other >= number), -1)

    def _possible(self, beginning: int) -> None:
        last = self._spans[-1] if self._spans else None
        if last and last.last >= beginning - 1:
            self._spans[-1] = Span(last.first, beginning)
        else:
            self._spans.append(Span(beginning, beginning))
        if len(self._spans) > SPANS:
            self._spans[:2] = [Span(self._spans[0].first, self._spans[1].last)]

    def _is_possible(self, span: Span) -> bool:
        return any(other.first <= span.last and span.first <= other.last for other in reversed(self._spans))
