"""Plots as inline SVG, without external fonts, scripts or images. The output is reproducible."""

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

#: Maximum configurations of a plot.
MOST: Final = 24

_WIDTH: Final = 8.0  #: inches
_INK, _BAND, _DEEP, _FAINT = "#1b2733", "#9dc3e6", "#1f5f99", "#d9e0e6"


def ranges(rows: Sequence[tuple[str, Mapping[str, Any]]], unit: str, name: str, title: str) -> str:
    """Plots range and percentiles of each configuration; `rows`: names and rows of `summaries`."""
    shown = rows[:MOST]
    with _axes(1.1 + 0.34 * len(shown), name, title) as (axes, made):
        for place, (_, row) in enumerate(shown):
            axes.plot([row["least"], row["most"]], [place, place], color=_FAINT, linewidth=7, solid_capstyle="round")
            axes.plot([row["p50"], row["p90"]], [place, place], color=_BAND, linewidth=7, solid_capstyle="round")
        for column, marker in (("p50", "o"), ("p90", "D"), ("p99", "|")):
            axes.plot(
                [row[column] for _, row in shown],
                list(range(len(shown))),
                marker=marker,
                linestyle="none",
                color=_DEEP,
                markersize=6,
                label=column,
            )
        axes.set_yticks(range(len(shown)), [_short(label) for label, _ in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlim(left=min(0.0, *(row["least"] for _, row in shown)))
        axes.set_xlabel(unit)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.36 / len(shown) + 0.05), ncols=3, frameon=False)
    return made[0]


def curve(points: Sequence[tuple[int, float]], unit: str, name: str, title: str) -> str:
    """Plots a figure by round."""
    with _axes(2.4, name, title) as (axes, made):
        axes.plot([number for number, _ in points], [value for _, value in points], color=_DEEP, linewidth=1.6)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("round")
        axes.set_ylabel(unit)
    return made[0]


@contextmanager
def _axes(height: float, name: str, title: str) -> Iterator[tuple[Axes, list[str]]]:
    """A context with axes, and a list to which the SVG is added at the end."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text, for screen readers and searches; dollar signs are no formulas; ids are derived from the name.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,
        "font.size": 9,
        "font.family": "DejaVu Sans",
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # characters that the font lacks; a browser has them
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
    return text if len(text) <= 48 else f"{text[:47]}…"  # noqa: PLR2004  # the width of the plot
