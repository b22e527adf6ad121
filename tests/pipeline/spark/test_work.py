"""The engine: units over Arrow batches, in this process and on Spark, with the same result."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.conftest import figures, plan, units

from peerproof.pipeline.spark.progress import Progress, duration
from peerproof.pipeline.spark.work import peak_mib, unit_rows, work, worker
from peerproof.pipeline.storage.batches import Batch, Output, Unit
from peerproof.pipeline.storage.tables import METRICS


def test_a_worker_is_a_generator_over_batches_that_needs_no_java(tmp_path: Path) -> None:
    with Batch.open(tmp_path, plan()) as batch:
        finished = worker(batch.folder, figures)(iter([unit_rows(units(2)), unit_rows([]), unit_rows(units(3)[2:])]))

        assert next(finished).column("unit").to_pylist() == [units(1)[0].name]
        assert len(batch.find_finished()) == 1
        rest = [row for rows in finished for row in rows.to_pylist()]
        assert [row["unit"] for row in rest] == [unit.name for unit in units(3)[1:]]
        assert all(row["peak_mib"] > 10 and row["wall_s"] >= 0 for row in rest)


def test_the_heaviest_units_come_first_and_finished_ones_not_again(tmp_path: Path) -> None:
    begun: list[int] = []

    def noting(unit: Unit, output: Output) -> None:
        begun.append(unit.number)
        figures(unit, output)

    weighed = [Unit(number, {"rows": 1}, weight) for number, weight in enumerate((1.0, 5.0, 5.0, 9.0))]
    with Batch.open(tmp_path, plan()) as batch:
        work(None, batch, weighed[3:], noting)
        done = work(None, batch, weighed, noting)

    assert begun == [3, 1, 2, 0]
    assert (done.units, done.found_finished) == (4, 1)
    assert 10 < done.peak_mib < peak_mib() + 1


def test_progress_is_told_by_count_and_by_weight(tmp_path: Path) -> None:
    told: list[tuple[int, int, float]] = []

    def show(done: int, total: int, share: float) -> None:
        told.append((done, total, share))

    with Batch.open(tmp_path, plan()) as batch:
        work(None, batch, [Unit(0, {"rows": 1}, 3.0), Unit(1, {"rows": 1, "number": 1}, 1.0)], figures, show)

    assert told == [(0, 2, 0.0), (1, 2, 0.75), (2, 2, 1.0)]


class Terminal(io.StringIO):
    """A stream that lines can be overwritten on."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_progress_overwrites_a_line_on_a_terminal_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 30.0, 90.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = Terminal()
    progress = Progress("simulate", stream)

    progress(0, 1200, 0.0)
    progress(300, 1200, 0.25)
    progress(1200, 1200, 1.0)
    progress.clear()

    shown = [line for line in stream.getvalue().split("\r\x1b[2K") if line]
    assert shown == [
        "simulate: 0 of 1,200 units, 0%",
        "simulate: 300 of 1,200 units, 25%, 1 min 30 s left",
        "simulate: 1,200 of 1,200 units, 100%",
    ]


def test_progress_of_a_rerun_counts_only_its_own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 10.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = Terminal()
    progress = Progress("simulate", stream)

    progress(50, 100, 0.5)
    progress(60, 100, 0.6)

    assert stream.getvalue().endswith("60 of 100 units, 60%, 40 s left")


def test_progress_elsewhere_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 2.0, 11.0, 12.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    progress = Progress("simulate", stream)

    for done in range(4):
        progress(done, 4, done / 4)

    assert stream.getvalue() == "simulate: 2 of 4 units, 50%, 10 s left\n"


def test_quiet_progress_says_nothing() -> None:
    stream = Terminal()
    progress = Progress("simulate", stream, quiet=True)

    progress(1, 2, 0.5)
    progress.clear()

    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3660, "1 h 1 min")])
def test_durations_read_like_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.slow
def test_spark_does_the_same_as_one_process(spark: Any, tmp_path: Path) -> None:
    digests = []
    for place, session in (("one", None), ("spark", spark)):
        with Batch.open(tmp_path / place, plan()) as batch:
            work(session, batch, units(9), figures)
            success = batch.commit(units(9), (METRICS,))
            digests.append((success.rows(METRICS), success.digest(METRICS)))

    assert digests[0] == digests[1]
    assert digests[0][0] == 27
