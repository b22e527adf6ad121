"""
One node's log: its events by their numbers, its clock and its timers.

Lines may be lost, duplicated or reordered. Sorted rows need not arrive sorted, so the order is checked here. Faults of the log,
such as a clock that jumps, are not faults of the protocol. A timer that the node set and that runs out early, or one that it
never set, is a fault of the node. How late a timer may be depends on the machine, so only a delay that no machine explains is
reported, as a jump.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from operator import lt
from typing import Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import Event, Ref, Rows, canonical_json
from peerproof.conformance.traces.findings import Finding
from peerproof.spec.forms.json_text import remembering

#: After this many events a missing event counts as lost, and a duplicate is not compared any more.
WINDOW: Final = 16

LOST, DOUBLED, RENUMBERED, SWAPPED = "LostLine", "DoubledLine", "TwoLinesOfOneNumber", "SwappedLine"


class Fault(NamedTuple):
    """A fault of the log at an event."""

    ref: Ref
    name: str
    message: str
    lost: int = 0  #: number of events that are missing before this one


Item: TypeAlias = Ref | Fault


class LogOrder:
    """Puts the events of one node into the order of their numbers."""

    def __init__(self) -> None:
        self.expected: int | None = None  #: the number of the next event
        self._recent: Final[deque[Ref]] = deque(maxlen=WINDOW)
        self._waiting: Final[dict[int, Ref]] = {}
        self._place: tuple[str | None, int] = (None, -1)  #: file and offset of the last event

    def is_clean(self, rows: Rows) -> bool:
        """Returns True if these rows are exactly the next ones, in order; then pass them to `take_clean`."""
        first = rows.seqs[0]
        if self._waiting or (self.expected is not None and first != self.expected):
            return False
        if rows.seqs != list(range(first, first + len(rows))):
            return False
        if not rows.is_set("src_off"):
            return True
        offsets = rows.offsets
        if offsets is None or not all(map(lt, offsets, offsets[1:])):
            return False
        return self._place[0] is None or self._place[0] != rows.event(0).src_file or offsets[0] > self._place[1]

    def take_clean(self, rows: Rows) -> None:
        """Takes rows for which `is_clean` is True."""
        last = len(rows) - 1
        self._recent.extend(Ref(rows, index) for index in range(max(0, last - WINDOW + 1), last + 1))
        self.expected = rows.seqs[last] + 1
        if rows.offsets is not None:
            self._place = rows.event(last).src_file, rows.offsets[last]

    def take(self, ref: Ref) -> Iterator[Item]:
        """Takes one event that may be out of order, and yields the events that are now in order."""
        seq = ref.rows.seqs[ref.at]
        if self.expected is None:
            self.expected = seq
        if seq < self.expected:
            yield self._again(ref, seq)
        elif seq > self.expected:
            if seq in self._waiting:
                yield self._duplicate_fault(ref, self._waiting[seq])
            else:
                self._waiting[seq] = ref
                if len(self._waiting) > WINDOW:
                    yield from self._give_up()
        else:
            event = ref.event
            if self._waiting or (event.src_file == self._place[0] is not None and (event.src_off or 0) < self._place[1]):
                yield Fault(ref, SWAPPED, f"event {seq} is out of place in the log; it was put in order")
            yield self._in_order(ref, event)
            yield from self._release()

    def end(self) -> Iterator[Item]:
        """Finishes after the last event and yields the events that still wait."""
        while self._waiting:
            yield from self._give_up()

    def _in_order(self, ref: Ref, event: Event) -> Ref:
        self._recent.append(ref)
        self.expected = event.seq + 1
        self._place = event.src_file, -1 if event.src_off is None else event.src_off
        return ref

    def _release(self) -> Iterator[Item]:
        while (ref := self._waiting.pop(self.expected or 0, None)) is not None:
            yield self._in_order(ref, ref.event)

    def _give_up(self) -> Iterator[Item]:
        """Gives up the events that are missing before the first waiting one."""
        first = min(self._waiting)
        lost = first - (self.expected or 0)
        which = f"event {self.expected} is" if lost == 1 else f"events {self.expected} to {first - 1} are"
        message = f"{which} missing in the log; nothing is checked from there to the next start"
        yield Fault(self._waiting[first], LOST, message, lost)
        self.expected = first
        yield from self._release()

    def _again(self, ref: Ref, seq: int) -> Fault:
        before = next((other for other in self._recent if other.rows.seqs[other.at] == seq), None)
        if before is None:
            message = f"a line with the number {seq} comes where event {self.expected} is expected; it is ignored"
            return Fault(ref, RENUMBERED, message)
        return self._duplicate_fault(ref, before)

    def _duplicate_fault(self, ref: Ref, before: Ref) -> Fault:
        event, other = ref.event, before.event
        if event[:-2] == other[:-2]:
            return Fault(ref, DOUBLED, f"event {event.seq} is in the log twice; the second is ignored")
        message = f"two lines of the log have the number {event.seq}; the second is ignored"
        if event.kind == "start":
            message += ". If these are the logs of two processes, give each a run of its own"
        return Fault(ref, RENUMBERED, message)


#: Microseconds by which a timer may be early: clocks are read in milliseconds, and event loops round.
EARLY: Final = 50_000

#: Microseconds by which an event may be older than the one before it: a capture takes the packets of several sockets
#: from several processors, which puts neighbours out of order by a few microseconds. No clock was set back.
UNORDERED: Final = 1_000

#: Microseconds by which a timer may be late.
LATE: Final = 60_000_000

JUMPED, TOO_EARLY, NEVER_SET = "ClockJumps", "TimerIsEarly", "TimerIsSet"

_MILLISECOND: Final = 1000

# A quote within a JSON string is escaped, so this pattern never matches inside a string.
_SET: Final = re.compile(r'\{"set_timer":\{"timer":(\{[^{}]*\}),"after":(\d+)\}\}|\{"cancel_timer":\{"timer":(\{[^{}]*\})\}\}')
_HINT: Final = '_timer":{'
_BEFORE: Final = len('{"cancel')

#: Cached, because rounds end alike and few tails are different.
_set_in: Final = remembering(_SET.findall)

#: The canonical text of a timer, independent of the order of its members.
_key: Final = remembering(lambda text: canonical_json(json.loads(text)))


class Timing:
    """The clock and the timers of one node."""

    def __init__(self) -> None:
        self._now: int | None = None
        self._due: dict[str, int] = {}  #: running timers by their JSON, with the due time in microseconds
        self._is_known = False  #: the running timers are known

    def lose(self) -> None:
        """Forgets the running timers up to the next start."""
        self._is_known = False

    def take(self, rows: Rows, begin: int, end: int) -> Iterator[Finding]:
        """Checks the next events and yields the findings."""
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
            if before is None or now >= before:
                continue
            if before - now < UNORDERED:
                self._now = before
            else:
                self._shift_timers(now - before)
                message = f"the clock goes back by {before - now:,} microseconds"
                yield Finding("log", JUMPED, message, Ref(rows, index), expected={"at least": before}, actual=now)

    def _timers(self, rows: Rows, index: int, kind: str, tail: str) -> Iterator[Finding]:
        """Checks an event with a timer; `tail` is its effects from the first one with a timer on."""
        now = rows.times[index]
        if kind == "start":
            self._due, self._is_known = {}, True
        if not self._is_known:
            return
        if kind == "timer":
            yield from self._ran_out(rows, index, now)
        found = _set_in(tail)
        if len(found) < tail.count(_HINT):  # in another member order, or with inner objects: these timers are not checked
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
            yield Finding("violates", NEVER_SET, f"the timer {timer} runs out but was not set", ref)
        elif now < due - EARLY:
            message = f"the timer {timer} runs out {(due - now) / 1000:,.0f} milliseconds early"
            yield Finding("violates", TOO_EARLY, message, ref, expected={"at least": due}, actual=now)
        elif now > due + LATE:
            self._shift_timers(now - due)
            late = f"{(now - due) / 1_000_000:,.0f} seconds late"
            message = f"the timer {timer} runs out {late}: the clock jumps, or the node was suspended"
            yield Finding("log", JUMPED, message, ref, expected=due, actual=now)

    def _shift_timers(self, by: int) -> None:
        self._due = {timer: due + by for timer, due in self._due.items()}
