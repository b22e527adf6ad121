"""
An in-memory network in virtual time with the faults of a real one: it loses, delays, duplicates and reorders datagrams, and can
be partitioned.

Over connections nothing is lost or duplicated, and messages of a pair stay in order [PA-19]. Their delay depends on sender and
receiver: each node has a fixed random position on a map, and the delay grows with the distance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot
from random import Random
from typing import Final

from peerproof.spec.core import Duration, NodeId

_MICROSECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class Faults:
    """The faults of a network. Probabilities are from 0 to 1, per datagram."""

    loss: float = 0.0  #: probability that a datagram is lost
    duplication: float = 0.0  #: probability that a datagram that arrives does so twice
    reordering: float = 0.0  #: probability that a datagram is held back, so that later ones overtake it
    least_delay: Duration = Duration(1)  # noqa: RUF009  # a number
    most_delay: Duration = Duration(10)  # noqa: RUF009
    held_back: Duration = Duration(1000)  #: maximum additional delay of a datagram that is held back  # noqa: RUF009

    def __post_init__(self) -> None:
        for name in ("loss", "duplication", "reordering"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.least_delay <= self.most_delay:
            raise ValueError(f"delays must be a range from at least 0, not {self.least_delay} to {self.most_delay}")
        if self.held_back < 1:
            raise ValueError(f"held_back must be at least 1 millisecond, not {self.held_back}")


class Network:
    """Decides the fate of each message, in the order in which they are sent."""

    def __init__(self, faults: Faults, seed: str) -> None:
        self.sent = 0  #: datagrams sent
        self.lost = 0  #: datagrams that the network lost
        self.cut_off = 0  #: datagrams that a partition stopped
        self.duplicated = 0  #: datagrams delivered twice
        self._faults: Final = faults
        self._seed: Final = seed
        self._positions: dict[NodeId, tuple[float, float]] = {}  #: on the map
        self._random: Final = Random(seed).random
        self._side: dict[NodeId, int] = {}

    @property
    def reorders(self) -> bool:
        """Whether the delay varies between messages of the same pair."""
        return self._faults.reordering > 0

    def cut(self, sides: Iterable[Iterable[NodeId]]) -> None:
        """Partitions the network: only nodes of the same side reach each other. Nodes in no side form a further one."""
        self._side = {node: number for number, side in enumerate(sides, start=1) for node in side}

    def heal(self) -> None:
        """Ends the partition. Messages sent during it stay lost."""
        self._side = {}

    def fate(self, sender: NodeId, to: NodeId) -> tuple[Duration, ...]:
        """Returns the delay of each copy of a datagram; no delay if it is lost."""
        faults, random = self._faults, self._random
        self.sent += 1
        if self._side.get(sender, 0) != self._side.get(to, 0):
            self.cut_off += 1
            return ()
        if faults.loss and random() < faults.loss:
            self.lost += 1
            return ()
        if faults.duplication and random() < faults.duplication:
            self.duplicated += 1
            return (self._delay(), self._delay())
        return (self._delay(),)

    def trip(self, sender: NodeId, to: NodeId) -> int | None:
        """Returns the one-way delay of a message over a connection in microseconds; None if a partition stops it."""
        self.sent += 1
        if self._side.get(sender, 0) != self._side.get(to, 0):
            self.cut_off += 1
            return None
        faults, (x, y), (to_x, to_y) = self._faults, self._position(sender), self._position(to)
        far = hypot(x - to_x, y - to_y) / hypot(1, 1)
        micros = int(_MICROSECONDS * (faults.least_delay + far * (faults.most_delay - faults.least_delay)))
        if faults.reordering and self._random() < faults.reordering:
            micros += _MICROSECONDS * (1 + int(self._random() * faults.held_back))
        return micros

    def _position(self, node: NodeId) -> tuple[float, float]:
        position = self._positions.get(node)
        if position is None:
            random = Random(f"{self._seed}/{node}").random
            position = self._positions[node] = random(), random()
        return position

    def _delay(self) -> Duration:
        faults, random = self._faults, self._random
        delay = faults.least_delay + int(random() * (faults.most_delay - faults.least_delay + 1))
        if faults.reordering and random() < faults.reordering:
            delay += 1 + int(random() * faults.held_back)
        return Duration(delay)
