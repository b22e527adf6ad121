"""A stage that is killed at any moment and run again has the rows of one that was not, each once."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from typing import get_args

import pytest
from tests.pipeline.disturbed import PATIENCE, RUNS_IN_ALL, assert_as_undisturbed, ended, finished, killed_after, victim

from peerproof.pipeline.storage.batches import SUCCESS
from peerproof.pipeline.storage.failpoints import VARIABLE, Point

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("point", "nth", "units", "done"),
    [
        ("unit-written", 1, 0, False),
        ("unit-written", 4, 3, False),
        ("unit-before-rename", 1, 0, False),
        ("unit-before-rename", 4, 1, False),
        ("unit-renamed", 3, 2, False),
        ("before-commit", 1, RUNS_IN_ALL, False),
        ("after-commit", 1, RUNS_IN_ALL, True),
    ],
)
def test_killed_at_a_point_and_run_again(
    point: Point, nth: int, units: int, done: bool, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    place, folder = tmp_path / "out", tmp_path / "passed"
    folder.mkdir()

    assert ended(place, environment={VARIABLE: f"{point}:{nth}:{folder}"}) == -signal.SIGKILL
    assert (finished(place), bool(list(place.glob(f"*/{SUCCESS}")))) == (units, done)
    assert ended(place) == 0

    assert_as_undisturbed(place, undisturbed)


def test_every_point_is_tried() -> None:
    (parametrize,) = test_killed_at_a_point_and_run_again.pytestmark  # type: ignore[attr-defined]  # pytest's own

    assert {case[0] for case in parametrize.args[1]} == set(get_args(Point))


def test_killed_at_random_again_and_again(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    """Each time from where the last one has come to; what is finished is not done again."""
    chance = random.Random(1)
    place = tmp_path / "out"
    for units in sorted(chance.sample(range(RUNS_IN_ALL), 3)):
        with victim(place) as process:
            killed_after(process, place, units, chance.random() * 0.02)
    kept = {path: path.stat().st_mtime_ns for path in place.glob("*/traces/0*.parquet") if has_mark(path)}

    assert ended(place) == 0

    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert_as_undisturbed(place, undisturbed)


def has_mark(path: Path) -> bool:
    """The unit of this file is finished."""
    return (path.parents[1] / "units" / f"{path.stem}.json").exists()


@pytest.mark.slow
@pytest.mark.kill
def test_spark_killed_while_a_unit_is_renamed_and_run_again(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    """The driver dies at the moment at which one of its workers is between two renames."""
    place, folder = tmp_path / "out", tmp_path / "passed"
    folder.mkdir()
    point = {VARIABLE: f"unit-before-rename:4:{folder}"}

    with victim(place, "--master", "local[2,4]", environment=point) as process:
        (folder / "victim").write_text(str(process.pid), encoding="ascii")
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
    assert not list(place.glob(f"*/{SUCCESS}"))

    assert ended(place) == 0
    assert_as_undisturbed(place, undisturbed)


@pytest.mark.slow
@pytest.mark.kill
def test_a_python_worker_that_dies_is_replaced(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    place, folder = tmp_path / "out", tmp_path / "passed"
    folder.mkdir()

    assert ended(place, "--master", "local[2,4]", environment={VARIABLE: f"unit-renamed:2:{folder}"}) == 0

    assert (folder / "unit-renamed.2").exists()
    assert_as_undisturbed(place, undisturbed)
