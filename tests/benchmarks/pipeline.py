"""
The pipeline from a cold start, and what measuring costs.

`peerproof pipeline run` on the bundled examples, in a process of its own, three times: the median, the share of it that is
Spark's own start, and the same without Spark as the baseline. Then `measure` on a larger campaign in this process, in CPU
seconds, against reading the same rows and doing nothing with them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.pipeline.spark.execution import Engine, execute
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.spark.work import peak_mib
from peerproof.pipeline.stages import measure
from peerproof.pipeline.stages.grid import read
from peerproof.pipeline.stages.simulate import simulation
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.batches import table_files
from peerproof.pipeline.storage.tables import TRACES

TIMES = 3
GRID = "nodes: [5, 10]\nrounds: 60\nloss: [0, 0.1]\n"
RUNS = 24


def cold(options: Iterable[str]) -> tuple[float, float]:
    """Seconds from the shell to the page, and those of them that are the start of Spark."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "peerproof.cli.main", "pipeline", "run", "--examples", "--output", f"{folder}/out"]
        begun = time.perf_counter()
        done = subprocess.run([*command, "--format", "json", "--quiet", *options], capture_output=True, text=True, check=False)
        took = time.perf_counter() - begun
        if done.returncode != 1:  # one of the examples is wrong
            raise SystemExit(done.stderr)
        return took, json.loads(done.stdout)["spark_start_s"]


def median(options: Iterable[str]) -> tuple[float, float]:
    """The medians of a few."""
    took, start = zip(*(cold(options) for _ in range(TIMES)), strict=True)
    return statistics.median(took), statistics.median(start)


def measuring(protocol: str, place: Path) -> None:
    """CPU seconds of `measure`, and of reading alone."""
    with Engine(Settings(master="none")) as engine:
        execute(engine, place, simulation(protocol, read(GRID), RUNS, "0"))
        rows = 0
        begun = time.process_time()
        for file in table_files(place, TRACES):
            for batch in pq.ParquetFile(file).iter_batches():
                rows += sum(1 for _ in events(batch))
        reading = time.process_time() - begun
        begun = time.process_time()
        measure.execute(engine, place, measure.sources(place, shared_clock=True), lambda _: None)
        took = time.process_time() - begun
    print(
        f"measure, {protocol}: {rows:,} events, {rows / took / 1000:.1f} k events per CPU second, "
        f"{took / reading:.1f} times reading the rows (baseline); this process has had at most {peak_mib():.0f} MiB"
    )


def main() -> None:
    """Prints both."""
    alone, _ = median(["--master", "none"])
    took, start = median([])
    print(
        f"pipeline run on the examples from a cold start: {took:.1f} s, "
        f"of which the start of Spark {start:.1f} s ({start / took:.0%})"
    )
    print(f"without Spark (baseline): {alone:.1f} s; with it {took / alone:.1f} times that. Load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for protocol in ("scuttlebutt", "swim"):
            measuring(protocol, Path(folder, protocol))


if __name__ == "__main__":
    main()
