"""
The driver: runs one node of a specification.

It holds the node's state, feeds events to `step` and performs the effects that `step` returns. Timers are kept here as data: the
owner of the clock (a socket's event loop, the simulator, the runner behind a harness) asks when the next one is due and calls
`expire_next` then. So the same driver works in real time, in virtual time and under a runner's clock.
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

#: Saves a node's new state, to be restored after a crash. Its exceptions are passed on to the caller of the driver.
Keep = Callable[[Any], None]


class Environment(Protocol):
    """The environment of a node: its clock, its network and its application."""

    def now(self) -> Instant:
        """Returns the time on the node's clock, which never goes back."""

    def send(self, to: NodeId, message: Any) -> None:
        """
        Sends one message. Never raises: a message that cannot be sent is lost.

        A transport that detects delivery reports the outcome later, to `Driver.finish_send`.
        """

    def notify(self, notice: Any) -> None:
        """Notifies the application."""


class Driver:
    """A running node."""

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
        """`keep` is called after each step, before any of its effects; if it raises, the step is not taken. [DA-81]"""
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
        """Starts a fresh node. Raises NotEnabled if the configuration is not allowed."""
        step = self._specification.initial(self.self_id, config)
        if self._keep:
            self._keep(step.state)
        self.state = step.state
        if self._recorder:
            self._recorder.record_start(self.self_id, self._environment.now(), config, step)
        self._perform(step.effects)

    def load(self, state: Any, timers: Iterable[tuple[Any, Instant]]) -> None:
        """Replaces the state and the timers; each timer comes with the time at which it is due."""
        self.state = state
        self._timers = {timer: (due, order) for order, (timer, due) in enumerate(timers, start=1)}
        self._order = len(self._timers)

    def datagram(self, sender: NodeId, data: bytes) -> None:
        """Handles received bytes. Raises MalformedMessage if they are no message; the state is unchanged then."""
        self.receive(sender, self._specification.MESSAGE.decode(data))

    def receive(self, sender: NodeId, message: Any) -> None:
        """Handles a received message."""
        self._take(core.Received(self._environment.now(), sender, message))

    def finish_send(self, to: NodeId, message: Any, took: int | None) -> None:
        """
        Handles the outcome of a send: confirmed after `took` microseconds, or failed (None).

        Over connections this is called once for each message, after `send`.
        """
        self._take(core.Sent(self._environment.now(), to, message, took))

    def ask(self, command: Any) -> None:
        """Executes a command of the application. Raises NotEnabled if the node refuses it; the state is unchanged then."""
        self._take(core.Asked(self._environment.now(), command))

    def next_timer(self) -> Instant | None:
        """Returns when the next timer is due; None if no timer runs."""
        return min(self._timers.values())[0] if self._timers else None

    def expire_next(self) -> None:
        """Expires the next timer; of several that are due at the same time, the one that was set first."""
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
                    raise TypeError(f"the driver cannot perform the effect {effect!r}")


#: If at most one option in `FEW` is picked, rejecting repeated indices is faster than a random key for each option.
FEW: Final = 16


def random_pick(seed: str) -> Pick:
    """
    Returns a pick with a random generator of this seed.

    It uses `Random.random` only: Python guarantees that its sequence stays the same between versions.
    """
    random = Random(seed).random

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:  # noqa: ARG001  # other picks use `why`
        options = among if isinstance(among, tuple) else sorted(among)  # a tuple is in order, as `Pick` asks
        if some == 1 and options:
            return (options[int(random() * len(options))],)
        if some * FEW > len(options):
            keys = [random() for _ in options]
            return tuple([options[index] for index in sorted(range(len(options)), key=keys.__getitem__)[:some]])
        indices: dict[int, None] = {}  # a set in insertion order
        while len(indices) < some:
            indices[int(random() * len(options))] = None
        return tuple([options[index] for index in indices])

    return pick
