"""On Spark as in one process; killed and run again as undisturbed; a large node takes no more memory than a small one."""

from __future__ import annotations

import signal
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.pipeline.clusters import of_node, place_of, simulated
from tests.pipeline.conftest import ran

from peerproof.conformance.traces.events import Event
from peerproof.conformance.traces.node_check import Options
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages import validate
from peerproof.pipeline.stages.validate import Validation, execute
from peerproof.pipeline.storage.arrow_rows import read_batches
from peerproof.pipeline.storage.batches import SUCCESS, Success, successes, table_files
from peerproof.pipeline.storage.failpoints import VARIABLE
from peerproof.pipeline.storage.tables import TRACES, VERDICTS, VIOLATIONS

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lots() -> list[list[Event]]:
    """Three runs of three nodes, a file for each node; something is wrong in each run."""
    made: list[list[Event]] = []
    for seed in "xyz":
        lines = simulated(seed=seed)
        made += [of_node(lines, f"n{n}:1") for n in range(3)]
        made[-1][30] = made[-1][30]._replace(state_hash="0" * 16)
        del made[-2][40]
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return place_of(tmp_path_factory.mktemp("traces"), lots())


def digests(success: Success) -> tuple[str, str]:
    return success.digest(VIOLATIONS), success.digest(VERDICTS)


@pytest.fixture(scope="module")
def undisturbed_verdicts(place: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """What every execution must come to."""
    with Engine(Settings(master="none")) as engine:
        success = execute(engine, tmp_path_factory.mktemp("out"), Validation(place), lambda _: None).success
    assert success.rows(VERDICTS) == 12
    assert success.rows(VIOLATIONS) == 6
    return digests(success)


@pytest.mark.slow
@pytest.mark.spark
def test_spark_finds_the_same(
    spark: SparkSession, place: Path, tmp_path: Path, undisturbed_verdicts: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the runs are spread over more units."""
    monkeypatch.setattr(validate, "UNIT", 1)
    with Engine(Settings(), spark=spark) as engine:
        success = execute(engine, tmp_path, Validation(place), lambda _: None).success

    assert digests(success) == undisturbed_verdicts
    assert success.told["units"] == 9 + 3


@pytest.mark.kill
@pytest.mark.parametrize(
    "point", ["unit-renamed:5", "unit-before-rename:20", "unit-written:10", "before-commit:1", "after-commit:1"]
)
def test_killed_and_run_again_it_finds_the_same(
    point: str, place: Path, tmp_path: Path, undisturbed_verdicts: tuple[str, str]
) -> None:
    out, passed = tmp_path / "out", tmp_path / "passed"
    passed.mkdir()
    arguments: list[str | Path] = ["validate", "--in", place, "--output", out, "--master", "none", "--quiet"]

    assert ran(arguments, {VARIABLE: f"{point}:{passed}"}).returncode == -signal.SIGKILL
    assert bool(list(out.glob(f"*/{SUCCESS}"))) == point.startswith("after")
    assert ran(arguments).returncode == 1

    (success,) = successes(out)
    assert digests(success) == undisturbed_verdicts
    assert not (success.folder / "places").exists()


def grown(copies: int) -> list[Event]:
    """A node with some rounds that come again and again: after two nodes have agreed, their states do not change."""
    lines = simulated(nodes=2, rounds=60, config={"detector": None}, seed="grown")
    events = of_node(lines, "n1:1")
    timers = [event.seq for event in events if event.kind == "timer"]
    last = timers[-1]
    first = next(seq for seq in timers[30:] if events[seq - 1].state_hash == events[last - 1].state_hash)
    period, rounds = events[last].t_us - events[first].t_us, events[first:last]
    assert len({event.state_hash for event in rounds}) == 1
    shifted = (
        event._replace(seq=event.seq + copy * len(rounds), t_us=event.t_us + copy * period)
        for copy in range(copies)
        for event in rounds
    )
    return [*events[:first], *shifted]


def judged(file: Path) -> tuple[int, int]:
    """How many events were accepted, and how many bytes more than at the beginning were in memory at once."""
    tracemalloc.start()
    try:
        (verdict,) = [verdict for _, _, verdict in validate.check_nodes(read_batches(file, size=64), Options("out"))]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert verdict.verdict == "accepted"
    return verdict.n_events, peak


def test_a_node_with_many_times_the_events_takes_no_more_memory(tmp_path: Path) -> None:
    """Of Python's objects, but for what a replay remembers of texts, which is bounded."""
    small, large = (table_files(place_of(tmp_path / str(copies), [grown(copies)]), TRACES)[0] for copies in (10, 250))
    judged(small)

    few, peak_of_few = judged(small)
    many, peak_of_many = judged(large)

    assert many > 20 * few
    assert peak_of_many < peak_of_few + 2**19
