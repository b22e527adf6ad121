"""
One node's events by their numbers, and what is wrong with its log: lines that are lost, doubled, or in the wrong order.

Nothing says that rows which were sorted come sorted, so it is looked at here. Faults of the log are no faults of the protocol.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import lt
from typing import Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import Event
from peerproof.conformance.traces.rows import Ref, Rows

#: So many events later, a missing one is lost, and one that comes again is not compared any more.
WINDOW: Final = 16

LOST, DOUBLED, RENUMBERED, SWAPPED = "LostLine", "DoubledLine", "TwoLinesOfOneNumber", "SwappedLine"


class Fault(NamedTuple):
    """What is wrong with the log at an event."""

    ref: Ref
    name: str
    message: str
    lost: int = 0  #: events that are missing before this one


Item: TypeAlias = Ref | Fault


class LogOrder:
    """The events of one node, given in whatever order, come out in that of their numbers."""

    def __init__(self) -> None:
        self.expected: int | None = None  #: the number of the next event
        self._recent: Final[deque[Ref]] = deque(maxlen=WINDOW)
        self._waiting: Final[dict[int, Ref]] = {}
        self._place: tuple[str | None, int] = (None, -1)  #: where the last event lies

    def is_clean(self, rows: Rows) -> bool:
        """Whether all of these are the next ones, in their order; then `take_clean` takes them."""
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
        """These came, and are clean."""
        last = len(rows) - 1
        self._recent.extend(Ref(rows, index) for index in range(max(0, last - WINDOW + 1), last + 1))
        self.expected = rows.seqs[last] + 1
        if rows.offsets is not None:
            self._place = rows.event(last).src_file, rows.offsets[last]

    def take(self, ref: Ref) -> Iterator[Item]:
        """One event that may be out of order; what is now in order comes out."""
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
                message = f"event {seq} stands in the log beside its place: it was taken there"
                yield Fault(ref, SWAPPED, message)
            yield self._in_order(ref, event)
            yield from self._release()

    def end(self) -> Iterator[Item]:
        """There are no more."""
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
        """What is missing before the first that waits does not come any more."""
        first = min(self._waiting)
        lost = first - (self.expected or 0)
        which = f"event {self.expected} is" if lost == 1 else f"events {self.expected} to {first - 1} are"
        yield Fault(
            self._waiting[first], LOST, f"{which} missing in the log; from there to the next start nothing is judged", lost
        )
        self.expected = first
        yield from self._release()

    def _again(self, ref: Ref, seq: int) -> Fault:
        before = next((other for other in self._recent if other.rows.seqs[other.at] == seq), None)
        if before is None:
            return Fault(
                ref, RENUMBERED, f"a line with the number {seq} comes when event {self.expected} should; it is passed over"
            )
        return self._duplicate_fault(ref, before)

    def _duplicate_fault(self, ref: Ref, before: Ref) -> Fault:
        event, other = ref.event, before.event
        if event[:-2] == other[:-2]:
            return Fault(ref, DOUBLED, f"event {event.seq} stands in the log twice; the second is passed over")
        message = f"two lines of the log have the number {event.seq}; the second is passed over"
        if event.kind == "start":
            message += ". If these are the logs of two processes, give each a run of its own"
        return Fault(ref, RENUMBERED, message)
