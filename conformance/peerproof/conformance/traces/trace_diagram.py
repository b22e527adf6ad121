"""
A trace as a message graph: the lines of one run, from one file or from several.

The lines of all files are put into an order in which every message is sent before it is received. A node's own lines keep their
order. Between nodes the order follows the time as far as possible. On real sockets each node has a clock that begins with its
process, so the clocks of files are aligned by the messages between them. A receipt is matched with a sending by sender, receiver
and content. Over connections, whose source ports are arbitrary, the protocol finds the sender (`spec.observed.Senders`).

A message is drawn where it is received. One that is never received is drawn where it is sent: crossed out (lost) if its receiver
has later lines; as sent if the receiver has no trace.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import BinaryIO, Final, NamedTuple

from peerproof.conformance.diagrams.compact import Renderer, select_renderer
from peerproof.conformance.diagrams.labels import id_shortener
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt, MessageGraph, Note, Timed
from peerproof.conformance.diagrams.names import names_in_trace, rename
from peerproof.conformance.suite.source import STANDARD_INPUT, open_source
from peerproof.conformance.traces import file_check
from peerproof.conformance.traces.event_text import origin_of
from peerproof.conformance.traces.steps import senders_of
from peerproof.spec.core import EVERYBODY, NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Line, parse

Key = tuple[str, str, str]  #: sender, receiver (EVERYBODY for a broadcast), and the message as JSON


class Read(NamedTuple):
    """A line and the file that contains it."""

    file: int
    line: Line


class Sending(NamedTuple):
    """One `send` among the effects of a line."""

    place: int  #: index of the line in `Recording.lines`
    effect: int


@dataclass
class Recording:
    """Lines in order, with receipts matched to sendings."""

    lines: tuple[Read, ...]  #: in the order of each node
    known: Mapping[int, int] | None = None  #: `shifts`, if they are known
    shifts: dict[int, int] = field(init=False)  #: file -> microseconds to add to its clock
    peers: dict[int, str] = field(init=False)  #: index of a receiving line -> the node that sent the message
    sent_by: dict[int, Sending] = field(init=False)  #: index of a receiving line -> where the message was sent
    again: set[int] = field(init=False)  #: indices of lines that receive a message once more

    def __post_init__(self) -> None:
        known = self.known or {}
        self.shifts = {file: known.get(file, 0) for file in sorted({file for file, _ in self.lines})}
        if self.known is None:
            self._match(by_time=False)
            delays = self._delays()
            if any(delay < 0 for delay in delays.values()):
                self._set_clocks(delays)
        self._match(by_time=True)

    def t_us(self, place: int) -> int:
        """Returns the time of a line on the common clock, in microseconds."""
        file, line = self.lines[place]
        return line.t_us + self.shifts[file]

    def order(self) -> list[int]:
        """Returns the indices of the lines in the order in which they are drawn."""
        queues: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
        for place, (_, line) in enumerate(self.lines):
            queues[line.run, line.node].append(place)
        ready: list[tuple[int, int]] = []
        for queue in queues.values():
            heappush(ready, (self.t_us(queue[0]), queue[0]))
        waiting: dict[int, list[int]] = {}  # index of a line that is not placed yet -> receipts that wait for it
        placed: dict[int, None] = {}
        while ready or waiting:
            if ready:
                place = heappop(ready)[1]
                if (sent := self.sent_by.get(place)) and sent.place not in placed and sent.place != place:
                    waiting.setdefault(sent.place, []).append(place)
                    continue
            else:  # all wait for each other, so some match is wrong
                place = min((place for places in waiting.values() for place in places), key=self.t_us)
                waiting = {key: left for key, places in waiting.items() if (left := [each for each in places if each != place])}
            placed[place] = None
            line = self.lines[place].line
            queue = queues[line.run, line.node]
            queue.popleft()
            for following in [*([queue[0]] if queue else []), *waiting.pop(place, ())]:
                heappush(ready, (self.t_us(following), following))
        return list(placed)

    def _match(self, *, by_time: bool) -> None:
        """
        Matches each receipt with the first unmatched sending, or by time with the latest one before it: earlier ones were lost.

        A message that is received more often than it was sent has arrived once more.
        """
        self.sent_by, self.again = {}, set()
        sent: dict[Key, list[Sending]] = {}
        for place, (_, line) in enumerate(self.lines):
            for effect, to, message in sendings(line):
                sent.setdefault((line.node, to, _content(message)), []).append(Sending(place, effect))
        to_all: dict[tuple[Key, str], list[Sending]] = {}
        latest: dict[Key, Sending] = {}
        self.peers = dict(self._senders())
        for place, peer in sorted(self.peers.items()):
            line = self.lines[place].line
            content = _content(line.args)
            key, everybody = (peer, line.node, content), (peer, EVERYBODY, content)
            left = sent.get(key) or to_all.setdefault((everybody, line.node), list(sent.get(everybody, ())))
            if left:
                before = [number for number, sending in enumerate(left) if self.t_us(sending.place) <= self.t_us(place)]
                latest[key] = self.sent_by[place] = left.pop(before[-1] if by_time and before else 0)
            elif key in latest:
                self.sent_by[place] = latest[key]
                self.again.add(place)

    def _senders(self) -> Iterator[tuple[int, str]]:
        """Yields the index of each receiving line with the sender, in the order of the clocks as they are aligned so far."""
        places = [place for place, (_, line) in enumerate(self.lines) if line.kind == "recv" and line.peer is not None]
        protocol = self.lines[0].line.protocol
        specification = PROTOCOLS[protocol].specification.load() if protocol in PROTOCOLS else None
        made = senders_of(specification) if specification else None
        senders = made() if made else None
        for place in sorted(places, key=self.t_us):
            line = self.lines[place].line
            peer = line.peer or ""
            if specification is not None and senders is not None:
                with suppress(MalformedMessage):
                    peer = senders.sender(specification.MESSAGE.value(line.args), NodeId(peer), NodeId(line.node))
            yield place, peer

    def _delays(self) -> dict[tuple[int, int], int]:
        """Returns (sender's file, receiver's file) -> the shortest time from sending to receiving, by their own clocks."""
        shortest: dict[tuple[int, int], int] = {}
        for place, (at, _) in self.sent_by.items():
            files = self.lines[at].file, self.lines[place].file
            delay = self.t_us(place) - self.t_us(at)
            if files[0] != files[1] and place not in self.again:
                shortest[files] = min(delay, shortest.get(files, delay))
        return shortest

    def _set_clocks(self, delays: dict[tuple[int, int], int]) -> None:
        """Aligns the clocks file by file so that the shortest delays are equal both ways, or zero if there is only one way."""
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
    """Yields the effects of a line that send: index, receiver and message."""
    for number, effect in enumerate(line.effects):
        match effect:
            case {"send": {"to": str(to), "message": message}}:
                yield number, to, message


def _content(message: Plain) -> str:
    return json.dumps(message, sort_keys=True)


#: Maximum number of lines that are read: some hundred megabytes of memory.
MOST_LINES: Final = 100_000

_MS: Final = 1000


class NoTrace(Exception):
    """The files are not a trace of one run; `tip` says what to do, if the message does not."""

    def __init__(self, message: str, tip: str | None = None) -> None:
        super().__init__(message)
        self.tip = tip


class Unread(NamedTuple):
    """A line that is not a trace line."""

    file: str
    number: int  #: from 1
    problem: str


@dataclass
class Reader:
    """Reads the files of a run, one after another."""

    begin: int = 0  #: milliseconds; earlier lines are skipped, of several files if `shifts` are known
    run: str | None = None
    most: int = MOST_LINES  #: lines
    shifts: Mapping[int, int] | None = None  #: file -> microseconds to add to its clock, if they are known
    on_early: Callable[[Line], None] | None = None  #: gets the lines that are skipped; without it, starts are not
    lines: list[Read] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)  #: what is wrong with compressed files
    cut: dict[str, int] = field(default_factory=dict)  #: files that have more lines than were read -> lines that were read
    first: int | None = None  #: time in microseconds of the first line of the first file
    _names: list[str] = field(default_factory=list)

    def read(self, name: str, file: BinaryIO, share: int = 1) -> None:
        """Reads one file, up to 1/`share` of the maximum number of lines. Raises NoTrace if none of its lines is a trace line."""
        self._names.append(name)
        most = max(1, self.most // share)
        others: set[str] = set()
        kept = count = 0
        for number, raw in file_check.numbered_lines(file):
            if not raw.strip():
                continue
            if kept >= most:
                self.cut[name] = kept
                break
            try:
                line = parse(raw.decode())
            except (MalformedMessage, UnicodeDecodeError):
                self.unread.append(Unread(name, number, file_check.why_unreadable(raw)))
                continue
            count += 1
            self.first = line.t_us if self.first is None else self.first
            if self.run is not None and line.run != self.run:
                others.add(line.run)
                continue
            if self._is_early(line, share):
                if self.on_early is not None:
                    self.on_early(line)
                    continue
                if line.kind != "start":
                    continue
            kept += 1
            self.lines.append(Read(len(self._names), line))
        self._check(name, count, others)

    @property
    def origin(self) -> int:
        """The time in microseconds at which the record begins."""
        return origin_of(self.first or 0)

    def _is_early(self, line: Line, share: int) -> bool:
        if share > 1 and self.shifts is None:
            return False
        shift = (self.shifts or {}).get(len(self._names), 0)
        return line.t_us + shift < self.origin + self.begin * _MS

    def recording(self) -> Recording:
        """Returns all lines in one order. Raises NoTrace."""
        check_protocols({line.protocol for _, line in self.lines})
        if not self.lines:
            raise NoTrace("the trace has no line of that time or that run")
        return Recording(tuple(self.lines), self.shifts)

    def _check(self, name: str, count: int, others: set[str]) -> None:
        if not count:
            what = f"line {self.unread[0].number}: {self.unread[0].problem}" if self.unread else "it is empty"
            raise NoTrace(f"{name}: not a trace: {what}", file_check.NoTrace.tip if self.unread else file_check.EMPTY_TIP)
        runs = sorted({line.run for file, line in self.lines if file == len(self._names)})
        if len(runs) > 1:
            raise NoTrace(f"{name}: {len(runs)} runs; choose one with --run, such as {runs[0]!r}")
        if not runs and others:
            raise NoTrace(f"{name}: no run {self.run!r}; it has {min(others)!r}, for example")


def check_protocols(protocols: Collection[str]) -> None:
    """Raises NoTrace if these are several."""
    if len(protocols) > 1:
        raise NoTrace(f"traces of several protocols: {', '.join(sorted(protocols))}; name those of one")


def read_traces(
    names: Sequence[str],
    run: str | None = None,
    begin: int = 0,
    most: int = MOST_LINES,
    on_early: Callable[[Line], None] | None = None,
) -> Reader:
    """
    Reads the files of one run; the name `-` is standard input. Raises NoTrace and OSError.

    Of several files that are too long together, the first lines show how far apart their clocks are; then they are read again,
    from `begin` on.
    """
    reader = _read(Reader(begin, run, most, on_early=on_early), names)
    if begin and reader.cut and len(names) > 1 and STANDARD_INPUT not in names:
        reader = _read(Reader(begin, run, most, reader.recording().shifts, on_early), names)
    return reader


def _read(reader: Reader, names: Sequence[str]) -> Reader:
    for name in names:
        with open_source(name) as file:
            reader.read(name, file, share=len(names))
            if file.problem:
                reader.damaged.append(f"{name}: {file.problem.detail}")
    return reader


def trace_graph(reader: Reader, excerpt: Excerpt, *, is_full: bool = False) -> MessageGraph:
    """
    Draws the lines that were read: nodes in the order of their names, messages in their compact form unless `is_full`.

    The id of a node is replaced by its name, another long id is cut to its first digits. Raises NoTrace.
    """
    drawing = _drawing(reader, excerpt, is_full=is_full)
    graph = excerpt.graph(drawing.entries())
    names = {} if is_full else names_in_trace([line for _, line in reader.lines])
    graph = graph.relabel(lambda label: rename(label, names))
    shorten = id_shortener((each.label for each in graph.happenings), graph.participants)
    nodes = sorted(graph.participants, key=lambda name: [part.zfill(20) for part in re.split(r"(\d+)", name)])
    return MessageGraph(tuple(nodes), graph.relabel(shorten).happenings)


#: What is said of a node after its last line: where it starts again later, and where others still send to it.
STOPPED: Final = "crash or stop: the node starts again later"
UNHEARD: Final = "crash or end of its log: no further line, though others still send to it"

#: The prefix of it in a diagram.
CROSS: Final = "✕ "

#: Messages to a node in a row that may be lost although it runs.
MOST_LOST: Final = 1


class Drawn(NamedTuple):
    """A line, its time in milliseconds since the beginning, and what is drawn of it, without the time."""

    line: Line
    at: int
    entries: tuple[Arrow | Note, ...]
    sent_at: int | None  #: of a message that is received, the time at which it was sent, if that is known
    end: str  #: that the node stops after this line, in words; else empty


def drawn_lines(reader: Reader) -> Iterator[Drawn]:
    """Yields the lines that were read, in the order in which they are drawn. Raises NoTrace."""
    drawing = _drawing(reader, Excerpt(), is_full=False)
    before: int | None = None
    for place in drawing.record.order():
        line = drawing.record.lines[place].line
        sending = drawing.record.sent_by.get(place)
        sent_at = None if sending is None else drawing.at(sending.place)
        entries = tuple(drawing.entries_of(place, line, before))
        yield Drawn(line, drawing.at(place), entries, sent_at, drawing.ends.get(place, ""))
        before = place


def _drawing(reader: Reader, excerpt: Excerpt, *, is_full: bool) -> _Drawing:
    record = reader.recording()
    render = select_renderer(record.lines[0].line.protocol, is_full=is_full)
    return _Drawing(record, reader.origin, excerpt, not reader.cut, render)


@dataclass
class _Drawing:
    record: Recording
    origin: int
    excerpt: Excerpt
    is_whole: bool
    render: Renderer

    @cached_property
    def _receipts(self) -> dict[Sending, int]:
        """Sending -> the index of the line that receives it first."""
        found: dict[Sending, int] = {}
        for place, sending in self.record.sent_by.items():
            if place not in self.record.again:
                found.setdefault(sending, place)
        return found

    @cached_property
    def _last(self) -> Mapping[str, int]:
        """Node -> the time of its last line."""
        found: dict[str, int] = {}
        for place, (_, line) in enumerate(self.record.lines):
            found[line.node] = max(self.record.t_us(place), found.get(line.node, 0))
        return found

    @cached_property
    def ends(self) -> Mapping[int, str]:
        """
        Index of the last line of each node that stops -> what is known of that.

        A node that starts again has stopped before. Of one without further lines it is likely if others send to it later, and so
        long before the end that the messages would have arrived. Nothing is said of it if lines were left out.
        """
        last: dict[str, int] = {}
        unheard: dict[str, list[int]] = {}  # the times of messages to a node since its last line
        found: dict[int, str] = {}
        longest = end = 0
        for place in self.record.order():
            line, at = self.record.lines[place].line, self.at(place)
            if line.kind == "start" and line.node in last:
                found[last[line.node]] = STOPPED
            last[line.node], unheard[line.node] = place, []
            for _, to, _ in sendings(line):
                if to in last and to != line.node:
                    unheard[to].append(at)
            if (sending := self.record.sent_by.get(place)) is not None:
                longest = max(longest, at - self.at(sending.place))
            end = max(end, at)
        for node, times in unheard.items():
            if self.is_whole and sum(at + longest < end for at in times) > MOST_LOST:
                found[last[node]] = UNHEARD
        return found

    @cached_property
    def _down(self) -> frozenset[str]:
        """The nodes that stop and do not start again."""
        return frozenset(self.record.lines[place].line.node for place, what in self.ends.items() if what == UNHEARD)

    def entries(self) -> Iterator[Timed]:
        under_way: dict[Sending, tuple[int, Note]] = {}
        before: int | None = None
        end = 0
        for place in self.record.order():
            at = self.at(place)
            if not self.excerpt.has(at):
                continue
            line, end = self.record.lines[place].line, at
            if (sending := self.record.sent_by.get(place)) is not None:
                under_way.pop(sending, None)
            is_timed = False
            for entry in self.entries_of(place, line, before):
                if not is_timed and self.excerpt.takes(at, (entry,)):
                    is_timed, before = True, place
                    yield Timed(at, entry._replace(label=f"{at} ms: {entry.label}"))
                else:
                    yield Timed(at, entry)
            if place in self.ends:
                yield Timed(at, Note(line.node, f"{CROSS}{self.ends[place]}"))
            for effect, to, message in sendings(line):
                sending = Sending(place, effect)
                if self._is_under_way(sending, to):
                    note = Note(line.node, f"still under way to {_name(to)}, sent at {at} ms: {self.render('recv', message)}")
                    under_way[sending] = at, note
        for _, note in under_way.values():
            yield Timed(end, note)

    def at(self, place: int) -> int:
        """Returns the time of a line, in milliseconds since the beginning."""
        return (self.record.t_us(place) - self.origin) // _MS

    def _is_under_way(self, sending: Sending, to: str) -> bool:
        """Returns True if the message is on its way when the drawing ends."""
        return sending in self._receipts or (to in self._last and not self._is_lost(sending, to))

    def _is_lost(self, sending: Sending, to: str) -> bool:
        return self.is_whole and to in self._last and (to in self._down or self._last[to] > self.record.t_us(sending.place))

    def entries_of(self, place: int, line: Line, before: int | None) -> Iterator[Arrow | Note]:
        """Yields what is drawn of a line, without its time; `before` is the line drawn before it."""
        match line.kind:
            case "recv":
                label = self.render("recv", line.args) + self._remark(place, before)
                yield Arrow(self.record.peers.get(place, ""), line.node, label)
            case "start":
                yield Note(line.node, "start")
            case "sent":
                yield from self._outcome(line)
            case kind:
                yield Note(line.node, f"{'timer ' if kind == 'timer' else ''}{self.render(kind, line.args)}")
        if line.refused is not None:
            yield Note(line.node, f"refused: {line.refused}")
        for number, effect in enumerate(line.effects):
            yield from self._effect(Sending(place, number), line, effect)

    def _effect(self, sending: Sending, line: Line, effect: Plain) -> Iterator[Arrow | Note]:
        match effect:
            case {"notify": notice}:
                yield Note(line.node, f"tells {self.render('notify', notice)}")
            case {"send": {"to": str(to), "message": message}} if sending not in self._receipts:
                if to not in self._last:
                    yield Arrow(line.node, _name(to), self.render("recv", message))
                elif self._is_lost(sending, to):
                    yield Arrow(line.node, to, self.render("recv", message), lost=True)

    def _outcome(self, line: Line) -> Iterator[Note]:
        """Yields a note if a message over a connection did not arrive; the drawing shows the arrivals anyway."""
        match line.args:
            case {"took": None, "message": message}:
                yield Note(line.node, f"did not arrive at {line.peer}: {self.render('recv', message)}")

    def _remark(self, place: int, before: int | None) -> str:
        sending = self.record.sent_by.get(place)
        remarks = ["once more"] if place in self.record.again else []
        remarks += [f"sent at {self.at(sending.place)} ms"] if sending is not None and sending.place != before else []
        return f" ({', '.join(remarks)})" if remarks else ""


def _name(to: str) -> str:
    return "all" if to == EVERYBODY else to
