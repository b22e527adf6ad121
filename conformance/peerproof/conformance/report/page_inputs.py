"""What a page of reports is made of: records, and files with mutation scores and model coverage beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.report.html.page import ReportExtras, page
from peerproof.conformance.report.record import Report, implementation_name
from peerproof.conformance.vectors.suite import Suite

_SCORE: Final = ("mutants", "killed", "equivalent", "score", "survivors")


class BadExtra(ValueError):
    """A file is not what a page can show beside its reports; the message names it."""


def load_scores(path: Path) -> Mapping[str, Any]:
    """Loads what `peerproof mutants --format json` has written. Raises BadExtra."""
    found = _protocols(path)
    for member in _SCORE:
        if any(member not in one for one in found["protocols"].values()):
            raise BadExtra(f"{path}: a protocol without {member!r}")
    return found


def load_edges(path: Path) -> Mapping[str, Any]:
    """Loads what `peerproof report edges` has written. Raises BadExtra."""
    found = _protocols(path)
    if "vectors" not in found:
        raise BadExtra(f"{path}: expected what peerproof report edges writes")
    return found


def _protocols(path: Path) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        list(found["protocols"].values())
    except OSError as error:
        raise BadExtra(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadExtra(f"{path}: expected an object with 'protocols'") from None
    return found


def render_page(
    reports: Sequence[Report], suite: Suite, scores: Mapping[str, Any] | None = None, edges: Mapping[str, Any] | None = None
) -> str:
    """
    Renders reports as one HTML page that needs no network; titles are those of the suite's vectors.

    The page says which report was made with other vectors than the suite's.
    """
    remarks = [
        f"{implementation_name(report)} was judged by other vectors than those at hand "
        f"({report.vectors['version']}, {suite.version}); titles are of those at hand"
        for report in reports
        if report.vectors.get("digest") != suite.digest
    ]
    beside = ReportExtras(scores, edges, list(dict.fromkeys(remarks)))
    return page(reports, {vector.id: vector.title for vector in suite.vectors}, beside)
