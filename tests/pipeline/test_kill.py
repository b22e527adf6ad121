"""A stage that is killed at any moment and run again has the rows of one that was not, each once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.cluster import standalone

from peerproof.conformance.pipeline import simulate as stage
from peerproof.conformance.pipeline.batches import SUCCESS, committed, successes
from peerproof.conformance.pipeline.execution import Engine, execute
from peerproof.conformance.pipeline.failpoints import VARIABLE, Point
from peerproof.conformance.pipeline.grid import read
from peerproof.conformance.pipeline.session import Settings
from peerproof.conformance.pipeline.status import collect
from peerproof.conformance.pipeline.tables import RUNS, TRACES

GRID = "nodes: 3\nrounds: 10\nloss: 0.1\n"
RUNS_IN_ALL = 6
PATIENCE = 120.0


@contextmanager
def victim(place: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """The stage in a process of its own, which is gone afterwards."""
    (place.parent / "grid.yaml").write_text(GRID, encoding="utf-8")
    arguments = ["scuttlebutt", "--runs", str(RUNS_IN_ALL), "--grid", str(place.parent / "grid.yaml"), "--out", str(place)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.victim", *arguments, *(options or ("--master", "none"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | dict(environment or {}),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(place: Path, *options: str, environment: Mapping[str, str] | None = None) -> int:
    """The exit code of the stage, run to whatever end."""
    with victim(place, *options, environment=environment) as process:
        _, said = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in said
        return process.returncode


def finished(place: Path) -> int:
    """How many units are finished."""
    return len(list(place.glob("*/units/0*.json")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The digests that every execution must have."""
    place = tmp_path_factory.mktemp("undisturbed") / "out"
    with Engine(Settings(master="none")) as engine:
        success = execute(engine, place, stage.simulation("scuttlebutt", read(GRID), RUNS_IN_ALL, "0")).success
    return success.digest(TRACES), success.digest(RUNS)


def assert_as_undisturbed(place: Path, undisturbed: tuple[str, str]) -> None:
    """Committed once, with the same rows, and the files hold what the commit says."""
    (success,) = successes(place)
    assert (success.digest(TRACES), success.digest(RUNS)) == undisturbed
    runs = [run for file in committed(place, RUNS) for run in pq.read_table(file).column("run_id").to_pylist()]
    assert runs == [f"seed-0-00000{number}" for number in range(RUNS_IN_ALL)]
    assert sum(pq.read_metadata(file).num_rows for file in committed(place, TRACES)) == success.rows(TRACES)
    listed = {path.name for path in (success.folder / "traces").iterdir()}
    collect(place)
    assert (
        {path.name for path in (success.folder / "traces").iterdir()}
        == {path.name for path in committed(place, TRACES)}
        <= listed
    )


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


def killed_after(process: subprocess.Popen[str], place: Path, units: int, seconds: float = 0.0) -> None:
    """Kill it when so many units are finished and, for what chance has it do meanwhile, a moment more has passed."""
    deadline = time.monotonic() + PATIENCE
    while finished(place) < units and process.poll() is None:
        assert time.monotonic() < deadline, f"{finished(place)} units in {PATIENCE} s"
        time.sleep(0.002)
    time.sleep(seconds)
    process.kill()
    process.wait()


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_again_and_again(seed: int, tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    """Each time from where the last one has come to; what is finished is not done again."""
    chance = random.Random(seed)
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

    assert ended(place, "--master", "local[2,4]") == 0
    assert_as_undisturbed(place, undisturbed)


@pytest.mark.slow
def test_a_python_worker_that_dies_is_replaced(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    place, folder = tmp_path / "out", tmp_path / "passed"
    folder.mkdir()

    assert ended(place, "--master", "local[2,4]", environment={VARIABLE: f"unit-renamed:2:{folder}"}) == 0

    assert (folder / "unit-renamed.2").exists()
    assert_as_undisturbed(place, undisturbed)


@pytest.mark.slow
def test_a_cluster_gives_the_same_rows_also_when_a_worker_dies(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    (tmp_path / "cluster").mkdir()
    with standalone(tmp_path / "cluster") as cluster:
        assert ended(tmp_path / "out", *cluster.options()) == 0
        assert_as_undisturbed(tmp_path / "out", undisturbed)

        place = tmp_path / "again"
        with victim(place, *cluster.options()) as process:
            killed_after(cluster.workers[0], place, 1)  # type: ignore[arg-type]  # its output is bytes
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
        assert_as_undisturbed(place, undisturbed)
