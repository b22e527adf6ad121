"""
The driver: what a specification leaves out, for one node.

It holds the node's state, feeds events to `step` and performs what `step` wants done. Timers are kept here as data; who
owns the clock (a socket's event loop, the simulator, the runner behind a harness) asks when the next one is due and says
when it is. So one driver serves real time, virtual time and somebody else's time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from random import Random
from typing import Any, Final, Protocol

from peerproof.reference.runtime.recorder import Recorder
from peerproof.spec import core
from peerproof.spec.core import Instant, NodeId, Option, Pick, Specification
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import Taken
from peerproof.spec.traces.trace import recording

Observer = Callable[[Taken], None]

#: Puts a node's new state where the node finds it after a crash. What it raises goes to whoever told the node of the event.
Keep = Callable[[Any], None]


class Environment(Protocol):
    """What surrounds a node: a clock, a network, and an application that is told things."""

    def now(self) -> Instant:
        """The time on the node's clock, which never goes back."""

    def send(self, to: NodeId, message: Any) -> None:
        """
        Put one message on the wire. Never raises: a message that cannot be sent is a message that is lost.

        Where the transport can tell what has become of it, `Driver.finish_send` is told, later.
        """

    def notify(self, notice: Any) -> None:
        """Tell the application."""


class Driver:
    """One running node."""

    def __init__(
        self,
        specification: Specification,
        self_id: NodeId,
        environment: Environment,
        pick: Pick,
        *,
        recorder: Recorder | None = None,
        observe: Observer | None = None,
        keep: Keep | None = None,
    ) -> None:
        """`keep` is called after each step, before any of its effects; if it raises, the step has not been taken. [DA-81]"""
        self.self_id = self_id
        self.state: Any = None
        self._specification: Final = specification
        self._environment: Final = environment
        self._pick: Final = pick
        self._recorder: Final = recorder
        self._observe: Final = observe
        self._keep: Final = keep
        self._timers: dict[Any, tuple[Instant, int]] = {}
        self._order = 0

    def start(self, config: Any) -> None:
        """Become a fresh node. Raises NotEnabled if there can be no such node."""
        step = self._specification.initial(self.self_id, config)
        if self._keep:
            self._keep(step.state)
        self.state = step.state
        if self._recorder:
            self._recorder.record_start(self.self_id, self._environment.now(), config, step)
        self._perform(step.effects)

    def load(self, state: Any, timers: Iterable[tuple[Any, Instant]]) -> None:
        """Become a node in this state, with these timers running until then and no others."""
        self.state = state
        self._timers = {timer: (due, order) for order, (timer, due) in enumerate(timers, start=1)}
        self._order = len(self._timers)

    def datagram(self, sender: NodeId, data: bytes) -> None:
        """Bytes came in. Raises MalformedMessage if they are no message; the node then has not noticed anything."""
        self.receive(sender, self._specification.MESSAGE.decode(data))

    def receive(self, sender: NodeId, message: Any) -> None:
        """A message came in."""
        self._take(core.Received(self._environment.now(), sender, message))

    def finish_send(self, to: NodeId, message: Any, took: int | None) -> None:
        """A message was confirmed after so many microseconds, or was not: told once of each over connections, after `send`."""
        self._take(core.Sent(self._environment.now(), to, message, took))

    def ask(self, command: Any) -> None:
        """The application wants something. Raises NotEnabled if the node refuses; it then has not changed."""
        self._take(core.Asked(self._environment.now(), command))

    def next_timer(self) -> Instant | None:
        """When the next timer is due, if any is running."""
        return min(self._timers.values())[0] if self._timers else None

    def expire_next(self) -> None:
        """The next timer has run out; of several that are due together, the one that was set first."""
        timer = min(self._timers, key=self._timers.__getitem__)
        del self._timers[timer]
        self._take(core.Expired(self._environment.now(), timer))

    def _take(self, event: Any) -> None:
        before = self.state
        pick, answers = recording(self._pick) if self._recorder else (self._pick, [])
        try:
            step = self._specification.step(before, event, pick)
        except NotEnabled as refusal:
            if self._recorder:
                self._recorder.record_step(self.self_id, event, answers, core.Step(before), refusal.reason)
            raise
        if self._keep:
            self._keep(step.state)
        self.state = step.state
        if self._recorder:
            self._recorder.record_step(self.self_id, event, answers, step, None)
        self._perform(step.effects)
        if self._observe:
            self._observe(Taken(before, event, step.state, step.effects))

    def _perform(self, effects: tuple[Any, ...]) -> None:
        for effect in effects:
            match effect:
                case core.Send(to, message):
                    self._environment.send(to, message)
                case core.Notify(notice):
                    self._environment.notify(notice)
                case core.SetTimer(timer, after):
                    self._order += 1
                    self._timers[timer] = (Instant(self._environment.now() + after), self._order)
                case core.CancelTimer(timer):
                    self._timers.pop(timer, None)
                case _:
                    raise TypeError(f"{effect!r} is no effect that this driver can perform")


#: Where no more than one in so many are picked, drawing again what has been drawn already is quicker than a number for each.
FEW: Final = 16


def random_pick(seed: str) -> Pick:
    """A pick whose answers follow from the seed, by `Random.random` alone: Python promises to keep its numbers."""
    random = Random(seed).random

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # noqa: ARG001  # the reason is for others
        options = sorted(among)
        if some == 1 and options:
            return (options[int(random() * len(options))],)
        if some * FEW > len(options):
            keys = [random() for _ in options]
            return tuple([option for _, option in sorted(zip(keys, options, strict=True))[:some]])
        places: dict[int, None] = {}  # in the order in which they came
        while len(places) < some:
            places[int(random() * len(options))] = None
        return tuple([options[place] for place in places])

    return pick
