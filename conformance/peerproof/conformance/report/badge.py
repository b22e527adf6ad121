"""A badge for a README: a self-contained SVG file, or the JSON for a badge service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.result import STATUSES

LABEL: Final = "peerproof"

#: Background colours with a contrast of at least 4.5 to white letters.
_COLOURS: Final = {"brightgreen": "#1a7f37", "red": "#cf222e", "lightgrey": "#6e7781"}
_CELL: Final = 6.6  #: the average width of a letter of 11 pixels
_PAD: Final = 8


class Badge(NamedTuple):
    """The content of a badge."""

    label: str
    message: str
    colour: str  #: a colour name of badge services


def make_badge(reports: Sequence[Report], label: str = LABEL) -> Badge:
    """Makes the badge of several reports: green only if nothing failed, no case is missing, and some case was checked."""
    totals = [report.totals for report in reports]
    wrong = sum(counted[status] for counted in totals for status, is_wrong in STATUSES.items() if is_wrong)
    differ = sum(counted["differs"] for counted in totals)
    known = sum(counted["known"] for counted in totals)
    fine = sum(counted["passed"] + counted["tolerated"] for counted in totals)
    partial = any(report.partial for report in reports)
    parts = [f"{wrong} failing"] * bool(wrong) + [f"{fine} passing"] * bool(fine) + [f"{known} known"] * bool(known)
    parts += [f"{differ} differing"] * bool(differ)
    message = ", ".join([*(parts or ["nothing run"]), *["partial"] * partial])
    grey = partial or not (fine or known or differ)
    listed = any(report.problems for report in reports)
    return Badge(label, message, "red" if wrong or listed else "lightgrey" if grey else "brightgreen")


def as_svg(shown: Badge) -> str:
    """Renders SVG."""
    left, right = (round(len(text) * _CELL + 2 * _PAD) for text in (shown.label, shown.message))
    label, message = escape(shown.label), escape(shown.message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{label}: {message}">'
        f"<title>{label}: {message}</title>"
        f'<rect width="{left}" height="20" fill="#444c56"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[shown.colour]}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14" textLength="{left - 2 * _PAD}">{label}</text>'
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 2 * _PAD}">{message}</text>'
        "</g></svg>\n"
    )


def as_endpoint(shown: Badge) -> str:
    """Renders the JSON of a shields.io endpoint."""
    plain = {"schemaVersion": 1, "label": shown.label, "message": shown.message, "color": shown.colour}
    return json.dumps({**plain, "isError": shown.colour == "red"}) + "\n"


FORMATS: Final = {"svg": as_svg, "json": as_endpoint}
