"""Mistakes about what a node says to who misses changes, and how it asks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ON_MISSING, Next
from peerproof.spec.core import Pick, Send, Step, Table
from peerproof.spec.distkv import entries, recovery
from peerproof.spec.distkv.entries import Answer
from peerproof.spec.distkv.messages import Info, RepairAllowed
from peerproof.spec.distkv.outgoing import send_info
from peerproof.spec.distkv.state import Phase, State

ANSWER = entries.answer
LOOK_FOR_REPAIR = recovery.look_for_repair
ON_KNOWN_DUE = recovery.on_known_due


def answering(change: Callable[[Answer, Any, Any], Answer]) -> dict[str, Any]:
    """What is replaced to answer something else."""
    return {"recovery.answer": lambda stored, missing: change(ANSWER(stored, missing), stored, missing)}


class AnswersWithTheUnknown(Wrong):
    """Names in known also what it has never seen."""

    caught_by: ClassVar = ("answers-what-it-knows-of-it", "answers-nothing-unknown")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if it was superseded."""
        message = getattr(event, "message", None)
        if isinstance(message, Info) and state.participates and message.chain.head.node != state.self_id:
            state = replace(state, entries=state.entries.mark_superseded(message.missing))
        return super().step(state, event, pick)


def _known_first(state: State) -> Next:
    _, known, _ = ANSWER(state.entries, state.wanted)
    first = send_info(state, "known", known) if known else Step(state)
    after, effects = ON_KNOWN_DUE(first.state)
    return Step(after, (*first.effects, *(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Info)))))


def _in_its_recovery(before: State, step: Next) -> Next:
    return Step(replace(step.state, recovery=before.recovery), step.effects)


def _in_its_phase(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


def _keeping_what_was_wanted(state: State) -> Next:
    after, effects = ON_KNOWN_DUE(state)
    return Step(replace(after, wanted=state.wanted), effects)


# How a node asks.


def repaired(look: Callable[[State, Pick], Next]) -> dict[str, Any]:
    """What is replaced to look otherwise for what is missing."""
    return {"transitions.look_for_repair": look}


def _not_allowed(state: State, ask: Callable[[State], Next]) -> Next:
    return ask(replace(state, timers=state.timers - {RepairAllowed()}))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AnswersWithWhatItKnows": (
            "Names in known also what its updates have told.",
            answering(lambda found, _, missing: found._replace(known=missing)),
            "answers-with-an-update answers-with-both answers-in-order",
        ),
        "AnswersWithAllThatItKnows": (
            "Names in known all that it has ever seen.",
            answering(lambda found, stored, _: found._replace(known=stored.known)),
            "answers-with-known answered-in-part answers-everybody",
        ),
        "AnswersWithAllSuperseded": (
            "Names in known all that is superseded.",
            answering(lambda found, stored, _: found._replace(known=stored.superseded())),
            "answers-with-known answers-everybody answers-with-an-update",
        ),
        "AnswersWithUpdatesOnly": (
            "Says nothing of what is superseded.",
            answering(lambda found, _stored, _missing: found._replace(known=Table())),
            "answers-with-known answers-with-both a-split-with-many-changes",
        ),
        "AnswersWithoutDeletions": (
            "Does not send what was deleted.",
            answering(
                lambda found, stored, _: found._replace(
                    updates=tuple(u for u in found.updates if not stored.rows[u.path].is_deleted)
                )
            ),
            "answers-with-a-deletion answers-in-order",
        ),
        "KnownComesFirst": (
            "Names what is superseded before it sends updates.",
            {"recovery.on_known_due": _known_first},
            "answers-with-both answers-in-order the-other-of-the-two-answers",
        ),
        "AnswersTheChainOnly": (
            "Answers nobody who is not on its chain.",
            {
                "recovery._on_missing": lambda state, info: (
                    ON_MISSING(state, info)
                    if state.last and state.last.chain.position(info.chain.head.node) is not None
                    else Step(state)
                )
            },
            "answers-everybody",
        ),
        "AnswersAgain": (
            "Does not forget what it has answered.",
            {"transitions.on_known_due": _keeping_what_was_wanted},
            "asked-later",
        ),
        "AsksAllTheTime": (
            "Asks as often as something is missing.",
            repaired(lambda state, pick: _not_allowed(state, lambda now: LOOK_FOR_REPAIR(now, pick))),
            "not-again-for-ten-clocks asked-in-a-recovery-and-not-again",
        ),
        "AsksInARecovery": (
            "Asks by chance in a recovery, too.",
            repaired(lambda state, pick: _in_its_recovery(state, LOOK_FOR_REPAIR(replace(state, recovery=None), pick))),
            "no-repair-in-a-recovery a-split-stops-it",
        ),
        "AsksWithoutData": (
            "Asks although it has no data.",
            repaired(lambda state, pick: _in_its_phase(state, LOOK_FOR_REPAIR(replace(state, phase=Phase.READY), pick))),
            "passive-nodes-ask-nothing restart-without-data",
        ),
    },
)
__getattr__ = MISTAKES.find
