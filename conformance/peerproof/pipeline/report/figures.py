"""Small plots as inline SVG in the colours of the page. The output is reproducible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.report.html.environment import format_number

#: Maximum configurations of a plot.
MOST: Final = 24

WIDTH: Final = 320
_TOP, _BASE, _SIDE = 14, 16, 8  #: room for a label above, for the axis below, and beside a mark
_BAR: Final = 12  #: height of a bar
_LETTERS: Final = 46  #: of a configuration's name
_BARS: Final = (("all", "least", "most"), ("middle", "p50", "p90"))  #: class, from one column to another
_TICKS: Final = (("median", "p50"), ("tail", "p99"))  #: class, at a column


def has_spread(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Whether a plot shows more than one number does: there are several configurations, or values of one that differ."""
    return len(rows) > 1 or any(row["least"] != row["most"] for _, row in rows)


def ranges(rows: Sequence[tuple[str, Mapping[str, Any]]], name: str, title: str) -> str:
    """Plots the range and the percentiles of each configuration; `rows`: names and rows of `summaries`."""
    shown = rows[:MOST]
    least = min(0.0, *(row["least"] for _, row in shown))
    most = max(row["most"] for _, row in shown)
    scale = (WIDTH - 2 * _SIDE) / ((most - least) or 1)

    def x(value: float) -> str:
        return f"{_SIDE + (value - least) * scale:.1f}"

    named = len(rows) > 1
    step = _BAR + 8 + named * _TOP
    parts = []
    for place, (label, row) in enumerate(shown):
        top = place * step + named * _TOP
        if named:
            parts.append(f'<text x="{_SIDE}" y="{top - 3}">{_short(label)}</text>')
        parts += [f'<path class="{bar}" d="M{x(row[begin])} {top + _BAR / 2:g}H{x(row[end])}"/>' for bar, begin, end in _BARS]
        parts += [f'<path class="{tick}" d="M{x(row[column])} {top - 2}v{_BAR + 4}"/>' for tick, column in _TICKS]
    height = len(shown) * step + _BASE
    return _svg(height, name, title, [*parts, *_axis(height, format_number(least), format_number(most))])


def curve(points: Sequence[tuple[int, float]], name: str, title: str) -> str:
    """Plots a figure by round."""
    height, last = 90, max(1, points[-1][0])
    most = max(value for _, value in points)
    low = height - _BASE
    line = " ".join(
        f"{_SIDE + number / last * (WIDTH - 2 * _SIDE):.1f},{low - value / (most or 1) * (low - _TOP - 2):.1f}"
        for number, value in points
    )
    parts = [f'<polyline class="line" points="{line}"/>', f'<text x="{_SIDE}" y="{_TOP - 4}">{format_number(most)}</text>']
    return _svg(height, name, title, [*parts, *_axis(height, "round 0", f"round {format_number(last)}")])


def _axis(height: int, least: str, most: str) -> Iterator[str]:
    yield f'<path class="axis" d="M{_SIDE} {height - _BASE + 2}H{WIDTH - _SIDE}"/>'
    yield f'<text x="{_SIDE}" y="{height - 2}">{least}</text>'
    yield f'<text x="{WIDTH - _SIDE}" y="{height - 2}" text-anchor="end">{most}</text>'


def _svg(height: int, name: str, title: str, parts: Sequence[str]) -> str:
    head = f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}">'
    return "".join([head, f'<title id="{name}">{escape(visible(title))}</title>', *parts, "</svg>"])


def _short(text: str) -> str:
    text = visible(text)
    return escape(text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…")
