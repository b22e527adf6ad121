"""Runs with findings in the explorer: the time line of each, within the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.explorer.page_file import page_with
from peerproof.conformance.explorer.recorded_run import Run, TooLarge
from peerproof.conformance.explorer.trace_run import run_of_reader
from peerproof.conformance.report.html.page import Explored
from peerproof.conformance.traces.file_check import NoTrace
from peerproof.conformance.traces.trace_diagram import NoTrace as NothingDrawn
from peerproof.conformance.traces.trace_diagram import Read, Reader
from peerproof.pipeline.report.report_data import Gathered, Row
from peerproof.pipeline.storage.tables import TRACES
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.trace import LINE, Line

#: The most runs of a page, and the most events of one of them.
MOST_RUNS: Final = 10
MOST_EVENTS: Final = 2_000


def explore_runs(found: Gathered) -> Explored | None:
    """
    Returns a page of the explorer with the runs of the findings that are shown; None if there is none.

    A run that has more than `MOST_EVENTS` events is left out, and one of which only messages are known.
    """
    shown: list[Run] = []
    places: dict[tuple[int, str], int] = {}
    for run in list(dict.fromkeys(str(row["run_id"]) for row in found.violations))[:MOST_RUNS]:
        try:
            made = run_of_reader(Reader(lines=[Read(1, line) for line in _lines(found, run)]))
            made.whole()
        except (NoTrace, NothingDrawn, TooLarge, MalformedMessage, ValueError, TypeError):
            continue
        places[0, run] = len(shown)
        shown.append(made)
    return Explored(page_with({"runs": [run.whole() for run in shown]}), places) if shown else None


def _lines(found: Gathered, run: str) -> Iterator[Line]:
    """Yields the events of a run as trace lines, each node's in order. Raises MalformedMessage, TooLarge, ValueError."""
    count = 0
    for batch in found.batches:
        for file in batch.files(TRACES):
            for part in pq.ParquetFile(file).iter_batches():
                chosen = part.filter(_is_of(part, run))
                count += chosen.num_rows
                if count > MOST_EVENTS:
                    raise TooLarge(f"more than {MOST_EVENTS:,} events")
                yield from map(_line, chosen.to_pylist())


def _is_of(part: Any, run: str) -> Any:
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    return pc.equal(part.column("run_id"), run)


def _line(row: Row) -> Line:
    plain = {name: json.loads(row[name] or "null") for name in ("args", "picks", "effects")}
    whole = {**{name: row[name] for name in ("protocol", "impl", "node", "seq", "t_us", "kind", "peer")}, **plain}
    line: Line = LINE.value({**whole, "run": row["run_id"], "state": row["state_hash"], "refused": row["refused"]})
    return line
