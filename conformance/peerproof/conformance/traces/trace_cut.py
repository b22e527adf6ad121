"""
Cuts nodes and a time range out of a trace, into a smaller trace with the same verdict on each step in it.

The state of a node is known from a start on. So its part begins with its last start before the range, or the first one in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple, TypeAlias

import msgspec

from peerproof.conformance.suite.source import Source
from peerproof.conformance.traces.event_text import origin_of
from peerproof.conformance.traces.file_check import LONGEST_LINE, LeftOut, numbered_lines, refuse_all

#: Run and name of a node.
_Owner: TypeAlias = tuple[str, str]

_MICROSECONDS: Final = 1000


class Part(NamedTuple):
    """The part of a trace to keep. Times are milliseconds, from `origin_of` the trace on."""

    begin: int = 0
    end: int | None = None  #: lines from then on are left out
    nodes: Collection[str] = ()  #: empty: all
    run: str | None = None  #: None: all

    def has_node(self, run: str, node: str) -> bool:
        """Returns True if lines of this node are kept."""
        return self.run in (None, run) and (not self.nodes or node in self.nodes)


@dataclass
class Kept:
    """The lines of one node that were kept."""

    seq: int  #: the number of the first, a start
    at: int  #: its time
    lines: int = 0


@dataclass
class CutTrace:
    """The result of a cut."""

    lines: int = 0  #: of the whole trace
    left_out: LeftOut = field(default_factory=LeftOut)  #: lines of it that are not lines of a trace
    damage: str = ""  #: of a file compressed with gzip, which was read up to there
    kept: dict[_Owner, Kept] = field(default_factory=dict)
    others: dict[_Owner, None] = field(default_factory=dict)  #: nodes without a line in the part


class _Head(msgspec.Struct, gc=False):
    run: str
    node: str
    seq: int
    t_us: int
    kind: str


class _Line(NamedTuple):
    number: int
    raw: bytes
    head: _Head
    at: int


def cut_trace(open_trace: Callable[[], Source], part: Part, write: Callable[[bytes], object]) -> CutTrace:
    """
    Writes a part of a trace, line by line and unchanged. With a beginning, the trace is opened twice.

    Raises NoTrace if no line is a line of a trace, OSError, and what `write` raises.
    """
    starts = dict(_find_starts(open_trace, part)) if part.begin else None
    cut = CutTrace()
    ended: set[_Owner] = set()
    with open_trace() as file:
        for line in _read(file, cut):
            owner = line.head.run, line.head.node
            kept = cut.kept.get(owner)
            if part.end is not None and line.at >= part.end:
                ended.add(owner)
            is_wanted = (
                owner not in ended
                and part.has_node(*owner)
                and (starts is None or line.number >= starts.get(owner, line.number + 1))
            )
            if kept is None and not (is_wanted and line.head.kind == "start"):
                cut.others[owner] = None
                continue
            if is_wanted:
                kept = cut.kept.setdefault(owner, Kept(line.head.seq, line.at))
                kept.lines += 1
                write(line.raw if line.raw.endswith(b"\n") else line.raw + b"\n")
        cut.damage = file.problem.detail if file.problem else ""
    if cut.left_out.count == cut.lines > 0:
        raise refuse_all(cut.left_out.first[0])
    cut.others = {owner: None for owner in cut.others if owner not in cut.kept}
    return cut


def _find_starts(open_trace: Callable[[], Source], part: Part) -> Iterator[tuple[_Owner, int]]:
    """Yields, for each node with lines in the range, the number of the line from which its state is known there."""
    first: dict[_Owner, int] = {}
    last: dict[_Owner, int] = {}
    with open_trace() as file:
        for line in _read(file, CutTrace()):
            owner = line.head.run, line.head.node
            last[owner] = line.at
            if line.head.kind == "start" and (line.at <= part.begin or owner not in first):
                first[owner] = line.number
    yield from ((owner, number) for owner, number in first.items() if last[owner] >= part.begin)


def _read(file: BinaryIO, cut: CutTrace) -> Iterator[_Line]:
    decode = msgspec.json.Decoder(_Head).decode
    origin: int | None = None
    for number, raw in numbered_lines(file):
        if raw.isspace():
            continue
        cut.lines += 1
        try:
            head = decode(raw if len(raw) < LONGEST_LINE else b"")
        except (ValueError, RecursionError):
            cut.left_out.add(number, raw)
            continue
        origin = origin_of(head.t_us) if origin is None else origin
        yield _Line(number, raw, head, (head.t_us - origin) // _MICROSECONDS)
