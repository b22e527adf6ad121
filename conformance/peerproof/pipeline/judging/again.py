"""
Repeats the check of one node, or of a run's nodes together, without Spark; each violation names the command for it.

If a divergence is at a receipt, the verdict on the node depends on the other nodes: they may not have sent the message. Usually
the sender's log has it, and no other log is read. Otherwise all nodes of the run are checked, and put in order up to the receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.events import Ref, Rows, column_text
from peerproof.conformance.traces.findings import Violation
from peerproof.conformance.traces.instants import Place, RunCheck, find_sender, has_sent
from peerproof.conformance.traces.node_check import Verdict, excuse
from peerproof.pipeline.stages.validate import CLUSTER, Validation, check_nodes, inputs, place_of
from peerproof.pipeline.storage.arrow_rows import find_spans, read_batches, read_rows, split_by_node
from peerproof.pipeline.storage.tables import TRACES
from peerproof.spec.collector import no_collector

#: Called with the number of events so far, and of all.
Progress: TypeAlias = Callable[[int, int], None]

#: Makes the progress display of a step from its name.
Show: TypeAlias = Callable[[str], Progress]


class _Checked(NamedTuple):
    """A node after its check."""

    place: Place
    verdict: Verdict
    rows: list[Violation]

    def excused(self) -> _Checked:
        """The same, for the case that no node has sent what it receives at the suspect event."""
        assert self.place.suspect is not None
        rows, verdict = excuse(self.place.suspect, self.rows, self.verdict)
        return self._replace(rows=rows, verdict=verdict)


def findings(
    todo: Validation, run: str, node: str | None, show: Show = lambda _: lambda *_: None
) -> list[tuple[Verdict, list[Violation]]]:
    """Returns verdict and rows of `violations`: of one node, or of all nodes of a run and then of the whole cluster."""
    with no_collector():
        checked = _check_nodes(todo, run, node, show("nodes"))
        suspects = [each for each in checked if each.place.suspect is not None and todo.every]
        never_sent: set[str] = set()
        cluster: list[tuple[Verdict, list[Violation]]] = []
        if node is not None:
            never_sent = {node for each in suspects if _is_never_sent(todo, each.place, show)}
        elif todo.every and (together := _check_together(todo, [each.place for each in checked], show)):
            never_sent = together.never_sent
            cluster = [(together.verdict(), list(together.findings.rows()))]
        said = [each.excused() if each in suspects and each.place.node in never_sent else each for each in checked]
        return [*((each.verdict, each.rows) for each in said), *cluster]


def _check_nodes(todo: Validation, run: str, node: str | None, progress: Progress) -> list[_Checked]:
    """Checks one node of a run, or all of them."""
    checked: list[_Checked] = []
    files = _files(todo)
    total, done = sum(pq.read_metadata(file).num_rows for file in files), 0

    def show_read(events: int) -> None:
        nonlocal done
        done += events
        progress(done, total)

    for file in files:
        begins: dict[str, int] = {}
        for check, _, verdict in check_nodes(_filter_batches(file, run, node, begins, show_read), todo.options):
            place = place_of(check, str(file), begins[check.node], verdict)
            checked.append(_Checked(place, verdict, list(check.findings.rows())))
    return checked


def _check_together(todo: Validation, places: list[Place], show: Show, suspect: str | None = None) -> RunCheck | None:
    """Checks the nodes of a run together, or only finds out about a suspect. Returns None if there are too few nodes."""
    if sum(place.way == "replay" for place in places) < CLUSTER:
        return None
    progress, total, done = show("all nodes together"), sum(place.events for place in places), 0

    def read_shown(file: Path, begin: int, count: int, size: int) -> Iterator[Rows]:
        nonlocal done
        for rows in read_rows(file, begin, count, size):
            yield rows
            done += len(rows)
            progress(done, total)

    check = RunCheck(sorted(places, key=lambda place: place.node), todo.every, todo.options, read_shown, suspect=suspect)
    check.run()
    return check


def _is_never_sent(todo: Validation, place: Place, show: Show) -> bool:
    """Returns True if no node has sent what a node receives at its suspect event, as far as the other logs show."""
    log = read_rows(Path(place.file), place.begin, place.events)
    receipt = next(Ref(rows, rows.seqs.index(place.suspect)) for rows in log if place.suspect in rows.seqs)
    sender = column_text(find_sender(receipt))
    batches = (batch for file in _files(todo) for batch in _filter_batches(file, place.run_id, sender))
    if has_sent((rows for batch in batches for rows in split_by_node(batch)), receipt):
        return False
    places = [each.place for each in _check_nodes(todo, place.run_id, None, show("the other nodes"))]
    together = _check_together(todo, places, show, place.node)
    return together is not None and place.node in together.never_sent


def _files(todo: Validation) -> list[Path]:
    return [file for batch in inputs(todo.place) for file in batch.files(TRACES)]


def _filter_batches(
    file: Path,
    run: str,
    node: str | None,
    begins: dict[str, int] | None = None,
    show_read: Callable[[int], None] = lambda _: None,
) -> Iterator[Any]:
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
                if begins is not None and name not in begins:
                    begins[name] = (
                        at + pc.index(pc.and_(mask, pc.equal(batch.column("node").dictionary_decode(), name)), True).as_py()
                    )
            yield kept
        at += batch.num_rows
        show_read(batch.num_rows)
