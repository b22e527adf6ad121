"""
Options for a fast start of Java: only the C1 compiler, the serial garbage collector, and a class-data archive of Spark.

All work is done in Python, so optimizing compilation gains little. `warm` creates the archive, once for each Java and Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from peerproof.pipeline.spark.spark_errors import SparkUnusable, explain
from peerproof.tla.tools.installation import ToolsUnusable, find_jdk, java_version

#: Only the C1 compiler, and the serial garbage collector.
FAST: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

#: A job that loads the classes which every stage needs.
_JOB: Final = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(0, 2, 1, 2).mapInArrow(lambda batches: batches, "id BIGINT").collect()
spark.stop()
"""


def java_options() -> str:
    """Returns the options for a fast start, with the archive if there is one."""
    archive = archive_path()
    return f"{FAST} -XX:SharedArchiveFile={archive}" if archive.is_file() else FAST


def archive_path() -> Path:
    """Returns the path of the archive for the installed Java and Spark; the file may not exist."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = Path(cache) if cache else Path.home() / ".cache"
    try:
        java = Path(find_jdk()).resolve()
    except ToolsUnusable:
        java = Path("java")
    spark = find_spec("pyspark")  # Java accepts an archive only with the jars that it was created from
    name = sha256(f"{java}:{version('pyspark')}:{spark and spark.origin}".encode()).hexdigest()[:12]
    return folder / "peerproof" / f"spark-{name}.jsa"


def warm() -> Path:
    """Creates the archive. Raises SparkUnusable."""
    try:
        java_version(find_jdk())
    except ToolsUnusable as problem:
        raise SparkUnusable(f"Spark needs Java: {problem}") from None
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkUnusable("pyspark is not installed: pip install 'peerproof[pipeline]'")
    archive = archive_path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    job = unfinished.with_suffix(".py")
    job.write_text(_JOB, encoding="utf-8")
    command = [
        str(Path(found.origin).parent / "bin" / "spark-submit"),
        *("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
        *("--driver-java-options", f"{FAST} -XX:ArchiveClassesAtExit={unfinished}"),
        str(job),
    ]
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **os.environ}
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if ran.returncode or not unfinished.is_file():
            raise SparkUnusable(explain(RuntimeError(f"exit {ran.returncode}"), ran.stdout + ran.stderr))
        unfinished.rename(archive)
    finally:
        job.unlink()
        unfinished.unlink(missing_ok=True)
    return archive
