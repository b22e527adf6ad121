"""
What is proved of DistKV's tocks, of the whole step.

One node is looked at, in as many situations as it takes for everything that it sends to be sent; all tocks are symbols. How long
a message would be is left out: it says only into how many infos something is divided.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import Evaluated, Proof, Twin
from peerproof.conformance.proofs.rebinding import rebound
from peerproof.conformance.proofs.wendy_terms import choice, truth
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.distkv import Config, Info, Loaded, Phase, Ping, Recovery, SetValue, State, Update, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.entries import Entries, Entry
from peerproof.spec.distkv.messages import (
    FoundingDue,
    GreetingDue,
    InitialPingDue,
    OldDataDue,
    PingDue,
    RecoveryDue,
    RecoveryOver,
    RecoveryStep,
    RepairAllowed,
    RepairDue,
    Timer,
)
from peerproof.spec.distkv.paths import ROOT, path_of
from peerproof.spec.distkv.ranges import TICK_MAX, of_ticks
from peerproof.spec.distkv.values import value_of
from peerproof.spec.errors import NotEnabled

A, B, C = NodeId("a"), NodeId("b"), NodeId("c")
NOW: Final = Instant(0)
VALUE: Final = value_of("a value")

#: What the names that the step looks up mean here.
INSTEAD: Final = {"payload": lambda _: b""}

MINE: Final = Chain((Element(A, 2), Element(B, 1)))
TIMERS: Final[tuple[Timer, ...]] = (
    InitialPingDue(),
    FoundingDue(),
    OldDataDue(),
    PingDue(),
    GreetingDue(),
    *map(RecoveryDue, RecoveryStep),
    RecoveryOver(),
    RepairDue(),
    RepairAllowed(),
)


def any_tock(path: Path, name: str) -> Any:
    """Any tock."""
    return path.integer(name, 0, TICK_MAX)


def any_node(path: Path) -> State:
    """A ready node that recovers and has everything to do; one before its recovery; an old one; one that is to be the first."""
    tock, stored, pinged = any_tock(path, "tock"), any_tock(path, "the entry's tock"), any_tock(path, "tock of the last ping")
    path.know(stored <= tock, pinged <= tock)
    rows = Entries(Table({ROOT: Entry(MINE, VALUE, stored)}), Table({A: of_ticks((1, 2)), B: of_ticks((1,))}))
    ticks, timers, last = Table({A: 2, B: 3}), frozenset(TIMERS), Ping(MINE, pinged)
    kind = choice(path, "recovering, ready, old, empty", 4)
    if kind > 1:
        phase, config, has = (Phase.OLD, Config(), rows) if kind == 2 else (Phase.EMPTY, Config(root=VALUE), Entries())  # noqa: PLR2004
        return State(A, config, phase, tock, ticks, has, source=B, timers=timers)
    lost = bool(path.any_of("it has lost", z3.BoolSort()))
    recovery = None if kind else Recovery(MINE, frozenset((A, B)), lost, MINE)
    asked, wanted = Chain((Element(C, 0),)), Table({A: of_ticks((1, 2))})
    return State(A, Config(), Phase.READY, tock, ticks, rows, last, Table(), frozenset(), B, wanted, asked, recovery, timers)


def any_event(path: Path, tock: Term) -> Any:
    """Something that has this tock, if it is a message, or what was downloaded; or a timer, or a command."""
    me, you = Element(B, 4), Element(C, 0)
    messages = (
        Update(Chain((me,)), ROOT, VALUE, tock),
        Ping(Chain((me, *MINE.elements)), tock),
        Ping(Chain((me, you)), tock),
        Ping(Chain((you,)), tock),
        Ping(Chain((Element(A, 2),)), tock),
        Info(Chain((me,), cut=True), tock, ticks=Table({A: 2, B: 4}), reason=Chain((me,))),
        Info(Chain((me,), cut=True), tock, missing=Table({A: of_ticks((1, 2))})),
        Info(Chain((me,), cut=True), tock, known=Table({B: of_ticks((1, 2, 3))})),
    )
    events = (
        *(Received(NOW, message.chain.head.node, message) for message in messages),
        *(Expired(NOW, timer) for timer in TIMERS),
        Asked(NOW, SetValue(path_of(["x"]), VALUE)),
        Asked(NOW, Loaded(B, (Update(Chain((me,)), ROOT, VALUE, tock),), Table(), Table({B: 4}), tock)),
    )
    return events[choice(path, "what happens", len(events))]


def first(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:  # noqa: ARG001  # as of `Pick`
    """Chance that takes what comes first: it chooses moments only."""
    return tuple(among)[:some]


def tocks_rise(path: Path, *, repeated: bool = False) -> None:
    """
    A node's tock is at least all that it received and sent; so each message that it originates has a higher one.

    The step: whatever happens, tocks of messages that are new rise, from above the node's own and what was received, and the node
    ends with the highest. What is sent again is left out.
    """
    state, received = any_node(path), any_tock(path, "received")
    event = any_event(path, received)
    try:
        after, effects = rebound(transitions, **INSTEAD).step(state, event, first)
    except NotEnabled:
        path.claim("refused", truth(isinstance(event, Asked)))
        return

    highest = state.tock
    if isinstance(event, Received) or isinstance(getattr(event, "command", None), Loaded):
        highest = z3.If(received > highest, received, highest)
    old = [entry.tock for entry in state.entries.rows.values()]
    for message in (effect.message for effect in effects if isinstance(effect, Send)):
        if repeated or not (isinstance(message, Update) and any(message.tock is tock for tock in old)):
            path.claim("a higher tock", message.tock > highest)
            highest = message.tock
    path.claim("at least as high", after.tock >= highest)


TOCKS: Final = (
    Proof(
        ("DZ-03", "D-51", "D-52", "D-53", "D-54", "D-55", "DA-03", "DA-21", "DA-86", "DI-04"),
        tocks_rise,
        Evaluated(("distkv.transitions.step",), tuple(INSTEAD)),
        Twin("what is sent again counts as well (DX-02)", {"repeated": True}),
    ),
)
