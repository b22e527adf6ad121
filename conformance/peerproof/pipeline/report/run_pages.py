"""Runs with findings in the explorer: the time line of each, within the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from pyarrow.dataset import dataset, field  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.explorer.page_file import page_with, script_text
from peerproof.conformance.explorer.recorded_run import TooLarge
from peerproof.conformance.explorer.trace_run import run_of_reader
from peerproof.conformance.report.html.page import Explored
from peerproof.conformance.traces.file_check import NoTrace
from peerproof.conformance.traces.trace_diagram import NoTrace as NothingDrawn
from peerproof.conformance.traces.trace_diagram import Read, Reader
from peerproof.pipeline.report.report_data import Gathered, Row
from peerproof.pipeline.storage.tables import TRACES
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import LINE, Line

#: The most runs of a page, and the most events of one of them.
MOST_RUNS: Final = 10
MOST_EVENTS: Final = 2_000


def explore_runs(found: Gathered) -> Explored | None:
    """
    Returns a page of the explorer with the runs of the findings that are shown; None if there is none.

    A run that has more than `MOST_EVENTS` events is left out, and one of which only messages are known.
    """
    shown: list[dict[str, Plain]] = []
    places: dict[tuple[int, str], int] = {}
    wanted = list(dict.fromkeys(str(row["run_id"]) for row in found.violations))[:MOST_RUNS]
    for run, rows in _rows(found, wanted).items():
        with suppress(NoTrace, NothingDrawn, TooLarge, MalformedMessage):
            lines = [Read(1, _line(row)) for row in rows]
            shown.append(run_of_reader(Reader(lines=lines)).whole())
            places[0, run] = len(shown) - 1
    return Explored(page_with({"runs": shown}), script_text(), places) if shown else None


def _rows(found: Gathered, runs: Sequence[str]) -> dict[str, list[Row]]:
    """Returns the events of each run, each node's in order, in one pass over the tables; without runs that have too many."""
    rows: dict[str, list[Row]] = {run: [] for run in runs}
    for file in (file for batch in found.batches for file in batch.files(TRACES)):
        if not rows:
            break
        for part in dataset(file).to_batches(filter=field("run_id").isin(list(rows))):
            for run in {*part.column("run_id").to_pylist()} & rows.keys():
                if len(rows[run]) > MOST_EVENTS:
                    del rows[run]
            for row in part.to_pylist():
                if row["run_id"] in rows:
                    rows[row["run_id"]].append(row)
    return {run: events for run, events in rows.items() if len(events) <= MOST_EVENTS}


def _line(row: Row) -> Line:
    plain = {name: json.loads(row[name] or "null") for name in ("args", "picks", "effects")}
    whole = {**{name: row[name] for name in ("protocol", "impl", "node", "seq", "t_us", "kind", "peer")}, **plain}
    line: Line = LINE.value({**whole, "run": row["run_id"], "state": row["state_hash"], "refused": row["refused"]})
    return line
