"""
The stage simulate in a process of its own, which may be killed; and what its result must be nevertheless.

Run as a module, this is `peerproof pipeline simulate` with a unit for each run, so that there are many moments to be killed at.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.cli.main import main
from peerproof.pipeline.stages import simulate
from peerproof.pipeline.storage.batches import successes, table_files
from peerproof.pipeline.storage.status import collect
from peerproof.pipeline.storage.tables import RUNS, TRACES

GRID = "nodes: 3\nrounds: 10\nloss: 0.1\n"
RUNS_IN_ALL = 6
PATIENCE = 600.0


@contextmanager
def steady() -> Iterator[None]:
    """Sources that change between two executions are not what these tests are about."""
    with patch.multiple(simulate, UNIT=1, spec_version=lambda _: "1", code_digest=lambda _: "1"):
        yield


@contextmanager
def victim(place: Path, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """The stage in a process of its own, which is gone afterwards."""
    (place.parent / "grid.yaml").write_text(GRID, encoding="utf-8")
    arguments = ["scuttlebutt", "--runs", str(RUNS_IN_ALL), "--grid", str(place.parent / "grid.yaml"), "--output", str(place)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.disturbed", *arguments, *(options or ("--master", "none"))],
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
        print(said)  # shown if the test fails
        assert "Traceback" not in said
        return process.returncode


def finished(place: Path) -> int:
    """How many units are finished."""
    return len(list(place.glob("*/units/0*.json")))


def assert_as_undisturbed(place: Path, undisturbed: tuple[str, str]) -> None:
    """Committed once, with the same rows, and the files hold what the commit says."""
    (success,) = successes(place)
    assert (success.digest(TRACES), success.digest(RUNS)) == undisturbed
    runs = [run for file in table_files(place, RUNS) for run in pq.read_table(file).column("run_id").to_pylist()]
    assert runs == [f"seed-0-00000{number}" for number in range(RUNS_IN_ALL)]
    assert sum(pq.read_metadata(file).num_rows for file in table_files(place, TRACES)) == success.rows(TRACES)
    collect(place)
    assert {path.name for path in (success.folder / "traces").iterdir()} == {path.name for path in table_files(place, TRACES)}


def killed_after(process: subprocess.Popen[Any], place: Path, units: int, seconds: float = 0.0) -> None:
    """Kill it when so many units are finished and, for what chance has it do meanwhile, a moment more has passed."""
    deadline = time.monotonic() + PATIENCE
    while finished(place) < units and process.poll() is None:
        assert time.monotonic() < deadline, f"{finished(place)} units in {PATIENCE} s"
        time.sleep(0.002)
    time.sleep(seconds)
    process.kill()
    process.wait()


if __name__ == "__main__":
    with steady():
        sys.exit(main(["pipeline", "simulate", *sys.argv[1:]]))
