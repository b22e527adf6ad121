"""Spark Connect: the same code over a server, and the same rows. Needs pyspark[connect]."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.pipeline.cluster import until_said
from tests.pipeline.disturbed import assert_as_undisturbed, ended

from peerproof.pipeline.spark.quick_start import FAST


@pytest.mark.slow
@pytest.mark.connect
def test_spark_connect_gives_the_same_rows(tmp_path: Path, undisturbed: tuple[str, str]) -> None:
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    command = [
        str(Path(found.origin).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2,4]"),
        *("--driver-java-options", FAST),
        *(part for name, value in conf.items() for part in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    log = tmp_path / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=tmp_path)
    try:
        address = until_said(log, r"Spark Connect server started at: (\S+)", server)[1]
        assert ended(tmp_path / "out", "--remote", f"sc://{address}") == 0
    finally:
        server.kill()
        server.wait()

    assert_as_undisturbed(tmp_path / "out", undisturbed)
