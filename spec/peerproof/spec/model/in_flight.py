"""
The messages under way in a world, by number: a set, or a queue for each pair of nodes.

In a set messages overtake each other, and sending a message that is under way already changes nothing. With order, the messages
from one node to another arrive as they were sent, and the same one may be under way more than once; messages of different pairs
still overtake each other. Both are tuples, and equal networks are equal tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

Net: TypeAlias = tuple[int, ...]


class Network:
    """The arrangement of messages; `pairs` maps a message's number to the number of its pair of nodes, and may grow."""

    def __init__(self, pairs: Sequence[int], *, is_ordered: bool) -> None:
        self.is_ordered: Final = is_ordered
        self._pairs = pairs
        self.with_messages: Final[Callable[[Net, Net], Net]] = self._enqueue if is_ordered else with_messages

    def arrange(self, messages: Iterable[int]) -> Net:
        """Arranges messages as a world has them: ascending, or, with order, by pair, each pair's in the given order."""
        return tuple(sorted(messages, key=self._pairs.__getitem__) if self.is_ordered else sorted(set(messages)))

    def is_first(self, net: Net, index: int) -> bool:
        """Whether the message at this index may arrive next, because no message of the same pair is before it."""
        return not self.is_ordered or index == 0 or self._pairs[net[index - 1]] != self._pairs[net[index]]

    def queues(self, net: Net) -> Iterator[Net]:
        """Yields groups of messages with an order among them: those of each pair; without order, each message by itself."""
        if not self.is_ordered:
            return zip(net)
        return (tuple(queue) for _, queue in groupby(net, self._pairs.__getitem__))

    def _enqueue(self, net: Net, sent: Net) -> Net:
        return self.arrange((*net, *sent)) if sent else net


def with_messages(net: Net, sent: Net) -> Net:
    """Returns the messages under way after these were sent too: a set, as a sorted tuple."""
    return tuple(sorted({*net, *sent})) if sent else net


def queue_value(values: Sequence[Any]) -> Any:
    """Returns `<<from, to, <<rest of each message>>>>` for the values `<<from, to, ...>>` of a pair's messages, in order."""
    sender, to, *_ = values[0]
    return sender, to, tuple(tuple(content) for _, _, *content in values)
