"""`peerproof model graph`: what it says, with TLC and without, and where it goes on after an interruption."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from peerproof.cli.main import main
from peerproof.tla.manifest import models, root
from peerproof.tla.tools.installation import find_java

GRAPHS = [model for model in models("scuttlebutt") if model.is_whole_graph]


def a_java(folder: Path, script: str) -> dict[str, str]:
    """An environment with this program in the place of `java`."""
    path = folder / "bin" / "java"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return {**os.environ, "JAVA_HOME": str(folder)}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "peerproof.cli.main", "model", "graph", "scuttlebutt", *arguments]


@pytest.fixture
def written_down(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What is expected of tiny, to be changed: a copy of the folder of the models."""
    shutil.copytree(root() / "scuttlebutt", tmp_path / "scuttlebutt")
    for path in (root() / "manifest.json", *root().glob("*.tla")):
        shutil.copy(path, tmp_path)
    monkeypatch.setattr("peerproof.tla.manifest.root", lambda *_: tmp_path)
    constants = tmp_path / "scuttlebutt" / "constants.json"
    data: dict[str, Any] = json.loads(constants.read_bytes())

    class Expected(dict[str, Any]):
        def __setitem__(self, key: str, value: Any) -> None:
            data["configurations"]["tiny"]["expected"][key] = value
            constants.write_text(json.dumps(data), encoding="utf-8")

    return Expected(data["configurations"]["tiny"]["expected"])


@pytest.mark.parametrize("model", GRAPHS, ids=lambda model: model.name)
def test_every_graph_has_its_digest_written_down(model: Any) -> None:
    """But the large one: nobody compares it edge by edge."""
    assert bool(re.fullmatch(r"[0-9a-f]{32}", model.configuration.expected.get("digest", ""))) == (model.size != "large")


@pytest.mark.usefixtures("no_java")
def test_without_java_the_python_half_is_compared_and_the_line_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["model", "graph", "scuttlebutt", "--model", "tiny"])

    said = capsys.readouterr()
    assert code == 0
    assert "no java on the path: install Java 17" in said.err
    assert "warning: TLC is not run" in said.err
    assert "tiny  Python half as recorded: 1,125 states, 5,681 edges, digest 4fad38eb" in said.out
    assert "the TLC half was not run" in said.out
    assert "equal" not in said.out


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(("name", "value"), [("digest", "0" * 32), ("digest", None), ("distinct", 1124), ("generated", 1)])
def test_without_java_any_other_graph_than_the_one_written_down_is_unexpected(
    capsys: pytest.CaptureFixture[str], written_down: dict[str, Any], name: str, value: Any
) -> None:
    written_down[name] = value

    assert main(["model", "graph", "scuttlebutt", "--model", "tiny"]) == 1
    assert f"tiny  UNEXPECTED: {name} is " in capsys.readouterr().out


@pytest.mark.slow
def test_digest_is_written_down_once_both_halves_have_it(
    capsys: pytest.CaptureFixture[str], written_down: dict[str, Any]
) -> None:
    right = written_down["digest"]
    written_down["digest"] = "0" * 32

    assert main(["model", "graph", "scuttlebutt", "--model", "tiny"]) == 1
    assert main(["model", "graph", "scuttlebutt", "--model", "tiny", "--rewrite"]) == 0
    assert main(["model", "graph", "scuttlebutt", "--model", "tiny"]) == 0
    assert f"tiny  equal: TLC 1,125 states, 5,681 edges; Python 1,125 states, 5,681 edges, digest {right}" in (
        capsys.readouterr().out
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("echo 'openjdk version \"11.0.2\"' >&2", "is Java 11, too old: install Java 17", id="old"),
        pytest.param("exit 1", "is not Java", id="none"),
    ],
)
def test_java_that_cannot_be_used_is_named_and_nothing_is_called_equal(tmp_path: Path, script: str, problem: str) -> None:
    done = subprocess.run(command("--model", "tiny"), env=a_java(tmp_path, script), capture_output=True, text=True, check=False)

    assert problem in done.stderr
    assert "equal" not in done.stdout
    assert "the TLC half was not run" in done.stdout


VERSION = 'case "$1" in -version) echo \'openjdk version "17.0.1"\' >&2; exit;; esac\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("kill -9 $$", "was killed by SIGKILL", id="killed"),
        pytest.param("exit 0", "without the statistics of a finished run", id="nothing said"),
        pytest.param('ulimit -f 64; exec "$REAL_JAVA" "$@"', "check whether the disk is full", id="disk full"),
        pytest.param('exec "$REAL_JAVA" "$@" -Absent', "TLC failed with exit code", id="refused"),
    ],
)
def test_tlc_that_comes_to_no_end_is_no_verdict(tmp_path: Path, script: str, problem: str) -> None:
    environment = a_java(tmp_path, VERSION + script) | {"REAL_JAVA": find_java()}

    done = subprocess.run(command("--model", "tiny"), env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 3, done.stdout + done.stderr
    assert "tiny  NO VERDICT: " in done.stdout
    assert problem in done.stdout
    assert "equal" not in done.stdout


@pytest.mark.usefixtures("no_java")
def test_checkpoint_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "graph", "scuttlebutt", "--model", "tiny", "--resume", str(tmp_path)]) == 0
    (tmp_path / "scuttlebutt/tiny/000002.level").write_bytes(b"{}\n")

    assert main(["model", "graph", "scuttlebutt", "--model", "tiny", "--resume", str(tmp_path)]) == 2
    assert "000002.level: it is damaged; remove" in capsys.readouterr().err


@pytest.mark.slow
def test_full_disk_loses_no_level_that_was_kept(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    line = command("--model", "small-c", "--resume", str(tmp_path / "kept"))
    environment = a_java(tmp_path, "exit 1")
    limited = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *line]

    full = subprocess.run(limited, env=environment, capture_output=True, text=True, check=False)
    kept = len(list(tmp_path.glob("kept/scuttlebutt/small-c/*.level")))
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)

    assert full.returncode == 3
    assert "small-c  NO VERDICT: " in full.stdout
    assert 0 < kept < 19
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["--model", "absent"], ["--model", "tiny", "--model", "absent"], ["--jobs", "0"]])
def test_what_is_not_there_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["model", "graph", "scuttlebutt", *arguments])

    assert code == 2
    assert capsys.readouterr().err


@pytest.mark.slow
def test_interruption_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    """Ctrl-C while it explores, in several processes."""
    line = command("--model", "small-a", "--jobs", "2", "--resume", str(tmp_path / "kept"))
    environment = a_java(tmp_path, "exit 1")  # only the Python half matters here
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("kept/scuttlebutt/small-a/*.level"))) < 8 and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)
    kept = len(list(tmp_path.glob("kept/scuttlebutt/small-a/*.level")))

    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)

    assert process.returncode == 130, said
    assert "the same command goes on from what is in" in said[1]
    assert 8 <= kept < 26
    assert done.returncode == 0, done.stdout
    assert "48,402 states, 265,606 edges" in done.stdout
