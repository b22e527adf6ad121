"""
A message graph as SVG: a self-contained file, or an element of a page.

It has the colour of the surrounding text; a file of its own follows the reader's light or dark theme. The font is monospaced,
so that the width of a label is known without the font, and no label is longer than its space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import Final

from peerproof.conformance.diagrams.labels import MARK, visible
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note

FONT: Final = 12
CELL: Final = 7.4  #: width of a character, a little more than common fonts of this size take
LINE: Final = 16  #: distance of two lines of a label
PAD: Final = 8
TIP: Final = 9  #: length of an arrow's head
LOOP: Final = 30  #: width of an arrow from a node to itself
GAP: Final = 14  #: vertical gap between events
APART: Final = 120  #: smallest distance of two lifelines

#: The most characters of a line of a label; fewer with many participants, more for long arrows.
MOST_CELLS: Final = 44
LEAST_CELLS: Final = 24
ALL_CELLS: Final = 160

#: The most lines of a label, and in a diagram of many events; the label's title and the description have the whole text.
MOST_LINES: Final = 24
FEW_LINES: Final = 4
MANY: Final = 40

#: Matches the last line of a label that is cut.
_LEFT_OUT: Final = re.compile(r"\[\d+ characters more\]")

#: Above this height the names are repeated at the bottom.
TALL: Final = 900

#: Characters from here on may be wide, and count as two.
_WIDE_FROM: Final = 0x590

_STYLE: Final = (
    "svg:root{color:#1f2328;background:#fff}.message-graph .wrong{color:var(--graph-wrong,#cf222e)}"
    "@media(prefers-color-scheme:dark){svg:root{color:#e6edf3;background:#0d1117}svg:root .wrong{--graph-wrong:#ff7b72}}"
)
_FONTS: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"


def render_svg(graph: MessageGraph, title: str = "Message graph", name: str = "graph") -> str:
    """
    Renders a diagram as one SVG element that needs nothing else; dashed arrows are expected, a cross is a loss.

    Its title and its description, the diagram as text, have ids that begin with `name`. A page sets the colours by `color`, and
    by `--graph-wrong` for labels that begin with `MARK`.

    >>> render_svg(MessageGraph(("a", "b"), (Arrow("a", "b", "ping"),)), "One ping")[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    picture = _Picture(graph)
    width, height = round(picture.width), round(picture.height)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="message-graph" role="img" aria-labelledby="{escape(name)}-title" '
            f'aria-describedby="{escape(name)}-desc" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="{_FONTS}" font-size="{FONT}" fill="currentColor">',
            f'<title id="{escape(name)}-title">{escape(visible(title))}</title>',
            f'<desc id="{escape(name)}-desc">{escape(graph.text())}</desc>',
            f"<style>{_STYLE}</style>",
            '<g stroke="currentColor" stroke-opacity=".35">',
            *picture.lifelines(),
            "</g>",
            *picture.parts,
            "</svg>",
        )
    )


def cells(text: str) -> int:
    """The width of a text in cells."""
    if text.isascii():
        return len(text)
    return sum(1 if ord(character) < _WIDE_FROM else 2 for character in text)


def lines_of(label: str, most: int, most_lines: int = MOST_LINES) -> list[str]:
    """Splits a label into lines of at most so many cells, between words where possible."""
    words = " ".join(visible(label.replace("\n", " ")).split())
    lines = [piece for line in wrap(words, most, break_on_hyphens=False) for piece in _pieces(line, most)]
    if len(lines) > most_lines:
        left_out = sum(map(len, lines[most_lines - 1 :]))
        lines[most_lines - 1 :] = [f"[{left_out} characters more]"]
    return lines or [""]


def _pieces(line: str, most: int) -> Iterator[str]:
    """Splits a line of at most so many characters into pieces of at most so many cells."""
    piece = ""
    for character in line:
        if cells(piece + character) > most:
            yield piece.strip()
            piece = ""
        piece += character
    yield piece.strip()


def _room(lines: Sequence[str]) -> float:
    return max(map(cells, lines), default=0) * CELL


@dataclass
class _Columns:
    """The positions of the lifelines, so that all labels fit."""

    graph: MessageGraph
    most: int = field(init=False)  #: the most cells of a line of a label
    most_lines: int = field(init=False)
    places: list[float] = field(init=False)
    width: float = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.graph.participants)
        self.most_lines = FEW_LINES if len(self.graph.happenings) > MANY else MOST_LINES
        self.most = max(LEAST_CELLS, min(MOST_CELLS, ALL_CELLS // max(1, count)))
        self._index = {name: number for number, name in enumerate(self.graph.participants)}
        left, right, gaps = self._sides()
        for happening in self.graph.happenings:
            self._widen(gaps, happening)
        whole = max((self._label_width(each.label) for each in self.graph.happenings if self._is_of_all(each)), default=0)
        more = max(0, whole - left[0] - sum(gaps) - right[-1]) / 2
        self.places = [left[0] + more + PAD]
        for gap in gaps:
            self.places.append(self.places[-1] + gap)
        self.width = self.places[-1] + right[-1] + more + PAD

    def of(self, name: str) -> float:
        """The x position of this participant's lifeline."""
        return self.places[self._index[name]]

    def _is_of_all(self, happening: Arrow | Note) -> bool:
        return isinstance(happening, Note) and happening.node not in self._index

    def _label_width(self, label: str) -> float:
        return _room(self.lines(label)) + 2 * PAD

    def lines(self, label: str, most: int = 0) -> list[str]:
        """Splits a label into lines of at most so many cells; without a number, as many as between two lifelines."""
        return lines_of(label, most or self.most, self.most_lines)

    def _sides(self) -> tuple[list[float], list[float], list[float]]:
        """The space that labels need left and right of each lifeline, and between two."""
        halves = [self._label_width(name) / 2 for name in self.graph.participants] or [0]
        left, right = list(halves), list(halves)
        for happening in self.graph.happenings:
            match happening:
                case Note(node, label) if node in self._index:
                    at = self._index[node]
                    left[at] = max(left[at], self._label_width(label) / 2)
                    right[at] = max(right[at], self._label_width(label) / 2)
                case Arrow(source, target, label) if source == target:
                    at = self._index[source]
                    right[at] = max(right[at], LOOP + self._label_width(label))
        heads = [one + other for one, other in pairwise(halves)]
        gaps = [max(APART, head + PAD, right[at] + PAD, left[at + 1] + PAD) for at, head in enumerate(heads)]
        return left, right, gaps

    def _widen(self, gaps: list[float], happening: Arrow | Note) -> None:
        if isinstance(happening, Note) or happening.source == happening.target:
            return
        first, last = sorted((self._index[happening.source], self._index[happening.target]))
        missing = self._label_width(happening.label) + 2 * TIP - sum(gaps[first:last])
        for at in range(first, last):
            gaps[at] += max(0.0, missing) / (last - first)


class _Picture:
    """Draws events from top to bottom; lifelines are interrupted behind labels and notes."""

    def __init__(self, graph: MessageGraph) -> None:
        self._graph = graph
        self._columns = _Columns(graph)
        self.width = self._columns.width
        self.height = float(PAD)
        self.parts: list[str] = []
        self._covered: list[tuple[float, float, float, float]] = []  # from x to x, from y to y
        self._heads()
        self._top = self.height
        for happening in graph.happenings:
            self.height += GAP
            wrong = ' class="wrong"' if happening.label.startswith(MARK) else ""
            self.parts.append(f'<g{wrong} stroke="currentColor" stroke-width="1.2" fill="none">')
            match happening:
                case Arrow(source, target) if source == target:
                    self._loop(happening)
                case Arrow():
                    self._arrow(happening)
                case Note():
                    self._note(happening)
            self.parts.append("</g>")
        self.height += GAP
        self._bottom = self.height
        if self.height > TALL:
            self._heads()
        self.height += PAD

    def lifelines(self) -> Iterator[str]:
        """The parts of the lifelines that nothing covers."""
        for x in self._columns.places if self._graph.participants else ():
            y = self._top
            for start, end in sorted((start, end) for left, right, start, end in self._covered if left < x < right):
                if start > y:
                    yield f'<path d="M{x:.1f} {y:.1f}V{start:.1f}"/>'
                y = max(y, end)
            yield f'<path d="M{x:.1f} {y:.1f}V{self._bottom:.1f}"/>'

    def _heads(self) -> None:
        names = [lines_of(name, self._columns.most) for name in self._graph.participants]
        height = max(map(len, names), default=0) * LINE + PAD
        self.parts.append('<g stroke="currentColor" fill="none">')
        for x, lines in zip(self._columns.places, names, strict=False):  # without participants there is one position all the same
            self._box(x, _room(lines) + 2 * PAD, self.height, height, 4)
            self._text(lines, x, self.height + (height - len(lines) * LINE) / 2, "middle", ' font-weight="bold"')
        self.parts.append("</g>")
        self.height += height

    def _note(self, note: Note) -> None:
        if note.node in self._graph.participants:
            lines = self._columns.lines(note.label)
            x, width = self._columns.of(note.node), _room(lines) + 2 * PAD
        else:
            lines = self._columns.lines(note.label, int((self.width - 4 * PAD) / CELL))
            x, width = self.width / 2, self.width - 2 * PAD
        self._title(note.label, lines)
        height = len(lines) * LINE + PAD
        self._box(x, width, self.height, height, 0)
        self._covered.append((x - width / 2, x + width / 2, self.height, self.height + height))
        self._text(lines, x, self.height + PAD / 2, "middle")
        self.height += height

    def _arrow(self, arrow: Arrow) -> None:
        start, end = self._columns.of(arrow.source), self._columns.of(arrow.target)
        lines = self._columns.lines(arrow.label, int((abs(end - start) - 2 * TIP - PAD) / CELL))
        self._title(arrow.label, lines)
        middle, half = (start + end) / 2, _room(lines) / 2 + PAD / 2
        self._covered.append((middle - half, middle + half, self.height, self.height + len(lines) * LINE + 2))
        self._text(lines, middle, self.height, "middle")
        self.height += len(lines) * LINE + PAD
        reached = start + (end - start) * 3 / 4 if arrow.lost else end
        self._line(f"M{start:.1f} {self.height:.1f}H{reached:.1f}", arrow)
        self._tip(reached, 1 if end > start else -1, arrow)

    def _loop(self, arrow: Arrow) -> None:
        x, lines = self._columns.of(arrow.source), self._columns.lines(arrow.label)
        self._title(arrow.label, lines)
        self._text(lines, x + LOOP + PAD, self.height, "start")
        self._line(f"M{x:.1f} {self.height + 4:.1f}h{LOOP}v{LINE}H{x:.1f}", arrow)
        self.height += 4 + LINE
        self._tip(x, -1, arrow)
        self.height += (len(lines) - 1) * LINE

    def _title(self, label: str, lines: Sequence[str]) -> None:
        """Adds the whole text of a label that is cut, which browsers show under the pointer."""
        if _LEFT_OUT.fullmatch(lines[-1]):
            self.parts.append(f"<title>{escape(visible(label))}</title>")

    def _line(self, path: str, arrow: Arrow) -> None:
        dashes = ' stroke-dasharray="5 3"' if arrow.judged else ""
        self.parts.append(f'<path d="{path}"{dashes}/>')

    def _tip(self, x: float, way: int, arrow: Arrow) -> None:
        y = self.height
        if arrow.lost:
            self.parts.append(f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m-10 0l10-10"/>')
        else:
            self.parts.append(f'<path d="M{x:.1f} {y:.1f}l{-way * TIP} -4v8z" fill="currentColor" stroke="none"/>')

    def _box(self, x: float, width: float, y: float, height: float, round_by: int) -> None:
        self.parts.append(
            f'<rect x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_by}" '
            'fill="currentColor" fill-opacity=".07" stroke-opacity=".5"/>'
        )

    def _text(self, lines: Sequence[str], x: float, y: float, anchor: str, more: str = "") -> None:
        spans = "\n".join(
            f'<tspan x="{x:.1f}" y="{y + FONT + at * LINE:.1f}">{escape(line)}</tspan>' for at, line in enumerate(lines)
        )
        self.parts.append(f'<text text-anchor="{anchor}" fill="currentColor" stroke="none"{more}>{spans}</text>')
