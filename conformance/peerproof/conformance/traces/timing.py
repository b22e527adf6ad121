"""
One node's clock and timers: does time go on, and does a timer run out when it should?

A clock that jumps is a fault of the log. A timer that was set by the node itself and runs out early, or one that it never set,
is its own fault. How late a timer may be depends on the machine, so only what no machine explains is told, as a jump.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from peerproof.conformance.traces.events import canonical_json
from peerproof.conformance.traces.findings import Finding
from peerproof.conformance.traces.rows import Ref, Rows
from peerproof.spec.forms.json_text import remembering

#: Microseconds by which a timer may be early: clocks are read in milliseconds, and event loops round.
EARLY: Final = 50_000

#: Microseconds by which a timer may be late.
LATE: Final = 60_000_000

JUMPED, TOO_EARLY, NEVER_SET = "ClockJumps", "TimerIsEarly", "TimerIsSet"

_MILLISECOND: Final = 1000

# A quote within a string of JSON is written with an escape, so that this is no part of one.
_SET: Final = re.compile(r'\{"set_timer":\{"timer":(\{[^{}]*\}),"after":(\d+)\}\}|\{"cancel_timer":\{"timer":(\{[^{}]*\})\}\}')
_HINT: Final = '_timer":{'
_BEFORE: Final = len('{"cancel')

#: Rounds end alike, so that few tails are different.
_set_in: Final = remembering(_SET.findall)

#: A timer, whatever the order of its members.
_key: Final = remembering(lambda text: canonical_json(json.loads(text)))


class Timing:
    """The clock and the timers of one node."""

    def __init__(self) -> None:
        self._now: int | None = None
        self._due: dict[str, int] = {}  #: timers that run, by their JSON
        self._is_known = False  #: which timers run

    def lose(self) -> None:
        """Which timers run is not known any more, up to the next start."""
        self._is_known = False

    def take(self, rows: Rows, begin: int, end: int) -> Iterator[Finding]:
        """The next events."""
        times = rows.times[begin:end]
        if (self._now is None or times[0] >= self._now) and times == sorted(times):
            self._now = times[-1]
        else:
            yield from self._backwards(rows, begin, times)
        if rows.is_null("effects"):
            return
        effects, kinds = rows.column("effects"), rows.kinds
        for index in range(begin, end):
            at = effects[index].find(_HINT)
            if at >= 0 or kinds[index] in ("timer", "start"):
                tail = effects[index][max(0, at - _BEFORE) :] if at >= 0 else ""
                yield from self._timers(rows, index, kinds[index], tail)

    def _backwards(self, rows: Rows, begin: int, times: list[int]) -> Iterator[Finding]:
        for index, now in enumerate(times, begin):
            before, self._now = self._now, now
            if before is not None and now < before:
                self._shift_timers(now - before)
                message = f"the clock goes back by {before - now:,} microseconds"
                yield Finding("log", JUMPED, message, Ref(rows, index), expected={"at least": before}, actual=now)

    def _timers(self, rows: Rows, index: int, kind: str, tail: str) -> Iterator[Finding]:
        """An event with a timer; of its effects the tail from the first of a timer on."""
        now = rows.times[index]
        if kind == "start":
            self._due, self._is_known = {}, True
        if not self._is_known:
            return
        if kind == "timer":
            yield from self._ran_out(rows, index, now)
        found = _set_in(tail)
        if len(found) < tail.count(_HINT):  # written in another order, or with inner objects: then nobody is held to them
            self.lose()
        for timer, after, cancelled in found:
            if timer:
                self._due[_key(timer)] = now + int(after) * _MILLISECOND
            else:
                self._due.pop(_key(cancelled), None)

    def _ran_out(self, rows: Rows, index: int, now: int) -> Iterator[Finding]:
        ref = Ref(rows, index)
        timer = _key(rows.column("args")[index])
        due = self._due.pop(timer, None)
        if due is None:
            yield Finding("rejected", NEVER_SET, f"the timer {timer} runs out, which was not set", ref)
        elif now < due - EARLY:
            message = f"the timer {timer} runs out {(due - now) / 1000:,.0f} milliseconds early"
            yield Finding("rejected", TOO_EARLY, message, ref, expected={"at least": due}, actual=now)
        elif now > due + LATE:
            self._shift_timers(now - due)
            late = f"{(now - due) / 1_000_000:,.0f} seconds late"
            message = f"the timer {timer} runs out {late}: the clock jumps, or the node stood still"
            yield Finding("log", JUMPED, message, ref, expected=due, actual=now)

    def _shift_timers(self, by: int) -> None:
        self._due = {timer: due + by for timer, due in self._due.items()}
