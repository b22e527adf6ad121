"""What the tests of the pipeline share: one Spark session, small work, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.disturbed import GRID, RUNS_IN_ALL, steady
from tests.support.tools import require

from peerproof.pipeline.spark.execution import Engine, execute
from peerproof.pipeline.spark.session import Settings, session
from peerproof.pipeline.stages import simulate as stage
from peerproof.pipeline.stages.grid import read
from peerproof.pipeline.storage.batches import Output, Plan, Unit
from peerproof.pipeline.storage.tables import METRICS, RUNS, TRACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of these tests."""
    require("jdk")
    with session(Settings(master="local[2,4]")) as started:
        assert started is not None
        yield started


def figures(unit: Unit, output: Output) -> None:
    """A stage of a line: rows of `metrics`, as many as the task says."""
    rows = [("r", "p", "m", number, unit.name, float(number), "s") for number in range(unit.task["rows"])]
    output.write(METRICS, METRICS.batch(rows))


def plan(**arguments: int) -> Plan:
    """A plan that differs in its arguments only."""
    return Plan("figures", inputs=(), arguments=arguments, seeds=("0",), versions={"spec": "1"})


def units(count: int, rows: int = 3) -> list[Unit]:
    """Units of equal weight."""
    return [Unit(number, {"rows": rows, "number": number}) for number in range(count)]


def command(*arguments: str | Path) -> list[str]:
    """`peerproof pipeline …`."""
    return [sys.executable, "-m", "peerproof.cli.main", "pipeline", *map(str, arguments)]


def ran(
    arguments: Sequence[str | Path], environment: Mapping[str, str] | None = None, timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """`peerproof pipeline …` in a process of its own, to its end."""
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=os.environ | dict(environment or {}),
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The digests that every execution must have."""
    place = tmp_path_factory.mktemp("undisturbed") / "out"
    with steady(), Engine(Settings(master="none")) as engine:
        success = execute(engine, place, stage.simulation("scuttlebutt", read(GRID), RUNS_IN_ALL, "0")).success
    return success.digest(TRACES), success.digest(RUNS)
