"""Draws the flowcharts of the pages, boxes and arrows from the top down, as SVG: nothing is loaded to show them."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise

_BOX = re.compile(r'([\w.-]+)\["([^"]*)"\]')
_ARROW = re.compile(r"([\w.-]+) --> ([\w.-]+)")

CELL = 7.4  #: width of a character of the font
HIGH = 30  #: height of a box
APART = 22  #: horizontal gap
LEVEL = 74  #: from one row of boxes to the next


def render_flowchart(diagram: str, name: str) -> str:
    """Returns the SVG of a Mermaid flowchart of boxes and arrows; `name` begins its ids. Raises ValueError for any other line."""
    labels: dict[str, str] = {}
    arrows: list[tuple[str, str]] = []
    for line in map(str.strip, diagram.splitlines()):
        if found := _BOX.fullmatch(line):
            labels[found[1]] = found[2]
        elif found := _ARROW.fullmatch(line):
            arrows.append((found[1], found[2]))
        elif line != "flowchart TD":
            raise ValueError(f"not a box or an arrow: {line!r}")
    rows = _rows(list(labels), arrows)
    widths = {box: max(40.0, len(label) * CELL + 20) for box, label in labels.items()}
    spans = [sum(widths[box] for box in row) + APART * (len(row) - 1) for row in rows]
    whole, places = max(spans), {}
    for level, (row, span) in enumerate(zip(rows, spans, strict=True)):
        x = (whole - span) / 2
        for box in row:
            places[box] = (x + 1, level * LEVEL + 1.0)
            x += widths[box] + APART
    parts = [_line(places[one], widths[one], places[other], widths[other], f"{name}-tip") for one, other in arrows]
    parts += [_box(*places[box], widths[box], label) for box, label in labels.items()]
    width, height = round(whole + 4), (len(rows) - 1) * LEVEL + HIGH + 2
    text = "; ".join(f"{labels[one]} imports {labels[other]}" for one, other in arrows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="message-graph" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="ui-monospace,monospace" font-size="12" fill="currentColor">'
        f"<title>Which imports which</title><desc>{escape(text)}</desc>"
        f'<defs><marker id="{name}-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z"/></marker></defs>{"".join(parts)}</svg>'
    )


def _rows(names: list[str], arrows: list[tuple[str, str]]) -> list[list[str]]:
    """The boxes by level, each above all that it points to and near those that point to it. Raises ValueError for a circle."""
    levels = dict.fromkeys(names, 0)
    for _ in names:
        for one, other in arrows:
            levels[other] = max(levels[other], levels[one] + 1)
    if any(levels[one] >= levels[other] for one, other in arrows):
        raise ValueError("the arrows make a circle")
    rows: list[list[str]] = [[name for name in names if levels[name] == level] for level in range(max(levels.values()) + 1)]
    for above, below in pairwise(rows):
        place = {name: index / len(above) for index, name in enumerate(above)}
        comes = {name: [place[one] for one, other in arrows if other == name and one in place] for name in below}
        below.sort(key=lambda name: sum(comes[name]) / len(comes[name]) if comes[name] else 0.5)
    return rows


def _box(x: float, y: float, width: float, label: str) -> str:
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{HIGH}" rx="4" fill="var(--md-default-bg-color,#fff)" '
        f'stroke="currentColor"/><text x="{x + width / 2:.0f}" y="{y + HIGH / 2 + 4:.0f}" text-anchor="middle">'
        f"{escape(label)}</text>"
    )


def _line(start: tuple[float, float], width: float, end: tuple[float, float], other: float, tip: str) -> str:
    (x, y), (to, down) = start, end
    x, to, y = x + width / 2, to + other / 2, y + HIGH
    bend = (down - y) / 2
    return (
        f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to:.0f} {down - bend:.0f} {to:.0f} {down:.0f}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".5" marker-end="url(#{tip})"/>'
    )
