"""Mistakes about what a node says to who misses changes, and how it asks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, with_values

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Pick, Send, Step, Table
from peerproof.spec.distkv import entries, recovery
from peerproof.spec.distkv.entries import Answer
from peerproof.spec.distkv.messages import Info, RepairAllowed
from peerproof.spec.distkv.outgoing import send_info
from peerproof.spec.distkv.state import Phase, State

wrong = Variants(__name__, Wrong)
ANSWER = entries.answer
LOOK_FOR_REPAIR = recovery.look_for_repair


def answering(change: Callable[[Answer, Any, Any], Answer]) -> dict[str, Any]:
    """What is replaced to answer something else."""
    return around("recovery.answer", lambda right, stored, missing: change(right(stored, missing), stored, missing))


@wrong("step", "answers-what-it-knows-of-it answers-nothing-unknown")
def AnswersWithTheUnknown(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Names in known also what it has never seen."""
    message = getattr(event, "message", None)
    if isinstance(message, Info) and state.participates and message.chain.head.node != state.self_id:
        state = replace(state, entries=state.entries.mark_superseded(message.missing))
    return right(state, event, pick)


@wrong("recovery.on_known_due", "answers-with-both answers-in-order the-other-of-the-two-answers")
def KnownComesFirst(right: Any, state: State) -> Any:
    """Names what is superseded before it sends updates."""
    _, known, _ = ANSWER(state.entries, state.wanted)
    first = send_info(state, "known", known) if known else Step(state)
    after, effects = right(first.state)
    return Step(after, (*first.effects, *(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Info)))))


# How a node asks.


def repaired(look: Callable[[State, Pick], Next]) -> dict[str, Any]:
    """What is replaced to look otherwise for what is missing."""
    return {"transitions.look_for_repair": look}


def _not_allowed(state: State, ask: Callable[[State], Next]) -> Next:
    return ask(replace(state, timers=state.timers - {RepairAllowed()}))


wrong |= {
    # Names in known also what its updates have told.
    "AnswersWithWhatItKnows: answers-with-an-update answers-with-both answers-in-order": answering(
        lambda found, _, missing: found._replace(known=missing)
    ),
    # Names in known all that it has ever seen.
    "AnswersWithAllThatItKnows: answers-with-known answered-in-part answers-everybody": answering(
        lambda found, stored, _: found._replace(known=stored.known)
    ),
    # Names in known all that is superseded.
    "AnswersWithAllSuperseded: answers-with-known answers-everybody answers-with-an-update": answering(
        lambda found, stored, _: found._replace(known=stored.superseded())
    ),
    # Says nothing of what is superseded.
    "AnswersWithUpdatesOnly: answers-with-known answers-with-both a-split-with-many-changes": answering(
        lambda found, _stored, _missing: found._replace(known=Table())
    ),
    # Does not send what was deleted.
    "AnswersWithoutDeletions: answers-with-a-deletion answers-in-order": answering(
        lambda found, stored, _: found._replace(updates=tuple(u for u in found.updates if not stored.rows[u.path].is_deleted))
    ),
    # Answers nobody who is not on its chain.
    "AnswersTheChainOnly: answers-everybody": around(
        "recovery._on_missing",
        lambda right, state, info: (
            right(state, info) if state.last and state.last.chain.position(info.chain.head.node) is not None else Step(state)
        ),
    ),
    # Asks as often as something is missing.
    "AsksAllTheTime: not-again-for-ten-clocks asked-in-a-recovery-and-not-again": repaired(
        lambda state, pick: _not_allowed(state, lambda now: LOOK_FOR_REPAIR(now, pick))
    ),
    # Asks by chance in a recovery, too.
    "AsksInARecovery: no-repair-in-a-recovery a-split-stops-it": repaired(
        lambda state, pick: with_values(LOOK_FOR_REPAIR(replace(state, recovery=None), pick), recovery=state.recovery)
    ),
    # Asks although it has no data.
    "AsksWithoutData: passive-nodes-ask-nothing restart-without-data": repaired(
        lambda state, pick: with_values(LOOK_FOR_REPAIR(replace(state, phase=Phase.READY), pick), phase=state.phase)
    ),
}
__getattr__ = wrong.find
