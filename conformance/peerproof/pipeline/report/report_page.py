"""
The report as one self-contained HTML page: it needs no network, script or second file, and its policy forbids loading any.

Text from logs is escaped, and invisible characters are written out (`message_graph.visible`). Figures have a title, and the same
data is next to them as text or as a table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.captures.refusals import REASONS
from peerproof.conformance.report.html.environment import make_environment
from peerproof.pipeline.measures.metrics import ABOUT
from peerproof.pipeline.measures.summaries import PERCENTILES
from peerproof.pipeline.report import figures
from peerproof.pipeline.report.divergence_diagram import around
from peerproof.pipeline.report.report_data import SHOWN, Gathered, Row, configuration_names, gather
from peerproof.pipeline.storage.batches import write_whole

#: Default name of the page in its place.
NAME: Final = "report.html"

#: Maximum configurations in a table; summaries.csv has all of them.
LISTED: Final = 60

#: The columns of `summaries` that a table shows.
STATISTICS: Final = ("count", "total", "least", "mean", *PERCENTILES, "most")


def write(place: Path, to: Path | None = None) -> tuple[Path, Gathered]:
    """Writes the page of a place atomically. Returns its path and data. Raises NothingToReport, WrongSchema."""
    found = gather(place)
    path = to or place / NAME
    write_whole(path, page(found))
    return path, found


def page(found: Gathered) -> str:
    """Renders the page."""
    return (
        make_environment("peerproof.pipeline.report")
        .get_template("pipeline.html.j2")
        .render(
            found=found,
            metrics=_metrics(found),
            about=ABOUT,
            around=around,
            figures=figures,
            first_bytes=_first_bytes,
            listed=LISTED,
            plain_json=_plain_json,
            reasons=REASONS,
            shown=SHOWN,
            statistics=STATISTICS,
            values=itemgetter(*STATISTICS),
        )
    )


def _metrics(found: Gathered) -> dict[tuple[str, str, str], list[tuple[str, Row]]]:
    """Returns the rows of `summaries` by protocol, metric and unit, each with the name of its configuration."""
    by_metric: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in found.summaries:
        by_metric[row["protocol"], row["metric"], row["unit"]].append(row)
    order = {name: place for place, name in enumerate(ABOUT)}
    metrics = {}
    for key, rows in sorted(by_metric.items(), key=lambda item: (item[0][0], order.get(item[0][1], 99))):
        names = configuration_names(row["config_json"] for row in rows)
        metrics[key] = [(names[row["config_json"]], row) for row in rows]
    return metrics


def _first_bytes(raw: bytes) -> str:
    return repr(raw[:80])[2:-1]


def _plain_json(plain: Any) -> str:
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= 2000 else f"{text[:2000]}…"  # noqa: PLR2004  # the rest is in plan.json
