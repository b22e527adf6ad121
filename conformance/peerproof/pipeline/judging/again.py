"""Repeats the check of one node, or of a run's nodes together, without Spark; each violation names the command for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.traces.findings import Violation
from peerproof.conformance.traces.instants import Place, RunCheck
from peerproof.conformance.traces.node_check import Verdict, excuse
from peerproof.pipeline.stages.validate import CLUSTER, Validation, check_nodes, inputs, place_of
from peerproof.pipeline.storage.arrow_rows import find_spans, read_batches, read_rows
from peerproof.pipeline.storage.tables import TRACES


def findings(todo: Validation, run: str, node: str | None) -> Iterator[tuple[Verdict, list[tuple[Any, ...]]]]:
    """Yields verdict and rows of `violations`: of one node, or of all nodes of a run and then of the whole cluster."""
    places: list[Place] = []
    nodes: list[tuple[Verdict, list[Violation], int | None]] = []
    for batch in inputs(todo.place):
        for file in batch.files(TRACES):
            begins: dict[str, int] = {}
            for check, _, verdict in check_nodes(_filter_batches(file, run, node, begins), todo.options):
                nodes.append((verdict, list(check.findings.rows()), check.suspect))
                places.append(place_of(check, str(file), begins[check.node], verdict))
    if node is not None and todo.every and any(suspect is not None for *_, suspect in nodes):
        yield from (found for found in findings(todo, run, None) if found[0].node == node)
        return
    together: RunCheck | None = None
    if node is None and todo.every and sum(place.way == "replay" for place in places) >= CLUSTER:
        together = RunCheck(sorted(places, key=lambda place: place.node), todo.every, todo.options, read_rows)
        together.run()
    for verdict, rows, suspect in nodes:
        is_excused = together is not None and suspect is not None and verdict.node in together.never_sent
        found, said = excuse(suspect, rows, verdict) if is_excused and suspect is not None else (rows, verdict)
        yield said, list(found)
    if together is not None:
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
