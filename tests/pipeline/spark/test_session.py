"""Sessions: how they are configured, and that mistakes are told in words, without Java's."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tests.pipeline.conftest import command, ran
from tests.pipeline.disturbed import PATIENCE, finished

from peerproof.cli.main import main
from peerproof.pipeline.spark.packages import pack
from peerproof.pipeline.spark.quick_start import archive_path, java_options
from peerproof.pipeline.spark.session import Settings, _end_of, configuration, session
from peerproof.pipeline.spark.spark_errors import SparkUnusable, explain


def test_a_local_session_stays_on_loopback_and_sends_no_package(tmp_path: Path) -> None:
    conf = configuration(Settings(), tmp_path)

    assert (conf["spark.driver.host"], conf["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    assert (conf["spark.sql.session.timeZone"], conf["spark.sql.adaptive.enabled"]) == ("UTC", "true")
    assert "spark.submit.pyFiles" not in conf


def test_a_session_on_a_cluster_sends_the_package(tmp_path: Path) -> None:
    conf = configuration(Settings(master="spark://a.example:7077"), tmp_path)

    assert "spark.driver.host" not in conf
    with zipfile.ZipFile(conf["spark.submit.pyFiles"]) as archive:
        names = archive.namelist()
    modules = ("spec/core.py", "pipeline/spark/work.py", "reference/simulation/campaign.py")
    assert {f"peerproof/{module}" for module in modules} <= set(names)
    assert "peerproof/__init__.py" not in names


def test_the_package_is_found_in_the_zip_and_has_the_same_bytes_every_time(tmp_path: Path) -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import peerproof.spec.core as core; print(core.__file__)"
    found = subprocess.run([sys.executable, "-c", code, pack(tmp_path / "a.zip")], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == str(tmp_path / "a.zip" / "peerproof" / "spec" / "core.py")
    assert pack(tmp_path / "b.zip").read_bytes() == (tmp_path / "a.zip").read_bytes()


def test_what_the_user_configures_overrules(tmp_path: Path) -> None:
    conf = configuration(Settings(conf=[("spark.driver.extraJavaOptions", "-Xint"), ("spark.ui.enabled", "true")]), tmp_path)

    assert (conf["spark.driver.extraJavaOptions"], conf["spark.ui.enabled"]) == ("-Xint", "true")


def test_java_starts_fast_unless_it_is_to_compile_to_the_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "SharedArchiveFile" not in java_options()
    archive_path().parent.mkdir()
    archive_path().touch()

    assert java_options().endswith(f"-XX:SharedArchiveFile={archive_path()}")
    assert configuration(Settings(), tmp_path)["spark.driver.extraJavaOptions"] == java_options()
    assert "spark.driver.extraJavaOptions" not in configuration(Settings(quick=False), tmp_path)


STRANGE = 'WARNING\nException in thread "main" java.lang.Strange: y\n\tat z'
BOOM = "Job aborted … Traceback (most recent call last):\n  File\nValueError: boom: 3\n\n\tat org.apache.spark.X\nb: y"

#: What Spark says in an exception, what Java has written besides, and what we make of both.
MISTAKES = [
    ("[JAVA_GATEWAY_EXITED] Java gateway process exited", "Error: JAVA_HOME is not set", "this Java cannot run Spark: install"),
    ("x", "Error occurred … java.lang.module.FindException: Module jdk.incubator.vector not found", "this Java cannot run"),
    ("java.io.IOException: No space left on device", "", "the disk is full: make room"),
    ("Error while sending or receiving", "ERROR JavaUtils: Failed to create directory /full/x", "--conf spark.local.dir=/path"),
    ("x", "Service 'SparkUI' failed after 16 retries (starting from 4040)!", "a port is taken"),
    ("x", 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space', "--conf spark.driver.memory=4g"),
    ("System memory 39 must be at least 471859200", "", "Spark's memory is too small"),
    ("[PYTHON_VERSION_MISMATCH] Python in worker has …", "", "different Pythons: set PYSPARK_PYTHON"),
    ('Cannot run program "/usr/bin/no": error=2', "", "have no such Python"),
    ("ModuleNotFoundError: No module named 'pyarrow'", "", "lack a package"),
    ("x", "SparkException: Master must either be yarn or start with spark, k8s, or local", "there is no such master"),
    ("Python worker exited unexpectedly (crashed)", "", "a Python worker died"),
    (BOOM, "", "Spark failed: ValueError: boom: 3; --log FILE"),
    ("[JAVA_GATEWAY_EXITED] x", STRANGE, "java.lang.Strange: y"),
    ("some words\n\tat org.apache.spark.X", "", "Spark failed: some words; --log"),
    ("", "", "Spark failed: RuntimeError"),
]


@pytest.mark.parametrize(("error", "log", "said"), MISTAKES)
def test_usual_mistakes_are_told_in_words(error: str, log: str, said: str) -> None:
    told = explain(RuntimeError(error), log)

    assert said in told
    assert "\n" not in told
    assert "\tat " not in told


def test_of_a_long_log_the_end_counts(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log:
        log.write(b"Address already in use\n" + b"x" * 2**18 + b"\nJava heap space\n")
        log.flush()

        assert "too little memory" in explain(RuntimeError(""), _end_of(log))


#: Java starts fast and says much.
TALKING = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:gc*,safepoint:stdout"


def simulate(tmp_path: Path, *options: str) -> list[str]:
    """A small simulation."""
    return ["simulate", "scuttlebutt", "--runs", "1", "--output", str(tmp_path / "out"), *options]


@pytest.mark.slow
@pytest.mark.needs("jdk")
def test_a_reader_that_goes_is_no_fault_of_spark(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(*simulate(tmp_path, "--format", "json")), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()

    assert process.wait(PATIENCE) == 0
    assert "Spark failed" not in said


@pytest.mark.usefixtures("no_java")
def test_no_java_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", *simulate(tmp_path)]) == 3

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: Spark needs Java: no java on the path: install Java 17 or newer")


def test_a_java_that_is_too_old_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n", encoding="ascii")
    java.chmod(0o755)

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert main(["pipeline", *simulate(tmp_path)]) == 3
    assert f"{java} is Java 11, too old: install Java 17 or newer" in capsys.readouterr().err


@pytest.mark.needs("jdk")
def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.socket() as nobody:  # bound, so that nobody else takes the port, and not listening
        nobody.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{nobody.getsockname()[1]}"

        with pytest.raises(
            SparkUnusable, match=rf"no Spark master answers at 127\.0\.0\.1:\d+ \(.*\): start it, or correct {url}"
        ):
            session(Settings(master=url)).__enter__()


@pytest.mark.usefixtures("no_java")
def test_what_is_finished_needs_no_java_and_what_is_something_else_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", *simulate(tmp_path, "--master", "none")]) == 0

    assert main(["pipeline", *simulate(tmp_path)]) == 0
    assert "committed before, nothing to do" in capsys.readouterr().out
    assert main(["pipeline", *simulate(tmp_path, "--seed", "1")]) == 2
    assert re.search(r'seeds: \["0"\] there, \["1"\] now; use another --output, or remove', capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ("spark.driver.memory=4m", "Java has too little memory: --conf spark.driver.memory=4g"),
        ("spark.local.dir=/dev/null/x", "Spark cannot write its own files"),
        ("spark.ui.enabled=true", "a port is taken"),
    ],
)
@pytest.mark.needs("jdk")
def test_a_start_that_fails_is_told_in_one_line(conf: str, said: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = f"spark.ui.port={taken.getsockname()[1]}"
        options = ["--conf", conf, "--conf", port, "--conf", "spark.port.maxRetries=0"]
        done = ran(simulate(tmp_path, *options))

    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.slow
@pytest.mark.needs("jdk")
@pytest.mark.parametrize("again", [None, 0.05])
def test_spark_is_quiet_tells_where_its_pages_are_and_ends_when_interrupted(again: float | None, tmp_path: Path) -> None:
    """
    Ctrl-C reaches the whole foreground process group, Java too. Pressed again, it changes nothing.

    What Java says on standard output stays out of ours, as when it finds an archive of classes that is not its own.
    """
    (tmp_path / "grid.yaml").write_text("nodes: 20\nrounds: 100\n", encoding="utf-8")
    options = [
        *["--runs", "500", "--master", "local[1,4]", "--no-progress", "--conf", "spark.ui.enabled=true", "--conf"],
        TALKING,
    ]
    options += ["--grid", str(tmp_path / "grid.yaml"), "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        command("simulate", "scuttlebutt", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + PATIENCE
    try:
        while finished(tmp_path / "out") < 1:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        if again:
            time.sleep(again)
            os.killpg(process.pid, signal.SIGINT)
        printed, said = process.communicate(timeout=PATIENCE)
        while of_group(process.pid):
            assert time.monotonic() < deadline, of_group(process.pid)
            time.sleep(0.1)
    finally:
        process.kill()

    assert (process.returncode, printed) == (130, "")
    kept = "finished work is kept: the same command goes on from there"
    assert re.fullmatch(rf"Spark's pages: http://127\.0\.0\.1:\d+\n{kept}\ninterrupted\n", said)


def of_group(group: int) -> list[str]:
    """The living processes of a process group."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [" ".join(row) for row in rows if int(row[0]) == group and not row[1].startswith("Z")]


def test_help_of_stages_needs_no_package_of_the_extra() -> None:
    arguments = [sys.executable, "-X", "importtime", "-m", "peerproof.cli.main", "pipeline", "--help"]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True)

    assert "simulate" in said.stdout
    assert not re.search(r"\| +(pyarrow|pyspark|pandas|msgspec)\b", said.stderr)
