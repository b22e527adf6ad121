"""Plots, as SVG that stands in the page itself: no fonts, scripts or pictures from elsewhere, the same bytes every time."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Final

from peerproof.conformance.diagrams.labels import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Configurations of one plot.
MOST: Final = 24

_WIDTH: Final = 8.0  #: inches
_INK, _BAND, _DEEP, _FAINT = "#1b2733", "#9dc3e6", "#1f5f99", "#d9e0e6"


def ranges(rows: Sequence[tuple[str, Mapping[str, Any]]], unit: str, name: str, title: str) -> str:
    """For each configuration, from the least to the most, with the percentiles; rows are names and rows of `summaries`."""
    drawn = rows[:MOST]
    with _axes(1.1 + 0.34 * len(drawn), name, title) as (axes, made):
        for place, (_, row) in enumerate(drawn):
            axes.plot([row["least"], row["most"]], [place, place], color=_FAINT, linewidth=7, solid_capstyle="round")
            axes.plot([row["p50"], row["p90"]], [place, place], color=_BAND, linewidth=7, solid_capstyle="round")
        for column, marker in (("p50", "o"), ("p90", "D"), ("p99", "|")):
            axes.plot(
                [row[column] for _, row in drawn],
                list(range(len(drawn))),
                marker=marker,
                linestyle="none",
                color=_DEEP,
                markersize=6,
                label=column,
            )
        axes.set_yticks(range(len(drawn)), [_short(label) for label, _ in drawn])
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        axes.set_xlim(left=min(0.0, *(row["least"] for _, row in drawn)))
        axes.set_xlabel(unit)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.36 / len(drawn) + 0.05), ncols=3, frameon=False)
    return made[0]


def curve(points: Sequence[tuple[int, float]], unit: str, name: str, title: str) -> str:
    """A figure by round."""
    with _axes(2.4, name, title) as (axes, made):
        axes.plot([number for number, _ in points], [value for _, value in points], color=_DEEP, linewidth=1.6)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("round")
        axes.set_ylabel(unit)
    return made[0]


@contextmanager
def _axes(height: float, name: str, title: str) -> Iterator[tuple[Axes, list[str]]]:
    """Axes to draw on, and a list that then holds the SVG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text, for readers and searches; a dollar sign is one; ids follow from the name.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,
        "font.size": 9,
        "font.family": "DejaVu Sans",
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # signs that the font lacks, and that a browser has
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_INK)
        made: list[str] = []
        yield axes, made
        written = io.StringIO()
        figure.savefig(
            written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}, transparent=True
        )
    made.append(_inline(written.getvalue(), name, title))


def _inline(svg: str, name: str, title: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    label = f'<title id="{name}">{escape(title)}</title>'
    return re.sub(r"<svg [^>]*>", lambda found: found[0][:-1] + f' role="img" aria-labelledby="{name}">{label}', svg, count=1)


def _short(text: str) -> str:
    text = visible(text)
    return text if len(text) <= 48 else f"{text[:47]}…"  # noqa: PLR2004  # what fits
