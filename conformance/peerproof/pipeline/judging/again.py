"""Repeats the check of one node, or of a run's nodes together, without Spark; each violation names the command for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.instants import Place, RunCheck
from peerproof.conformance.traces.node_check import Verdict
from peerproof.pipeline.stages.validate import Validation, check_nodes, inputs
from peerproof.pipeline.storage.arrow_rows import find_spans, read_batches, read_rows
from peerproof.pipeline.storage.tables import TRACES


def findings(todo: Validation, run: str, node: str | None) -> Iterator[tuple[Verdict, list[tuple[Any, ...]]]]:
    """Yields verdict and rows of `violations`: of one node, or of all nodes of a run and then of the whole cluster."""
    places: list[Place] = []
    for batch in inputs(todo.place):
        for file in batch.files(TRACES):
            begins: dict[str, int] = {}
            for check, _, verdict in check_nodes(_filter_batches(file, run, node, begins), todo.options):
                yield verdict, list(check.findings.rows())
                begin = begins[check.node]
                places.append(
                    Place(run, check.node, check.protocol, verdict.way, str(file), begin, verdict.n_events, check.until)
                )
    replayed = sum(place.way == "replay" for place in places)
    if node is None and todo.every and replayed > 1:
        together = RunCheck(sorted(places, key=lambda place: place.node), todo.every, todo.options, read_rows)
        together.run()
        yield together.verdict(), list(together.findings.rows())


def _filter_batches(file: Path, run: str, node: str | None, begins: dict[str, int]) -> Iterator[Any]:
    """Yields batches with the events of one run, or node; records in `begins` the first row of each node."""
    at = 0
    for batch in read_batches(file):
        mask = pc.equal(batch.column("run_id").dictionary_decode(), run)
        if node is not None:
            mask = pc.and_(mask, pc.equal(batch.column("node").dictionary_decode(), node))
        kept = batch.filter(mask)
        if kept.num_rows:
            for begin, _ in find_spans(kept):
                name = kept.column("node")[begin].as_py()
                if name not in begins:
                    begins[name] = (
                        at + pc.index(pc.and_(mask, pc.equal(batch.column("node").dictionary_decode(), name)), True).as_py()
                    )
            yield kept
        at += batch.num_rows
