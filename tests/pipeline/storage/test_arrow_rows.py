"""Rows of a node in an Arrow batch and in a list of events: the same columns."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.pipeline.clusters import of_node, simulated, traces_batch

from peerproof.conformance.traces.events import Event, EventRows, Rows, column_text
from peerproof.pipeline.storage.arrow_rows import ArrowRows, read_batches, read_rows, split_by_node
from peerproof.pipeline.storage.tables import TRACES

PLAIN = of_node(simulated())
HEX = [event._replace(node=column_text("\udcff"), peer=event.peer and column_text(f"{event.peer}\udcff")) for event in PLAIN]
PLACED = [event._replace(src_file="a.jsonl", src_off=10 * event.seq) for event in PLAIN]
OF_TWO_FILES = [event._replace(src_file=f"{event.seq % 2}.jsonl") for event in PLACED]
PARTLY = [PLACED[0], *PLAIN[1:]]
OF_A_CAPTURE = [event._replace(args=None, picks=None, effects=None, payload=b"x", bytes=1) for event in PLAIN]


@pytest.mark.parametrize("events", [PLAIN, HEX, PLACED, OF_TWO_FILES, PARTLY, OF_A_CAPTURE, PLAIN[:1]])
def test_both_kinds_of_rows_hold_the_same(events: list[Event]) -> None:
    assert _columns_of(ArrowRows(traces_batch(events))) == _columns_of(EventRows(events))


def test_rows_are_read_by_node_and_by_place(tmp_path: Path) -> None:
    lines = simulated()
    nodes = [of_node(lines, f"n{number}:1") for number in range(3)]
    file = tmp_path / "traces.parquet"
    pq.write_table(pa.Table.from_batches([TRACES.batch([event for node in nodes for event in node])]), file, row_group_size=50)
    begin, count = len(nodes[0]), len(nodes[1])

    every = [rows for batch in read_batches(file) for rows in split_by_node(batch)]
    assert _events(*every) == [*nodes[0], *nodes[1], *nodes[2]]
    assert _events(*read_rows(file, begin, count, 7)) == nodes[1]


def _events(*several: Rows) -> list[Event]:
    return [rows.event(index) for rows in several for index in range(len(rows))]


def _columns_of(rows: Rows) -> list[object]:
    columns = [(rows.column(name), rows.is_null(name), rows.is_set(name)) for name in Event._fields]
    derived = [rows.seqs, rows.times, rows.offsets, rows.kinds, rows.peers, rows.members]
    return [rows.run_id, rows.node, rows.protocol, _events(rows), *columns, *derived]
