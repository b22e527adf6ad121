"""
An in-memory network in virtual time that treats datagrams as badly as a real one: it loses them, delays them, doubles
them, lets one overtake another, and falls apart into partitions.

Over connections nothing is lost or doubled, and no message of a pair overtakes another [PA-19]. How long a message takes is a
matter of who sends it to whom: nodes have their places on a map, so that some are near and others far, for the whole of a run.
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
    """How bad a network is. Chances are from 0 to 1, per datagram."""

    loss: float = 0.0  #: the chance that a datagram never arrives
    duplication: float = 0.0  #: the chance that one that arrives does so twice
    reordering: float = 0.0  #: the chance that one is held back, so that later ones overtake it
    least_delay: Duration = Duration(1)  # noqa: RUF009  # a number
    most_delay: Duration = Duration(10)  # noqa: RUF009
    held_back: Duration = Duration(1000)  #: at most this much longer  # noqa: RUF009

    def __post_init__(self) -> None:
        for name in ("loss", "duplication", "reordering"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.least_delay <= self.most_delay:
            raise ValueError(f"delays must be from 0 up, not {self.least_delay} to {self.most_delay}")
        if self.held_back < 1:
            raise ValueError(f"what is held back comes at least 1 millisecond later, not {self.held_back}")


class Network:
    """Decides what becomes of each datagram, in the order in which they are sent."""

    def __init__(self, faults: Faults, seed: str) -> None:
        self.sent = 0  #: datagrams put on the wire
        self.lost = 0  #: of them, those that the network lost
        self.cut_off = 0  #: those that a partition stopped
        self.duplicated = 0  #: those that it delivered twice
        self._faults: Final = faults
        self._seed: Final = seed
        self._at: dict[NodeId, tuple[float, float]] = {}  #: places on the map
        self._random: Final = Random(seed).random
        self._side: dict[NodeId, int] = {}

    @property
    def reorders(self) -> bool:
        """Whether some messages take longer than others of the same pair."""
        return self._faults.reordering > 0

    def cut(self, sides: Iterable[Iterable[NodeId]]) -> None:
        """From now on only nodes of one side hear each other; those that no side names are a side of their own."""
        self._side = {node: number for number, side in enumerate(sides, start=1) for node in side}

    def heal(self) -> None:
        """From now on all nodes hear each other. What was sent in between stays lost."""
        self._side = {}

    def fate(self, sender: NodeId, to: NodeId) -> tuple[Duration, ...]:
        """How long each copy of a datagram is under way; nothing if it never arrives."""
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
        """How many microseconds a message over a connection takes, one way; None if a partition stops it."""
        self.sent += 1
        if self._side.get(sender, 0) != self._side.get(to, 0):
            self.cut_off += 1
            return None
        faults, (x, y), (to_x, to_y) = self._faults, self._place(sender), self._place(to)
        far = hypot(x - to_x, y - to_y) / hypot(1, 1)
        micros = int(_MICROSECONDS * (faults.least_delay + far * (faults.most_delay - faults.least_delay)))
        if faults.reordering and self._random() < faults.reordering:
            micros += _MICROSECONDS * (1 + int(self._random() * faults.held_back))
        return micros

    def _place(self, node: NodeId) -> tuple[float, float]:
        place = self._at.get(node)
        if place is None:
            random = Random(f"{self._seed}/{node}").random
            place = self._at[node] = random(), random()
        return place

    def _delay(self) -> Duration:
        faults, random = self._faults, self._random
        delay = faults.least_delay + int(random() * (faults.most_delay - faults.least_delay + 1))
        if faults.reordering and random() < faults.reordering:
            delay += 1 + int(random() * faults.held_back)
        return Duration(delay)
