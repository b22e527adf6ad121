"""
Nodes of DistKV on a network that is quiet, or splits, loses and is slow: time and what becomes of messages, and nothing else.

Each message goes to each other node by itself, and to its sender. It arrives if sender and receiver are on one side then, and it
is not lost; downloads are questions and answers that go the same ways.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from peerproof.spec.core import Asked, CancelTimer, Expired, Instant, NodeId, Notify, Received, Send, SetTimer, Table
from peerproof.spec.distkv import (
    Config,
    Info,
    Loaded,
    LoadFailed,
    NeedsDownload,
    Ping,
    State,
    Stored,
    Timer,
    Update,
    download_of,
    initial,
    step,
    stored_of,
)
from peerproof.spec.distkv.ranges import up_to
from peerproof.spec.distkv.ticks import TickSets, difference, union
from peerproof.spec.errors import NotEnabled


@dataclass
class Running:
    """A node that is up."""

    state: State
    timers: dict[Timer, Instant] = field(default_factory=dict)


class _Load:
    """A node wants to download."""


class Network:
    """The nodes of these names; none of them runs yet."""

    def __init__(self, configs: Mapping[NodeId, Config], seed: int, slowest: int) -> None:
        self.configs = configs
        self.random = Random(seed)
        self.slowest = slowest  #: milliseconds that a message takes at most
        self.loss = 0.0  #: which part of all messages is lost
        self.now = Instant(0)
        self.up: dict[NodeId, Running] = {}
        self.disks: dict[NodeId, Stored] = {}
        self.sides: dict[NodeId, int] = dict.fromkeys(configs, 0)
        self.made: dict[tuple[NodeId, int], Update] = {}  #: the update of each change that was ever made
        self.twice: set[tuple[NodeId, int]] = set()  #: node and tick of two changes [DX-10]
        self.forgotten: TickSets = Table()  #: changes that their own node has made before it lost its data
        self.notices: list[tuple[NodeId, Any]] = []
        self._under_way: list[tuple[Instant, int, NodeId, NodeId, Any]] = []
        self._numbers = count()

    # -- what happens to nodes

    def start(self, name: NodeId, *, with_data: bool = True) -> None:
        """A node starts, with what is on its disk or without."""
        if not with_data and name in self.disks:
            del self.disks[name]
            last = max((tick for node, tick in self.made if node == name), default=0)
            self.forgotten = self.forgotten.put({name: up_to(last)})
        self.up[name] = running = Running(State(name, self.configs[name]))
        self._do(name, running, initial(name, replace(self.configs[name], stored=self.disks.get(name))))

    def crash(self, name: NodeId) -> None:
        """A node is gone, with all that was not on its disk."""
        del self.up[name]

    def ask(self, name: NodeId, command: Any) -> bool:
        """Whether the node does it."""
        return self._happen(name, Asked(self.now, command))

    # -- time

    def run(self, span: int) -> None:
        """So many milliseconds pass."""
        until = self.now + span
        while (due := self._next()) is not None and due <= until:
            self.now = Instant(max(self.now, due))
            if self._under_way and self._under_way[0][0] <= due:
                _, _, sender, to, what = heappop(self._under_way)
                self._arrive(sender, to, what)
            else:
                _, name, _, timer = min(
                    (at, name, str(timer), timer) for name, node in self.up.items() for timer, at in node.timers.items()
                )
                del self.up[name].timers[timer]
                self._happen(name, Expired(self.now, timer))
        self.now = Instant(until)

    def settle(self) -> None:
        """Time passes until nothing is under way."""
        while self._under_way:
            self.run(1)

    def _next(self) -> Instant | None:
        moments = [at for node in self.up.values() for at in node.timers.values()]
        moments += [self._under_way[0][0]] if self._under_way else []
        return min(moments, default=None)

    def _arrive(self, sender: NodeId, to: NodeId, what: Any) -> None:
        receiver = self.up.get(to) if self.sides[sender] == self.sides[to] else None
        match what:
            case _Load():
                given = None if receiver is None else download_of(receiver.state)
                self._send(to, sender, given or LoadFailed(to), reliable=True)
            case Loaded() | LoadFailed() if to in self.up:  # whoever cannot be reached any more would be given up, too
                self._happen(to, Asked(self.now, what))
            case Update() | Ping() | Info() if receiver is not None:
                self._happen(to, Received(self.now, sender, what))

    def _send(self, sender: NodeId, to: NodeId, what: Any, *, reliable: bool = False) -> None:
        if reliable or self.random.random() >= self.loss:
            at = Instant(self.now + self.random.randint(1, self.slowest))
            heappush(self._under_way, (at, next(self._numbers), sender, to, what))

    def _happen(self, name: NodeId, event: Any) -> bool:
        running = self.up[name]
        try:
            taken = step(running.state, event, self._pick)
        except NotEnabled:
            return False
        self._do(name, running, taken)
        return True

    def _pick(self, why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG002  # as of `Pick`
        return tuple(self.random.sample(list(among), some))

    def _do(self, name: NodeId, running: Running, taken: Any) -> None:
        running.state, effects = taken
        self.disks[name] = stored_of(running.state)
        for effect in effects:
            match effect:
                case SetTimer(timer, after):
                    running.timers[timer] = Instant(self.now + after)
                case CancelTimer(timer):
                    running.timers.pop(timer, None)
                case Send(_, message):
                    self._note(message)
                    for to in self.configs:
                        self._send(name, to, message)
                case Notify(NeedsDownload(source)):
                    self._send(name, source, _Load(), reliable=True)
                    self.notices.append((name, effect.notice))
                case Notify(notice):
                    self.notices.append((name, notice))

    def _note(self, message: Any) -> None:
        if isinstance(message, Update):
            head = message.chain.head
            first = self.made.setdefault((head.node, head.tick or 0), message)
            if (first.path, first.value, first.tock) != (message.path, message.value, message.tock):
                self.twice.add((head.node, head.tick or 0))


def missed(states: Iterable[State]) -> TickSets:
    """What somebody misses of what somebody knows."""
    states = list(states)
    known: TickSets = Table()
    for state in states:
        known = union(known, state.entries.known)
    found: TickSets = Table()
    for state in states:
        found = union(found, difference(known, state.entries.known))
    return found


def contents(state: State) -> dict[Any, Any]:
    """What the entries of a node are, but for the tails of chains."""
    return {path: (entry.chain.head, entry.value, entry.tock) for path, entry in state.entries.rows.items()}
