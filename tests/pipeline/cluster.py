"""A real standalone cluster on loopback, from the pip-installed pyspark: one master, two workers of one core each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

PATIENCE = 600.0  #: seconds; a loaded machine starts Java slowly

#: Small executors, one to a worker.
CONF = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}


@dataclass
class Cluster:
    """`url` is what `--master` takes."""

    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def options(self) -> list[str]:
        """The options of a command that runs there."""
        return ["--master", self.url, *(part for name, value in CONF.items() for part in ("--conf", f"{name}={value}"))]


def until_said(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> re.Match[str]:
    """Wait until a process has written something. Fails if it ends before, or takes too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        said = log.read_text(encoding="utf-8", errors="replace")
        if found := re.search(pattern, said):
            return found
        assert process.poll() is None, f"ended with {process.returncode}:\n{said[-4000:]}"
        assert time.monotonic() < deadline, f"has not said {pattern!r} in {PATIENCE} s:\n{said[-4000:]}"
        time.sleep(0.1)


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster while the block runs; what its processes say is in the folder."""
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str, role: str, *arguments: str) -> tuple[Path, subprocess.Popen[bytes]]:
        found = find_spec("pyspark")
        assert found is not None
        assert found.origin is not None
        log = folder / f"{name}.log"
        command = [
            str(Path(found.origin).parent / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{role}",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments),
        ]
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        running.append(process)
        return log, process

    try:
        log, master = start("master", "master.Master")
        cluster = Cluster(until_said(log, r"Starting Spark master at (spark://\S+)", master)[1])
        begun = [
            start(f"worker-{number}", "worker.Worker", "-c", "1", "-m", "1g", "-d", str(folder / "work"), cluster.url)
            for number in range(workers)
        ]
        for log, worker in begun:
            until_said(log, "Successfully registered with master", worker)
            cluster.workers.append(worker)
        yield cluster
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
