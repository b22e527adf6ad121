"""The commit protocol: what readers see, what is refused, what is done again, and what is left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.conftest import figures, plan, units

from peerproof.pipeline.spark.work import work
from peerproof.pipeline.storage.batches import Batch, Output, Refused, Unit, find_uncommitted, successes, table_files, write_whole
from peerproof.pipeline.storage.status import collect, standings
from peerproof.pipeline.storage.tables import MANIFEST, METRICS, TRACES, WrongSchema


def complete(place: Path, count: int = 3, **arguments: int) -> None:
    """A committed batch of so many units."""
    with Batch.open(place, plan(**arguments)) as batch:
        work(None, batch, units(count), figures)
        batch.commit(units(count), (METRICS,))


def test_readers_see_a_batch_from_its_commit_on(tmp_path: Path) -> None:
    with Batch.open(tmp_path, plan()) as batch:
        work(None, batch, units(2), figures)

        assert table_files(tmp_path, METRICS) == []
        assert find_uncommitted(tmp_path) == [batch.folder]
        batch.commit(units(2), (METRICS,))
        assert [pq.read_metadata(file).num_rows for file in table_files(tmp_path, METRICS)] == [3, 3]
        assert find_uncommitted(tmp_path) == []


def test_a_committed_batch_tells_what_made_it(tmp_path: Path) -> None:
    complete(tmp_path, runs=3)

    (success,) = successes(tmp_path)
    told = success.told
    assert (told["stage"], told["arguments"], told["seeds"], told["versions"]) == ("figures", {"runs": 3}, ["0"], {"spec": "1"})
    assert (told["inputs"], told["schema"], told["units"]) == ([], 3, 3)
    assert (success.rows(METRICS), success.rows(TRACES)) == (9, 0)
    assert success.folder.name == f"figures-{plan(runs=3).batch_id}"
    (row,) = pq.read_table(success.folder / "manifest" / "manifest.parquet", schema=MANIFEST.schema).to_pylist()
    expected = {"batch_id": success.batch_id, "table": "metrics", "rows": 9, "digest": success.digest(METRICS)}
    assert expected.items() <= row.items()


def test_the_batch_id_is_16_digits_of_the_plan_whatever_the_order_of_its_members() -> None:
    assert plan(a=1, b=2).batch_id == plan(b=2, a=1).batch_id
    assert plan(a=1, b=2).batch_id != plan(a=1, b=3).batch_id
    assert len(plan().batch_id) == 16


@pytest.mark.parametrize("is_complete", [True, False])
def test_other_arguments_in_the_same_place_are_refused_and_the_difference_is_named(tmp_path: Path, is_complete: bool) -> None:
    with Batch.open(tmp_path, plan(runs=3)) as batch:
        if is_complete:
            batch.commit([], (METRICS,))

    with pytest.raises(Refused, match=r"another figures: arguments\.runs: 3 there, 4 now; use another"):
        complete(tmp_path, runs=4)


@pytest.mark.parametrize("act", [complete, collect])
def test_a_second_process_at_the_same_work_is_refused(tmp_path: Path, act: Callable[[Path], object]) -> None:
    with Batch.open(tmp_path, plan()), pytest.raises(Refused, match="another process is running figures"):
        act(tmp_path)


def test_the_same_work_again_does_nothing(tmp_path: Path) -> None:
    complete(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}

    complete(tmp_path)

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before


def test_a_commit_needs_all_units(tmp_path: Path) -> None:
    with Batch.open(tmp_path, plan()) as batch:
        work(None, batch, units(2), figures)
        with pytest.raises(RuntimeError, match="1 of 3 units are not finished; run the same command again"):
            batch.commit(units(3), (METRICS,))


def test_units_cut_otherwise_are_other_units_and_readers_see_only_what_was_committed(tmp_path: Path) -> None:
    with Batch.open(tmp_path, plan()) as batch:
        work(None, batch, [Unit(0, {"rows": 6, "number": 0})], figures)
        work(None, batch, units(2), figures)
        batch.commit(units(2), (METRICS,))

    assert sum(pq.read_metadata(file).num_rows for file in table_files(tmp_path, METRICS)) == 6
    assert collect(tmp_path)[0] == 1
    assert sum(pq.read_metadata(file).num_rows for file in table_files(tmp_path, METRICS)) == 6


def test_a_unit_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(unit: Unit, output: Output) -> None:
        figures(unit, output)
        raise ValueError("a fault")

    with Batch.open(tmp_path, plan()) as batch:
        with pytest.raises(ValueError, match="a fault"):
            work(None, batch, units(2), fails)

        assert batch.find_finished() == set()
        assert [path.name for path in batch.folder.rglob("*") if path.is_file()] == ["plan.json"]


def test_a_unit_may_write_nothing(tmp_path: Path) -> None:
    complete(tmp_path, count=0)
    with Batch.open(tmp_path / "other", plan()) as batch:
        work(None, batch, units(2, rows=0), figures)
        success = batch.commit(units(2, rows=0), (METRICS,))

    assert success.rows(METRICS) == 0
    assert table_files(tmp_path, METRICS) == []


def test_a_file_of_another_schema_is_not_read(tmp_path: Path) -> None:
    complete(tmp_path, count=1)
    (file,) = table_files(tmp_path, METRICS)
    pq.write_table(pq.read_table(file).drop_columns(["unit"]), file)

    with pytest.raises(WrongSchema, match="has not the columns of metrics"):
        table_files(tmp_path, METRICS)


def test_gc_removes_what_was_never_finished_and_keeps_batches(tmp_path: Path) -> None:
    complete(tmp_path)
    with Batch.open(tmp_path, replace(plan(), stage="others")) as batch:
        work(None, batch, units(1), figures)
        (batch.folder / "metrics" / ".000009.parquet.host.1.2").write_bytes(b"12345")

    assert collect(tmp_path) == (1, 5)
    assert [standing.committed for standing in standings(tmp_path)] == [True, False]
    files, _ = collect(tmp_path, uncommitted_too=True)
    assert files == 3
    assert not batch.folder.exists()
    assert [(standing.committed, standing.rows) for standing in standings(tmp_path)] == [(True, {"metrics": 9})]


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "a.json", "1")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "a.json", "2")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == 1
