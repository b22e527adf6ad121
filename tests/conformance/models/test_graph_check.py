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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.spec.scuttlebutt import reconcile
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


def ran(environment: dict[str, str], *arguments: str, through: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """The command as a process, since it is about other programs, signals and full disks."""
    words = [*through, *command(*arguments)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "peerproof.cli.main", "model", "graph", "scuttlebutt", *arguments]


def graph(*arguments: str) -> int:
    """The exit code of the command in this process, for the smallest model."""
    return main(["model", "graph", "scuttlebutt", "--model", "tiny", *arguments])


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
def test_without_java_the_python_half_is_compared_and_the_line_says_so(capsys: Capture) -> None:
    assert graph() == 0

    said = capsys.readouterr()
    assert "no java on the path: install Java 17" in said.err
    assert "warning: TLC is not run" in said.err
    assert "tiny  Python half as recorded: 1,125 states, 5,681 edges, digest 4fad38eb" in said.out
    assert "the TLC half was not run" in said.out
    assert "equal" not in said.out


@pytest.mark.usefixtures("no_java")
@pytest.mark.parametrize(("name", "value"), [("digest", "0" * 32), ("digest", None), ("distinct", 1124), ("generated", 1)])
def test_without_java_any_other_graph_than_the_one_written_down_is_unexpected(
    capsys: Capture, written_down: dict[str, Any], name: str, value: Any
) -> None:
    written_down[name] = value

    assert graph() == 1
    said = capsys.readouterr()
    assert re.search(
        rf"tiny  UNEXPECTED: the Python graph is not the stored one: {name} is \w+, not {value or 'stored'}; the TLC", said.out
    )
    assert said.err.endswith("can be stored: peerproof model graph scuttlebutt --model tiny\n")


@pytest.mark.usefixtures("no_java", "written_down")
def test_without_java_no_digest_is_written_down(capsys: Capture) -> None:
    assert graph("--rewrite") == 3
    assert "error: --rewrite needs TLC: no java on the path" in capsys.readouterr().err


@pytest.mark.slow
def test_digest_is_written_down_once_both_halves_have_it(capsys: Capture, written_down: dict[str, Any]) -> None:
    right = written_down["digest"]
    written_down["digest"] = "0" * 32

    assert [graph(), graph("--rewrite"), graph()] == [1, 0, 0]
    said = capsys.readouterr()
    assert "tiny  UNEXPECTED: TLC and Python have the same graph, but not the stored one: digest is " in said.out
    assert said.err.endswith("store the new graph: peerproof model graph scuttlebutt --model tiny --rewrite\n")
    equal = f"tiny  equal: TLC 1,125 states, 5,681 edges; Python 1,125 states, 5,681 edges, digest {right}"
    assert equal in said.out


@pytest.mark.slow
def test_counts_are_written_down_by_the_check_of_the_model(capsys: Capture, written_down: dict[str, Any]) -> None:
    written_down["distinct"] = 1124

    assert [graph(), graph("--rewrite")] == [1, 1]
    check, rewrite = (f"peerproof model {command} scuttlebutt --model tiny --rewrite" for command in ("check", "graph"))
    assert capsys.readouterr().err.endswith(f"store the new graph: {check} && {rewrite}\n")


def without_the_oldest(addr: Any, peer: Any, version: int, right: Any = reconcile.newer_pairs) -> Any:
    return right(addr, peer, version)[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("side", "other"), [("Python", "TLA+"), ("TLA+", "Python")])
def test_side_that_was_changed_is_named_with_the_path_to_the_first_step_that_differs(
    capsys: Capture, written_down: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, side: str, other: str
) -> None:
    """Also if the counts are no longer the stored ones."""
    if side == "Python":
        monkeypatch.setattr(reconcile, "newer_pairs", without_the_oldest)
    else:
        module = tmp_path / "scuttlebutt" / "Scuttlebutt.tla"
        module.write_text(module.read_text("utf-8").replace("entry[4] > PairVersion(", "entry[4] < PairVersion("), "utf-8")

    assert graph() == 1

    said = capsys.readouterr()
    assert f"; {side} has changed, {other} still has the stored digest; the nearest difference:" in said.out
    path = re.findall(r" (\d)\. (.*)", said.out)
    assert path[0] == ("1", "Update")
    assert [step for _, step in path[-2:]] == ["Receive, in TLA+ only:", "Receive, in Python only:"]
    assert said.err.endswith("to take it in the browser: peerproof model explore scuttlebutt --model tiny\n")


VERSION = 'case "$1" in -version) echo \'openjdk version "17.0.1"\' >&2; exit;; esac\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "code", "problem"),
    [
        pytest.param("echo 'openjdk version \"11.0.2\"' >&2", 0, "is Java 11, too old: install Java 17", id="old"),
        pytest.param("exit 1", 0, "is not Java", id="none"),
        pytest.param(f"{VERSION}kill -9 $$", 3, "was killed by SIGKILL", id="killed"),
        pytest.param(f"{VERSION}exit 0", 3, "without the statistics of a finished run", id="nothing said"),
        pytest.param(f'{VERSION}ulimit -f 64; exec "$REAL_JAVA" "$@"', 3, "check whether the disk is full", id="disk full"),
        pytest.param(f'{VERSION}exec "$REAL_JAVA" "$@" -Absent', 3, "TLC failed with exit code", id="refused"),
    ],
)
def test_without_an_answer_of_tlc_nothing_is_called_equal(
    tmp_path: Path, script: str, code: int, problem: str, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Java that cannot be used is named, and the other half compared; a TLC that comes to no end is no verdict."""
    monkeypatch.setenv("REAL_JAVA", find_java())
    monkeypatch.setenv("JAVA_HOME", a_java(tmp_path, script)["JAVA_HOME"])

    assert graph() == code

    out, err = capfd.readouterr()
    assert problem in (out if code else err)
    assert ("tiny  NO VERDICT: " if code else "the TLC half was not run") in out
    assert "equal" not in out


@pytest.mark.usefixtures("no_java")
def test_checkpoint_of_something_else_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert graph("--resume", str(tmp_path)) == 0
    (tmp_path / "scuttlebutt/tiny/000002.level").write_bytes(b"{}\n")

    assert graph("--resume", str(tmp_path)) == 2
    assert "000002.level: it is damaged; remove" in capsys.readouterr().err


@pytest.mark.slow
def test_full_disk_loses_no_level_that_was_kept(tmp_path: Path) -> None:
    """A limit on the size of files stands for it."""
    arguments = ("--model", "small-c", "--resume", str(tmp_path / "kept"))
    environment = a_java(tmp_path, "exit 1")

    full = ran(environment, *arguments, through=("sh", "-c", 'ulimit -f 16; exec "$@"', "sh"))
    kept = len(list(tmp_path.glob("kept/scuttlebutt/small-c/*.level")))
    done = ran(environment, *arguments)

    assert full.returncode == 3
    assert "small-c  NO VERDICT: " in full.stdout
    assert 0 < kept < 19
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "absent"], "error: unknown graph absent\ntip: "),
        (["--model", "BX-04-heals"], "error: no graph of BX-04-heals is compared: only models that hold, "),
        (["--jobs", "0"], "error: "),
    ],
)
def test_what_is_not_there_is_a_usage_error(arguments: list[str], said: str, capsys: Capture) -> None:
    assert graph(*arguments) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.slow
def test_interruption_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    """Ctrl-C while it explores, in several processes."""
    arguments = ("--model", "small-a", "--jobs", "2", "--resume", str(tmp_path / "kept"))
    environment = a_java(tmp_path, "exit 1")  # only the Python half matters here
    with subprocess.Popen(
        command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("kept/scuttlebutt/small-a/*.level"))) < 8 and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)
    kept = len(list(tmp_path.glob("kept/scuttlebutt/small-a/*.level")))

    done = ran(environment, *arguments)

    assert process.returncode == 130, said
    assert "the same command goes on from what is in" in said[1]
    assert 8 <= kept < 26
    assert done.returncode == 0, done.stdout
    assert "48,402 states, 265,606 edges" in done.stdout
