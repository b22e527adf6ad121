"""The tables: one declaration, and whatever is made of it agrees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from peerproof.conformance.traces.events import Event, canonical_json, column_text, event_of, line_of, text_of
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.digests import NOTHING, digest, sum_of
from peerproof.pipeline.storage.tables import (
    METRICS,
    RUNS,
    TABLES,
    TRACES,
    RowBuffer,
    WrongSchema,
    check_schema,
    documentation,
    line_schema,
)
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.forms.form import text
from peerproof.spec.traces.trace import LINE, Line, parse

TEXTS = st.one_of(st.binary(max_size=8).map(text), st.sampled_from(["", "a:1", '{"hex":"00"}', '{"hex":"', "{", "é", "\udcff"]))


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    """A run with all kinds of lines; a payload of nine bytes makes nodes refuse commands."""
    written: list[str] = []
    plan = Campaign(RUNTIMES["scuttlebutt"], {"max_payload": 9}, nodes=3, rounds=6, seed="0", restarts=((1, 3),))
    campaign.run(plan, written.append)
    return [parse(line) for line in written]


def test_rows_of_traces_have_the_columns_of_the_table() -> None:
    assert list(Event._fields) == TRACES.schema.names


def test_each_member_of_a_trace_line_is_a_column_and_the_other_way_round() -> None:
    assert list(line_schema()["properties"]) == list(LINE.forms)


def test_lines_as_written_fit_the_schema_of_lines(lines: list[Line]) -> None:
    validator = Draft202012Validator(line_schema())

    assert {line.kind for line in lines} == {"start", "recv", "timer", "api"}
    assert {line.refused is None for line in lines} == {True, False}
    for line in lines:
        validator.validate(json.loads(line.json()))


@pytest.mark.parametrize(
    "change",
    [{"seq": -1}, {"kind": "nap"}, {"more": 1}, {"picks": [["why"]]}, {"effects": [{}]}, {"node": {"hex": "f"}}, {"seq": None}],
)
def test_what_is_no_line_does_not_fit_the_schema(lines: list[Line], change: dict[str, Any]) -> None:
    assert not Draft202012Validator(line_schema()).is_valid(json.loads(lines[0].json()) | change)


@given(run=TEXTS, node=TEXTS, peer=st.none() | TEXTS, option=TEXTS, state=st.none() | TEXTS, refused=st.none() | TEXTS)
def test_a_line_with_any_texts_survives_the_table(
    run: str, node: str, peer: str | None, option: str, state: str | None, refused: str | None
) -> None:
    line = Line(
        run, "p", "i", node, 2**53, 0, "api", peer, {"x": [1, None]}, (("why", (option, 7)),), ({"a": {}},), state, refused
    )

    (event,) = events(TRACES.batch([event_of(line)]))

    assert line_of(event) == line


@given(value=TEXTS)
def test_every_text_has_one_form_in_a_column(value: str) -> None:
    assert text_of(column_text(value)) == value
    column_text(value).encode()


@given(one=TEXTS, other=TEXTS)
def test_two_texts_have_two_forms_in_a_column(one: str, other: str) -> None:
    assert (column_text(one) == column_text(other)) == (one == other)


def test_a_capture_is_no_trace_line(lines: list[Line]) -> None:
    with pytest.raises(ValueError, match="no picks or effects"):
        line_of(event_of(lines[0])._replace(picks=None))


@pytest.mark.parametrize("value", [{"b": 1, "a": [2, {"d": "é", "c": None}]}, "\ud800", 2**70, {"x": -5, "y": True}])
def test_canonical_json_is_json_with_sorted_members(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value
    assert canonical_json({"b": value, "a": 1}).startswith('{"a":1,"b":')
    canonical_json(value).encode()


def test_a_file_says_which_table_in_which_version_it_is_part_of(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_batches([METRICS.batch([])]), tmp_path / "m.parquet")
    schema = pq.read_schema(tmp_path / "m.parquet")

    check_schema(schema, METRICS, "m.parquet")
    with pytest.raises(WrongSchema, match=r"m\.parquet is no part of the table runs but of metrics"):
        check_schema(schema, RUNS, "m.parquet")
    with pytest.raises(WrongSchema, match="has schema version 0, this peerproof reads and writes 3: make it again"):
        check_schema(schema.with_metadata({"peerproof.table": "metrics", "peerproof.schema": "0"}), METRICS, "m.parquet")
    with pytest.raises(WrongSchema, match="has not the columns of metrics"):
        check_schema(schema.remove(0), METRICS, "m.parquet")
    with pytest.raises(WrongSchema, match=r"is no part of the table metrics$"):
        check_schema(schema.remove_metadata(), METRICS, "m.parquet")


def test_documentation_has_every_column_of_every_table() -> None:
    shown = documentation()

    for table in TABLES.values():
        assert f"## `{table.name}`" in shown
        assert all(f"| `{column.name}` |" in shown for column in table.columns)
        assert {*table.key} <= {column.name for column in table.columns}


@pytest.mark.slow
def test_spark_reads_the_same_columns(spark: Any, tmp_path: Path) -> None:
    for table in TABLES.values():
        pq.write_table(pa.Table.from_batches([table.batch([])]), tmp_path / f"{table.name}.parquet")

        declared = spark.createDataFrame([], table.ddl)
        assert spark.read.parquet(str(tmp_path / f"{table.name}.parquet")).schema == declared.schema


ROWS = [("r", "p", "m", number, None, 0.5, "s") for number in range(4)]


def test_a_digest_does_not_depend_on_order_or_on_parts() -> None:
    whole = digest(METRICS.batch(ROWS), METRICS.digest_columns)

    assert digest(METRICS.batch(ROWS[::-1]), METRICS.digest_columns) == whole
    assert sum_of(digest(METRICS.batch(part), METRICS.digest_columns) for part in (ROWS[3:], [], ROWS[:3])) == whole
    assert sum_of([]) == digest(METRICS.batch([]), METRICS.digest_columns) == NOTHING


@pytest.mark.parametrize(
    "other",
    [
        ROWS[:3],
        [*ROWS, ROWS[0]],
        [*ROWS[:3], ("r", "p", "m", 3, "", 0.5, "s")],
        [*ROWS[:3], ("r", "p", "m:3", None, None, 0.5, "s")],
        [*ROWS[:3], ("r", "p", "m", 3, None, 0.25, "s")],
        [*ROWS[:3], ("rp", "", "m", 3, None, 0.5, "s")],
    ],
)
def test_other_rows_have_another_digest(other: list[tuple[Any, ...]]) -> None:
    assert digest(METRICS.batch(other), METRICS.digest_columns) != digest(METRICS.batch(ROWS), METRICS.digest_columns)


def test_what_is_measured_is_no_part_of_a_digest() -> None:
    table = replace(METRICS, columns=tuple(replace(column, measured=column.name == "value") for column in METRICS.columns))
    slower = [(*row[:5], 9.9, row[6]) for row in ROWS]

    assert digest(table.batch(slower), table.digest_columns) == digest(table.batch(ROWS), table.digest_columns)


def test_a_buffer_writes_each_row_once_and_in_order() -> None:
    lots: list[list[int]] = []
    buffer = RowBuffer(lambda _, batch: lots.append(batch.column("round").to_pylist()), 2)

    for number in range(3):
        buffer.add(METRICS, (*ROWS[0][:3], number, *ROWS[0][4:]))
    buffer.flush()
    buffer.flush()

    assert lots == [[0, 1], [2]]
