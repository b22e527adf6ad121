"""Answers of `pick` that represent all others, for checks of a DistKV node's steps without its recorded answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from peerproof.spec.traces.relation import Answer, Question

#: Random choices of a moment -> the timer that is set to it.
_TIMERS: Final = {"ping.early": "ping_due", "ping.late": "ping_due", "repair.moment": "repair_due"}


def narrow(question: Question) -> Iterable[Answer] | None:
    """
    One moment, where there are thousands: it is visible in the timer that is set, and nowhere else. [DA-39, DA-62, DA-79]

    If timers were observed, it is the moment to which this timer was set last. The number 0 means early, any other one late.
    """
    if question.why not in _TIMERS:
        return None
    first, *others = question.among
    if question.effects is None:
        return [(first,)]
    after = list(_set(question.effects, _TIMERS[question.why]))
    if question.why == "ping.early":
        is_early = question.state.config.clock in after
        return [(first,), (others[0],)] if is_early and others else [(others[0] if others else first,)]
    return [(moment,) for moment in dict.fromkeys(after) if moment in question.among] or [(first,)]


def _set(effects: Iterable[Any], timer: str) -> Iterator[int]:
    """Yields the delays, in milliseconds, to which a timer is set."""
    for effect in effects:
        if "set_timer" in effect and effect["set_timer"]["timer"]["type"] == timer:
            yield int(effect["set_timer"]["after"])
