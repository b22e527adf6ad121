"""Other readings of DistKV's document for a node that starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Duration, NodeId, Notify, SetTimer, Step
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Entries
from peerproof.spec.distkv.forms import LOADED
from peerproof.spec.distkv.messages import FoundingDue, GreetingDue, NeedsDownload, OldDataDue, Update
from peerproof.spec.distkv.outgoing import Next, send_info
from peerproof.spec.distkv.recovery import _on_missing, greet, on_greeting_due
from peerproof.spec.distkv.state import Config, Phase, State, download_of, updates_of
from peerproof.spec.forms.form import Plain

READINGS: Final = Readings()


def _take_part(doing: Callable[[State, Any], Next]) -> Callable[[State, Any], Next]:
    """Returns a handler of participating nodes that also applies to a node with old data."""

    def do(state: State, about: Any) -> Next:
        if state.phase is not Phase.OLD:
            return doing(state, about)
        after = doing(replace(state, phase=Phase.SETTLING), about)
        return after._replace(state=replace(after.state, phase=Phase.OLD))

    return do


READINGS.add(
    "DA-42",
    "without-data-only",
    "Passive are nodes without data; one with old data answers newcomers and questions.",
    instead={"recovery.greet": _take_part(greet), "recovery._on_missing": _take_part(_on_missing)},
)


@READINGS.register("DA-43", "everybody", "recovery.greet")
def _greet_at_once(state: State, newcomer: Chain) -> Next:
    """Each node on the chain answers a start-up ping, and at once."""
    if not state.participates or state.last is None or state.position(state.last.chain) is None:
        return Step(state)
    return on_greeting_due(replace(state, newcomer=newcomer))


@READINGS.register("DA-43", "with-known", "recovery.on_greeting_due")
def _greet_with_known(state: State) -> Next:
    """A start-up ping is answered with `known`, whose chain refers to the ping."""
    return send_info(replace(state, newcomer=None), "known", state.entries.known, state.newcomer)


@READINGS.register("DA-68", "another-moment", "recovery.greet", is_open=True)
def _greet_each(state: State, newcomer: Chain) -> Next:
    """It is left open when a node answers a start-up ping while its answer to another one is still to come."""
    if GreetingDue() not in state.timers:
        return greet(state, newcomer)
    answered = on_greeting_due(replace(state, newcomer=newcomer))
    return answered._replace(state=replace(answered.state, newcomer=state.newcomer))


def _set_otherwise(timer: Any, quarters: int) -> Callable[..., Next]:
    """Returns a start that sets a timer to this many quarters of a clock."""

    def initial(right: Callable[..., Next], self_id: NodeId, config: Config) -> Next:
        after = right(self_id, config)
        effects = tuple(
            SetTimer(timer, Duration(quarters * config.clock // 4))
            if isinstance(effect, SetTimer) and effect.timer == timer
            else effect
            for effect in after.effects
        )
        return after._replace(effects=effects)

    return initial


READINGS.add(
    "DA-51",
    "sooner",
    "A node with old data waits for a shorter time to hear of a chain: a clock.",
    initial=_set_otherwise(OldDataDue(), 4),
)
READINGS.add(
    "DA-51",
    "later",
    "A node with old data waits for a longer time to hear of a chain: six clocks.",
    initial=_set_otherwise(OldDataDue(), 24),
)


@READINGS.register("DA-51", "any-order", "startup.updates_of", is_open=True)
def _send_in_another_order(entries: Entries) -> tuple[Update, ...]:
    """Old data is sent in any order."""
    return tuple(reversed(updates_of(entries)))


def _show_own_tick(state: State) -> int:
    return state.own_tick


READINGS.add(
    "DA-60",
    "what-it-has-learnt",
    "A node that is empty shows the tick that it has learnt.",
    instead={"state.State.message_tick": property(_show_own_tick)},
)


@READINGS.register("DA-70", "any-node", "election.try_next", is_open=True)
def _try_the_oldest(state: State) -> Next:
    """It is left open from which node of the chain is downloaded."""
    elements = () if state.last is None else state.last.chain.elements
    tried = {state.self_id, *state.tried}
    source = next((node for node, tick in reversed(elements) if tick and node not in tried), None)
    if source is None:
        return Step(replace(state, source=None))
    return Step(replace(state, source=source, tried=state.tried | {source}), (Notify(NeedsDownload(source)),))


def _give_when_ready(state: State) -> Plain:
    loaded = download_of(state) if state.phase is Phase.READY else None
    return None if loaded is None else LOADED.plain(loaded)


READINGS.add("DA-71", "when-ready", "A download is given by nodes that are ready.", queries={"download": _give_when_ready})
READINGS.add(
    "DA-72",
    "sooner",
    "The first node founds its network sooner than others send their first message.",
    initial=_set_otherwise(FoundingDue(), 1),
)
READINGS.add(
    "DA-72",
    "later",
    "The first node founds its network later than others send their first message.",
    initial=_set_otherwise(FoundingDue(), 12),
)
READINGS.add(
    "DA-73",
    "silent",
    "A node that was away sends nothing about itself after a download.",
    instead={"startup.tell_ticks": lambda state, *_: Step(state)},
)
