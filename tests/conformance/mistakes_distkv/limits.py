"""Mistakes about sizes, and about how many names are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.wrong_distkv import Next, Wrong

from peerproof.spec.core import EVERYBODY, Notify, Pick, Received, Send, Step, Table
from peerproof.spec.distkv import outgoing, transitions
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.messages import Fault, FaultKind, Info, Update
from peerproof.spec.distkv.state import State

FILLED = outgoing._fit_pieces
HAS_ROOM = transitions.has_room
SEND_INFO = outgoing.send_info


class SendsInfosOfAnySize(Wrong):
    """Does not divide an info."""

    caught_by: ClassVar = ("ticks-divided", "known-divided", "missing-divided", "prev-left-out")
    instead: ClassVar = {"outgoing._fits": lambda _state, _info: True}


class SendsTheBeginning(Wrong):
    """Sends what fits into one info, and nothing more."""

    caught_by: ClassVar = ("ticks-divided", "known-divided", "missing-divided")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With the first info only."""
        after, effects = super().step(state, event, pick)
        infos = [effect for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Info)]
        return Step(after, tuple(effect for effect in effects if effect not in infos[1:]))


class DividesByNode(Wrong):
    """Does not divide the ranges of a node."""

    caught_by: ClassVar = ("known-divided", "missing-divided")
    instead: ClassVar = {"outgoing._pieces": lambda rows: list(rows.items())}


def _half(state: State, what: str, pieces: Any, beside: Any) -> Any:
    count, chains = FILLED(state, what, pieces, beside)
    while count < len(pieces) and count & (count - 1):
        count -= 1  # to the next power of two
    return count, chains


class HalvesWhatDoesNotFit(Wrong):
    """Divides into halves until they fit."""

    caught_by: ClassVar = ("ticks-divided", "known-divided", "missing-divided")

    instead: ClassVar = {"outgoing._fit_pieces": _half}


class RepeatsPrevAndReason(Wrong):
    """Gives prev and reason in each of the infos."""

    caught_by: ClassVar = ("ticks-divided", "prev-and-reason-in-the-first", "ticks-divided-as-configured")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With the chains of the first."""
        after, effects = super().step(state, event, pick)
        infos = [effect.message for effect in effects if isinstance(effect, Send) and isinstance(effect.message, Info)]
        shown = {info: replace(info, chain=infos[0].chain, reason=infos[0].reason) if info.ticks else info for info in infos}
        return Step(
            after,
            tuple(Send(e.to, shown[e.message]) if isinstance(e, Send) and isinstance(e.message, Info) else e for e in effects),
        )


def _without_prev(state: State, what: str, rows: Any, prev: Any = None, reason: Any = None) -> Next:
    many = len(outgoing._pieces(rows)) > 30  # so many may have to be divided
    return SEND_INFO(state, what, rows, None if many else prev, reason)


class LeavesPrevOutWhenDividing(Wrong):
    """Leaves prev out of what it divides."""

    caught_by: ClassVar = ("ticks-divided", "prev-and-reason-in-the-first")
    instead: ClassVar = {"recovery.send_info": _without_prev}


class LeavesTheReasonOutFirst(Wrong):
    """Leaves the reason out before prev."""

    caught_by: ClassVar = ("prev-left-out",)
    instead: ClassVar = {
        "outgoing._fit_pieces": lambda state, what, pieces, beside: FILLED(
            state, what, pieces, [(prev, reason) for prev, reason in _the_other_way_round(list(beside))]
        )
    }


def _the_other_way_round(beside: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    (prev, reason), *_ = beside
    return [(prev, reason), (prev, None), (None, None)]


class SilentAboutWhatIsTooLarge(Wrong):
    """Does not say that a stored change cannot be sent."""

    caught_by: ClassVar = ("stored-change-too-large", "old-data-too-large")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that fault."""
        after, effects = super().step(state, event, pick)
        return Step(after, tuple(effect for effect in effects if effect != Notify(Fault(FaultKind.TOO_LARGE))))


class SendsStoredChangesOfAnySize(Wrong):
    """Sends a stored change again although it does not fit."""

    caught_by: ClassVar = ("stored-change-too-large", "old-data-too-large")
    instead: ClassVar = {
        name: lambda state, updates: Step(state, tuple(Send(EVERYBODY, update) for update in updates))
        for name in ("recovery.send_again", "startup.send_again")
    }


class DropsWhatIsTooLarge(Wrong):
    """Takes no update that it could not send."""

    caught_by: ClassVar = ("received-changes-may-be-larger",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Or nothing."""
        message = getattr(event, "message", None)
        if isinstance(event, Received) and isinstance(message, Update) and len(payload(message)) > state.config.max_payload:
            return Step(state)
        return super().step(state, event, pick)


class KeepsAnyNames(Wrong):
    """Keeps as many names as there are."""

    caught_by: ClassVar = ("names-that-are-kept", "names-in-missing", "names-in-a-chain")
    instead: ClassVar = {"transitions.has_room": lambda _state, _message, _ticks: True}


class KeepsFewerNames(Wrong):
    """Keeps one name less."""

    caught_by: ClassVar = ("names-that-are-kept",)
    instead: ClassVar = {"transitions.NAMES_MAX": 4095}


class CountsTicksOnly(Wrong):
    """Does not count names that come without a tick."""

    caught_by: ClassVar = ("names-in-missing", "names-in-a-chain")
    instead: ClassVar = {
        "transitions.has_room": lambda state, message, ticks: (
            not set(ticks) - state.ticks.keys()
            or HAS_ROOM(state, replace(message, missing=Table()) if isinstance(message, Info) else message, ticks)
        )
    }
