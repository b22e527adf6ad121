"""The engine: units over Arrow batches. What Spark makes of them is compared in the tests of the stages."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tests.pipeline.conftest import figures, plan, units

from peerproof.pipeline.spark.progress import Progress, duration
from peerproof.pipeline.spark.work import peak_mib, unit_rows, work, worker
from peerproof.pipeline.storage.batches import Batch, Output, Unit


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
        work(None, batch, [Unit(2, {"rows": 1})], figures)  # the units before these, such as those that read what these write
        work(None, batch, [Unit(0, {"rows": 1}, 3.0), Unit(1, {"rows": 1, "number": 1}, 1.0)], figures, show)

    assert told == [(0, 2, 0.0), (1, 2, 0.75), (2, 2, 1.0)]


class Terminal(io.StringIO):
    """A stream that lines can be overwritten on."""

    def isatty(self) -> bool:
        """It is one."""
        return True


OVERWRITE = "\r\x1b[2K"


def shown(*parts: str) -> list[str]:
    return [f"simulate: {part}" if part else "" for part in ("", *parts, "")]


PROGRESS = {
    "a terminal, with a line that is overwritten": (
        Terminal,
        False,
        [0, 0, 30, 90],
        [0, 300, 1200],
        shown("0 of 1,200 units, 0%", "300 of 1,200 units, 25%, 1 min 30 s left", "1,200 of 1,200 units, 100%"),
    ),
    "a rerun, which counts only its own pace": (
        Terminal,
        False,
        [0, 0, 10],
        [600, 720],
        shown("600 of 1,200 units, 50%", "720 of 1,200 units, 60%, 40 s left"),
    ),
    "elsewhere, with a line now and then": (
        io.StringIO,
        False,
        [0, 1, 2, 11, 12],
        [0, 300, 600, 900],
        ["simulate: 600 of 1,200 units, 50%, 10 s left\n"],
    ),
    "quiet": (Terminal, True, [0, 0], [600], [""]),
}


@pytest.mark.parametrize(("kind", "quiet", "seconds", "done", "lines"), PROGRESS.values(), ids=PROGRESS)
def test_progress_says_how_much_is_done_and_what_is_left(
    kind: type[io.StringIO], quiet: bool, seconds: list[float], done: list[int], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(map(float, seconds))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = kind()
    progress = Progress("simulate", stream, quiet=quiet)

    for count in done:
        progress(count, 1200, count / 1200)
    progress.clear()

    assert stream.getvalue().split(OVERWRITE) == lines


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3660, "1 h 1 min")])
def test_durations_read_like_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
