"""What is found of one node, or of one run's nodes together, shown again without Spark: the command that each violation names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.pipeline.instants import Place, RunCheck
from peerproof.conformance.pipeline.node_check import Verdict
from peerproof.conformance.pipeline.rows import read
from peerproof.conformance.pipeline.tables import TRACES
from peerproof.conformance.pipeline.validate import Validation, inputs, judged


def findings(todo: Validation, run: str, node: str | None) -> Iterator[tuple[Verdict, list[tuple[Any, ...]]]]:
    """The verdict and the rows of `violations`, of a node or, without one, of all nodes of a run and then of them together."""
    places: list[Place] = []
    for batch in inputs(todo.place):
        for file in batch.files(TRACES):
            chosen = _chosen(file, run, node)
            for check, _, verdict in judged(chosen, todo.options):
                yield verdict, list(check.findings.rows())
                begin = _first_row(file, check.run_id, check.node)
                places.append(
                    Place(check.run_id, check.node, check.protocol, verdict.way, str(file), begin, verdict.n_events, check.until)
                )
    replayed = [place for place in places if place.way == "replay"]
    if node is None and todo.every and len(replayed) > 1:
        together = RunCheck(sorted(places, key=lambda place: place.node), todo.every, todo.options)
        together.run()
        yield together.verdict(), list(together.findings.rows())


def _chosen(file: Path, run: str, node: str | None) -> Iterator[Any]:
    """Batches with the events of one run, or node; row groups with none of them are not read."""
    with pq.ParquetFile(file) as opened:
        groups = [n for n in range(opened.num_row_groups) if _may_hold(opened.metadata.row_group(n), run)]
    for batch in read(file, groups) if groups else ():
        mask = pc.equal(batch.column("run_id").dictionary_decode(), run)
        if node is not None:
            mask = pc.and_(mask, pc.equal(batch.column("node").dictionary_decode(), node))
        kept = batch.filter(mask)
        if kept.num_rows:
            yield kept


def _may_hold(group: Any, run: str) -> bool:
    statistics = group.column(TRACES.schema.names.index("run_id")).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min <= run <= statistics.max)


def _first_row(file: Path, run: str, node: str) -> int:
    at = 0
    for batch in read(file):
        mask = pc.and_(
            pc.equal(batch.column("run_id").dictionary_decode(), run), pc.equal(batch.column("node").dictionary_decode(), node)
        )
        found = pc.index(mask, True).as_py()
        if found >= 0:
            return at + int(found)
        at += batch.num_rows
    raise AssertionError(f"{node} of {run} is not in {file}")
