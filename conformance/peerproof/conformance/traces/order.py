"""
An order in which the nodes of a run may have taken their steps: each message is received after it was sent.

Among the nodes that may be next, the earliest by its own clock is. Over connections, and of what is for everybody, a receiver
does not say from which node it came, so that it is waited for until somebody sends it. Over connections a message is also
confirmed after it was received.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, Protocol

from peerproof.conformance.traces.steps import Address, NodeSteps
from peerproof.spec.core import NodeId

#: Messages of which it is remembered that they were sent, of each sender to each receiver.
SENT: Final = 2**12


class Mail:
    """Which messages were sent. It forgets the oldest, and then knows that it does not know."""

    def __init__(self) -> None:
        self._sent: dict[tuple[NodeId, NodeId], tuple[set[int], deque[int]]] = {}
        self._news: list[Address] = []

    def news(self) -> list[Address]:
        """What was sent since this was asked last, as news."""
        news, self._news = self._news, []
        return news

    def add(self, address: Address, *, is_news: bool = False) -> None:
        """A message was sent; `is_news` if `news` is to have it."""
        if is_news:
            self._news.append(address)
        known, order = self._sent.setdefault(address[:2], (set(), deque()))
        if address.key not in known:
            known.add(address.key)
            order.append(address.key)
            if len(order) > SENT:
                known.discard(order.popleft())

    def was_sent(self, address: Address) -> bool:
        """Whether it was, and is not forgotten."""
        return address.key in self._sent.get(address[:2], _NONE)[0]

    def forgets(self, address: Address) -> bool:
        """Whether messages between these two are forgotten."""
        return len(self._sent.get(address[:2], _NONE)[1]) >= SENT


_NONE: Final[tuple[set[int], deque[int]]] = set(), deque()


class Unsent(Protocol):
    """Is told that a node is to receive what was not sent before, or is confirmed what was not received."""

    def __call__(self, node: NodeSteps, other: NodeId, *, is_told: bool) -> None:
        """See `RunCheck`."""
        ...


class Order:
    """The numbers of nodes, in an order in which they may have taken their steps."""

    def __init__(self, nodes: Sequence[NodeSteps], mail: Mail, unsent: Unsent) -> None:
        self._nodes: Final = nodes
        self._mail: Final = mail
        self._unsent: Final = unsent
        self._numbers: dict[NodeId, int] = {}
        self._ready: list[tuple[int, int]] = []  #: a heap of times and numbers
        self._waiting: dict[int, list[int]] = {}  #: sender -> those who wait for a message of it

    def __iter__(self) -> Iterator[int]:
        self._numbers = {node.name: number for number, node in enumerate(self._nodes)}
        for number in range(len(self._nodes)):
            self._put(number)
        while self._ready or self._waiting:
            if not self._ready:
                self._break_the_circle()
            _, number = heappop(self._ready)
            yield number
            self._put(number)
            for other in self._waiting.pop(number, ()):
                self._put(other)

    def _put(self, number: int) -> None:
        """What this node does next is ready, or waits for a message to be sent."""
        node = self._nodes[number]
        if node.head is None:
            return
        message = node.message
        if message is not None and not self._mail.was_sent(message):
            sender = self._numbers.get(message.sender)
            if sender is not None and sender != number and self._nodes[sender].head is not None:
                self._waiting.setdefault(sender, []).append(number)
                return
            is_told = sender is not None and not self._nodes[sender].is_lost and not self._mail.forgets(message)
            self._unsent(node, message.sender, is_told=is_told)
        heappush(self._ready, (node.now, number))

    def _break_the_circle(self) -> None:
        """Each waits for another: something is wrong with their logs. The earliest goes on."""
        waiting = [(self._nodes[number].now, number, sender) for sender, numbers in self._waiting.items() for number in numbers]
        now, number, sender = min(waiting)
        self._waiting[sender].remove(number)
        if not self._waiting[sender]:
            del self._waiting[sender]
        node = self._nodes[number]
        assert node.message is not None
        self._unsent(node, node.message.sender, is_told=not self._mail.forgets(node.message))
        heappush(self._ready, (now, number))


class ConnectedOrder:
    """The same over connections, or of what is for everybody."""

    def __init__(self, nodes: Sequence[NodeSteps], sent: Mail, arrived: Mail, unsent: Unsent) -> None:
        self._nodes: Final = nodes
        self._sent: Final = sent
        self._arrived: Final = arrived
        self._unsent: Final = unsent
        self._ready: list[tuple[int, int]] = []  #: a heap of times and numbers
        self._waiting: dict[tuple[bool, Address], list[int]] = {}  #: for what to be sent, or to arrive -> who waits

    def __iter__(self) -> Iterator[int]:
        for number in range(len(self._nodes)):
            self._put(number)
        while self._ready or self._waiting:
            if not self._ready:
                self._go_on()
            _, number = heappop(self._ready)
            yield number
            for arrives, mail in ((False, self._sent), (True, self._arrived)):
                for address in mail.news():
                    for other in self._waiting.pop((arrives, address), ()):
                        self._put(other)
            self._put(number)

    def _put(self, number: int) -> None:
        node = self._nodes[number]
        if node.head is None:
            return
        awaited = self._dependency(node)
        if awaited is None:
            heappush(self._ready, (node.now, number))
        else:
            self._waiting.setdefault(awaited, []).append(number)

    def _dependency(self, node: NodeSteps) -> tuple[bool, Address] | None:
        """What must come before the node's next step and has not; whether it has to arrive."""
        if node.message is not None and not self._sent.was_sent(node.message):
            return False, node.message
        if node.confirmed is not None and not self._arrived.was_sent(node.confirmed):
            return True, node.confirmed
        return None

    def _go_on(self) -> None:
        """No log has what is waited for. The earliest goes on."""
        now, number, awaited = min(
            ((self._nodes[number].now, number, awaited) for awaited, numbers in self._waiting.items() for number in numbers),
            key=lambda waiting: waiting[:2],
        )
        self._waiting[awaited].remove(number)
        if not self._waiting[awaited]:
            del self._waiting[awaited]
        node, (arrives, address) = self._nodes[number], awaited
        other = address.to if arrives else node.maker
        mail = self._arrived if arrives else self._sent
        whole = any(each.name == other and not each.is_lost for each in self._nodes)
        self._unsent(node, other, is_told=not arrives and whole and not mail.forgets(address))
        heappush(self._ready, (now, number))
