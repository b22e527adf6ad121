"""
The report as one self-contained HTML page: it needs no network and no second file, and its policy forbids loading any.

Text from logs is escaped, and invisible characters are written out (`message_graph.visible`). Figures have a title, and the same
data is next to them as text or as a table. The page's own script only filters, copies and prints.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.captures.refusals import REASONS
from peerproof.conformance.report.html.environment import make_environment
from peerproof.conformance.report.html.page import Explored
from peerproof.conformance.traces.findings import cites_step
from peerproof.pipeline.ingest.inputs import find_line_number
from peerproof.pipeline.measures.metrics import ABOUT
from peerproof.pipeline.report import figures
from peerproof.pipeline.report.divergence_diagram import around
from peerproof.pipeline.report.report_data import SHOWN, Gathered, Row, configuration_names, gather
from peerproof.pipeline.report.run_pages import explore_runs
from peerproof.pipeline.storage.batches import write_whole

#: Default name of the page in its place.
NAME: Final = "report.html"

#: Maximum configurations in a table; summaries.csv has all of them.
LISTED: Final = 60

#: Columns of `summaries` that a table shows -> their heads.
STATISTICS: Final = {
    "count": "values",
    "total": "total",
    "least": "minimum",
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "most": "maximum",
}

SEVERITIES: Final = {
    "violates": "violates: contradicts the protocol's document",
    "differs": "differs: contradicts a decision of ours only",
    "undetermined": "undetermined: could not be decided",
    "log": "log: a fault of the log, not of the protocol",
}

#: Verdict on a node -> the class of its text; the worst one first.
VERDICTS: Final = {"rejected": "bad", "undetermined": "differing", "differs": "differing", "accepted": "good"}

#: How a node was checked -> in words.
WAYS: Final = {
    "replay": "step by step",
    "relation": "step by step, without the random choices",
    "monitor": "by messages alone",
    "cluster": "all nodes together",
}

#: Characters of a value that are shown; the tables have the rest.
LONGEST: Final = 8_000


def write(place: Path, to: Path | None = None) -> tuple[Path, Gathered]:
    """Writes the page of a place atomically. Returns its path and data. Raises NothingToReport, WrongSchema."""
    found = gather(place)
    path = to or place / NAME
    write_whole(path, page(found, explore_runs(found)))
    return path, found


def page(found: Gathered, explored: Explored | None = None) -> str:
    """Renders the page; runs in `explored` open in the explorer."""
    environment = make_environment("peerproof.pipeline.report", scripts=("shared.js", "pipeline.js"), longest=LONGEST)
    return environment.get_template("pipeline.html.j2").render(
        found=found,
        metrics=_metrics(found),
        about=ABOUT,
        around=around,
        cites_step=cites_step,
        explored=explored,
        figures=figures,
        first_bytes=_first_bytes,
        listed=LISTED,
        place=_place,
        plain_json=_plain_json,
        reasons=REASONS,
        severities=SEVERITIES,
        shown=SHOWN,
        statistics=STATISTICS,
        values=itemgetter(*STATISTICS),
        verdict_classes=VERDICTS,
        verdicts=sorted(found.ways.items(), key=lambda item: list(VERDICTS).index(item[0][2])),
        ways=WAYS,
    )


def _metrics(found: Gathered) -> Mapping[str, Mapping[tuple[str, str], list[tuple[str, Row]]]]:
    """Returns the rows of `summaries` by protocol, then by metric and unit, each with the name of its configuration."""
    by_metric: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in found.summaries:
        by_metric[row["protocol"], row["metric"], row["unit"]].append(row)
    order = {name: place for place, name in enumerate(ABOUT)}
    metrics: dict[str, dict[tuple[str, str], list[tuple[str, Row]]]] = defaultdict(dict)
    for (protocol, metric, unit), rows in sorted(by_metric.items(), key=lambda item: (item[0][0], order.get(item[0][1], 99))):
        names = configuration_names(row["config_json"] for row in rows)
        metrics[protocol][metric, unit] = [(names[row["config_json"]], row) for row in rows]
    return metrics


def _place(violation: Row) -> str | None:
    """The file and the line of a violation, or the byte if the line is not known; None if it has no place."""
    name, offset = violation["src_file"], violation["src_off"]
    if name is None:
        return None
    if offset is None:
        return str(name)
    line = find_line_number(name, offset)
    return f"{name}:{line}" if line else f"{name}, byte {offset}"


def _first_bytes(raw: bytes) -> str:
    return repr(raw[:80])[2:-1]


def _plain_json(plain: Any) -> str:
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= 2000 else f"{text[:2000]}…"  # noqa: PLR2004  # the rest is in plan.json
