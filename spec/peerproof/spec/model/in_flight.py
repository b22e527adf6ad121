"""
The messages under way in a world, by number: a set, or a queue for each pair of nodes.

In a set messages overtake each other, and sending again what is already under way changes nothing. With order, those from one
node to another arrive as they were sent, and the same may be under way more than once; messages of different pairs still overtake
each other. Either is kept as a tuple, so that two networks are the same exactly if their tuples are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

Net: TypeAlias = tuple[int, ...]


class Network:
    """How messages stand together; `pairs` says of each, by number, between which two nodes it goes, and may grow."""

    def __init__(self, pairs: Sequence[int], *, is_ordered: bool) -> None:
        self.is_ordered: Final = is_ordered
        self._pairs = pairs
        self.with_messages: Final[Callable[[Net, Net], Net]] = self._enqueue if is_ordered else with_messages

    def arrange(self, messages: Iterable[int]) -> Net:
        """These messages as they stand in a world: ascending; with order by pair, those of each as they are here."""
        return tuple(sorted(messages, key=self._pairs.__getitem__) if self.is_ordered else sorted(set(messages)))

    def is_first(self, net: Net, index: int) -> bool:
        """Whether the message at this place may arrive next, because none of the same pair is before it."""
        return not self.is_ordered or index == 0 or self._pairs[net[index - 1]] != self._pairs[net[index]]

    def queues(self, net: Net) -> Iterator[Net]:
        """The messages that have an order among them: those of each pair; without order each by itself."""
        if not self.is_ordered:
            return zip(net)
        return (tuple(queue) for _, queue in groupby(net, self._pairs.__getitem__))

    def _enqueue(self, net: Net, sent: Net) -> Net:
        return self.arrange((*net, *sent)) if sent else net


def with_messages(net: Net, sent: Net) -> Net:
    """The messages under way after these were sent too: a set, as a sorted tuple."""
    return tuple(sorted({*net, *sent})) if sent else net


def queue_value(values: Sequence[Any]) -> Any:
    """`<<from, to, <<what else each message is>>>>`, of the values `<<from, to, ...>>` of the messages of a pair, in order."""
    sender, to, *_ = values[0]
    return sender, to, tuple(tuple(content) for _, _, *content in values)
