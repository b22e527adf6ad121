"""A real standalone cluster: the same rows as in one process, with the package that the driver sends, whoever dies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.cluster import CONF, Cluster, standalone
from tests.pipeline.disturbed import PATIENCE, assert_as_undisturbed, ended, killed_after, victim

from peerproof.pipeline.storage.batches import table_files
from peerproof.pipeline.storage.tables import METRICS

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all tests; the last of them kills a worker of it."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


WHERE = """
import sys
from pathlib import Path
from peerproof.pipeline.storage.batches import Plan, Unit
from peerproof.pipeline.spark.execution import Engine, Work, execute
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.storage.tables import METRICS

def where(unit, output):
    import os, peerproof.spec.core, peerproof.pipeline.spark.work as work
    files = (peerproof.spec.core.__file__, work.__file__)
    output.write(METRICS, METRICS.batch([("r", "p", file, None, str(os.getppid()), 0.0, "s") for file in files]))

master, place, *conf = sys.argv[1:]
with Engine(Settings(master, conf=[tuple(pair.split("=")) for pair in conf])) as engine:
    work = Work(Plan("where", (), {}, (), {}), [Unit(number, {"number": number}) for number in range(6)], where, (METRICS,))
    execute(engine, Path(place), work)
"""


def test_executors_run_the_package_that_the_driver_sends(cluster: Cluster, tmp_path: Path) -> None:
    conf = [f"{name}={value}" for name, value in CONF.items()]
    subprocess.run([sys.executable, "-c", WHERE, cluster.url, str(tmp_path), *conf], check=True, timeout=PATIENCE)

    files = [name for file in table_files(tmp_path, METRICS) for name in pq.read_table(file).column("metric").to_pylist()]
    assert len(files) == 12
    assert all("peerproof.zip/peerproof/" in name for name in files)


def test_a_cluster_gives_the_same_rows_also_when_a_worker_dies(
    cluster: Cluster, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    """The worker dies once a unit is finished; what it had begun is done by the other."""
    place = tmp_path / "out"

    with victim(place, *cluster.options()) as process:
        killed_after(cluster.workers[0], place, 1)
        _, said = process.communicate(timeout=PATIENCE)

    assert (process.returncode, said) == (0, said)
    assert_as_undisturbed(place, undisturbed)
    assert ended(place) == 0
