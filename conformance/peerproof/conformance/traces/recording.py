"""
The trace of a run as one record: the lines of all of its files in an order in which every message is sent before it is received.

A node's own lines stay as they are. Between nodes the time decides, as far as it can: nodes on real sockets each have a clock of
their own, which begins with the process, so that the clocks of different files are set by the messages between them. What is
received is matched with what was sent by who, to whom and what it says.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from peerproof.spec.core import EVERYBODY
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Line

Key = tuple[str, str, str]  #: sender, receiver or EVERYBODY, and the message as JSON


class Read(NamedTuple):
    """A line, and the file that it is from."""

    file: int
    line: Line


class Sending(NamedTuple):
    """One `send` among the effects of a line."""

    place: int  #: of the line, in `Recording.lines`
    effect: int


@dataclass
class Recording:
    """Lines, in their order, and which of them receive what others send."""

    lines: tuple[Read, ...]  #: each node's own in its order
    shifts: dict[int, int] = field(init=False)  #: file -> microseconds to add to its clock
    sent_by: dict[int, Sending] = field(init=False)  #: the place of a line that receives -> where the message was sent
    again: set[int] = field(init=False)  #: the places of those that receive what has been received before

    def __post_init__(self) -> None:
        self.shifts = dict.fromkeys(sorted({file for file, _ in self.lines}), 0)
        self._match(by_time=False)
        delays = self._delays()
        if any(delay < 0 for delay in delays.values()):
            self._set_clocks(delays)
        self._match(by_time=True)

    def t_us(self, place: int) -> int:
        """When it was, on the common clock."""
        file, line = self.lines[place]
        return line.t_us + self.shifts[file]

    def order(self) -> list[int]:
        """The places of the lines, in the order in which they are told."""
        queues: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
        for place, (_, line) in enumerate(self.lines):
            queues[line.run, line.node].append(place)
        ready: list[tuple[int, int]] = []
        for queue in queues.values():
            heappush(ready, (self.t_us(queue[0]), queue[0]))
        waiting: dict[int, list[int]] = {}  # the place of a line that has not been told -> receipts that wait for it
        told: dict[int, None] = {}
        while ready or waiting:
            if ready:
                place = heappop(ready)[1]
                if (sent := self.sent_by.get(place)) and sent.place not in told and sent.place != place:
                    waiting.setdefault(sent.place, []).append(place)
                    continue
            else:  # each waits for another: whatever was matched, it was not so
                place = min((place for places in waiting.values() for place in places), key=self.t_us)
                waiting = {key: left for key, places in waiting.items() if (left := [each for each in places if each != place])}
            told[place] = None
            line = self.lines[place].line
            queue = queues[line.run, line.node]
            queue.popleft()
            for following in [*([queue[0]] if queue else []), *waiting.pop(place, ())]:
                heappush(ready, (self.t_us(following), following))
        return list(told)

    def _match(self, *, by_time: bool) -> None:
        """
        To each receipt the first sending that has none yet, or by time the latest before it: the ones before that were lost.

        What is received more often than it was sent has arrived once more.
        """
        self.sent_by, self.again = {}, set()
        sent = self._sendings_by_key()
        to_all: dict[tuple[Key, str], list[Sending]] = {}
        latest: dict[Key, Sending] = {}
        for place, (_, line) in enumerate(self.lines):
            if line.kind != "recv" or line.peer is None:
                continue
            content = _content(line.args)
            key, everybody = (line.peer, line.node, content), (line.peer, EVERYBODY, content)
            left = sent.get(key) or to_all.setdefault((everybody, line.node), list(sent.get(everybody, ())))
            if left:
                before = [number for number, sending in enumerate(left) if self.t_us(sending.place) <= self.t_us(place)]
                latest[key] = self.sent_by[place] = left.pop(before[-1] if by_time and before else 0)
            elif key in latest:
                self.sent_by[place] = latest[key]
                self.again.add(place)

    def _sendings_by_key(self) -> dict[Key, list[Sending]]:
        found: dict[Key, list[Sending]] = {}
        for place, (_, line) in enumerate(self.lines):
            for effect, to, message in sendings(line):
                found.setdefault((line.node, to, _content(message)), []).append(Sending(place, effect))
        return found

    def _delays(self) -> dict[tuple[int, int], int]:
        """File of the sender, file of the receiver -> the shortest time from sending to receiving, by their own clocks."""
        shortest: dict[tuple[int, int], int] = {}
        for place, (at, _) in self.sent_by.items():
            files = self.lines[at].file, self.lines[place].file
            delay = self.t_us(place) - self.t_us(at)
            if files[0] != files[1] and place not in self.again:
                shortest[files] = min(delay, shortest.get(files, delay))
        return shortest

    def _set_clocks(self, delays: dict[tuple[int, int], int]) -> None:
        """From one file to the next: the shortest way takes equally long in both directions, or no time if there is one only."""
        left = deque(self.shifts)
        known: set[int] = set()
        while left:
            begun = [left.popleft()]
            known.update(begun)
            for one in begun:
                for other in list(left):
                    there, back = delays.get((one, other)), delays.get((other, one))
                    if there is None and back is None:
                        continue
                    there = -back if there is None and back is not None else there or 0
                    back = -there if back is None else back
                    self.shifts[other] = self.shifts[one] + (back - there) // 2
                    known.add(other)
                    left.remove(other)
                    begun.append(other)
        least = min(self.shifts.values())
        self.shifts = {file: shift - least for file, shift in self.shifts.items()}


def sendings(line: Line) -> Iterator[tuple[int, str, Plain]]:
    """The effects of a line that send: their numbers, the receivers and the messages."""
    for number, effect in enumerate(line.effects):
        match effect:
            case {"send": {"to": str(to), "message": message}}:
                yield number, to, message


def _content(message: Plain) -> str:
    return json.dumps(message, sort_keys=True)
