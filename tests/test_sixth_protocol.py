"""A sixth protocol needs a folder and an entry point: a ping-pong goes through every command, and so does a wrong one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.tools import require

from peerproof.conformance.vectors.suite import load
from peerproof.pipeline.spark.packages import pack

ROOT = Path(__file__).parents[1]
PINGPONG = ROOT / "tests/support/pingpong"
WRONG = shlex.join([sys.executable, str(ROOT / "tests/support/wrong_pingpong.py")])
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PINGPONG)}

#: Lines that are not blank, of everything: specification, clauses, vectors, models, fuzz inputs, runtime, registration.
MOST_LINES = 200


def typed(
    folder: Path, command: str, program: str = f"{sys.executable} -m peerproof.cli.main"
) -> subprocess.CompletedProcess[str]:
    """A command as a user types it, in this folder."""
    arguments = [*shlex.split(program), *shlex.split(command)]
    return subprocess.run(arguments, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def files() -> list[Path]:
    return [path for path in PINGPONG.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_it_has_at_most_200_lines() -> None:
    lines = [line for path in files() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]

    assert len(lines) <= MOST_LINES


def test_nothing_else_knows_it() -> None:
    """Not one line outside its folder is about it, but for tests, and for mypy, which has to find it."""
    listed = subprocess.run(
        [require("git"), "grep", "-il", "pingpong"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout

    assert {name for name in listed.splitlines() if not name.startswith(("tests/", "docs/"))} <= {"pyproject.toml"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("run pingpong", r"\d+ cases, 3 vectors: (\d+) passed\n"),
        ("vectors list pingpong", r"3 of 3 vectors"),
        ("vectors show pingpong/codec/ping", r"a ping is its type and its number"),
        ("vectors replay pingpong/exchange/late-pong", r"PASSED pingpong/exchange/late-pong"),
        ("vectors lint pingpong", r"3 vectors in 2 files, 0 findings"),
        ("vectors coverage pingpong", r"4 clauses, 4 with vectors, 0 holes"),
        ("explain PP-03", r"specification\.on_pong .*(?s:.*)pingpong/exchange/late-pong .*(?s:.*)CountsByOne"),
        ("explain PP-01", r"models\n  pair"),
        ("fuzz pingpong", r"pingpong: nothing found in \d+ runs"),
        ("node simulate pingpong --loss 0.2 --duplication 0.2 --check", r"no property is violated"),
    ],
)
def test_command(command: str, shown: str, tmp_path: Path) -> None:
    done = typed(tmp_path, command)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(shown, done.stdout + done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("model graph pingpong", r"pair  equal: TLC 539 states, 4,050 edges; Python 539 states, 4,050 edges"),
        ("model check pingpong", r"pair  holds: 539 states, .*; explorer the same.*\n1 model: 1 as expected"),
        (f"fuzz pingpong --impl '{sys.executable} -m peerproof.reference.harness.harness'", r"nothing found in \d+ runs"),
    ],
)
def test_command_that_takes_seconds(command: str, shown: str, tmp_path: Path) -> None:
    test_command(command, shown, tmp_path)


@pytest.mark.slow
def test_its_traces_are_checked(tmp_path: Path) -> None:
    assert typed(tmp_path, "node simulate pingpong --trace run.jsonl").returncode == 0
    done = typed(tmp_path, "trace check run.jsonl")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("accepted") == 5


@pytest.mark.slow
def test_it_is_explored(tmp_path: Path) -> None:
    """Its model, its vector beside the wrong one, and its trace: each becomes a page."""
    commands = (
        "node simulate pingpong --trace run.jsonl",
        "model explore pingpong --model pair --output model.html",
        f"vectors explore pingpong/exchange/late-pong --impl '{WRONG} node harness' --output vector.html",
        "trace explore run.jsonl --output trace.html",
    )
    done = [typed(tmp_path, command) for command in commands]

    assert [each.returncode for each in done] == [0] * 4, "".join(each.stdout + each.stderr for each in done)
    shown = {page: (tmp_path / f"{page}.html").read_text(encoding="utf-8") for page in ("model", "vector", "trace")}
    assert '"model":"pair"' in shown["model"]
    assert all('"legends":{"pingpong":{"ping":{"about":"Asks for a pong."' in text for text in shown.values())
    assert '"verdict":"failed"' in shown["vector"]
    assert '"verdict":"accepted"' in shown["trace"]


@pytest.mark.slow
def test_pipeline(tmp_path: Path) -> None:
    stages = ("simulate pingpong --runs 3", "validate --in out", "measure --in out")
    done = [typed(tmp_path, f"pipeline {stage} --output out --master none") for stage in stages]
    done.append(typed(tmp_path, "pipeline report --in out"))

    assert [each.returncode for each in done] == [0] * 4, "".join(each.stdout + each.stderr for each in done)
    assert "nodes: 15 accepted, 0 rejected, 0 undetermined" in done[1].stdout
    assert "pingpong" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.spark
def test_pipeline_on_spark(tmp_path: Path) -> None:
    done = typed(tmp_path, "pipeline run --simulate pingpong --runs 2 --output out --master 'local[2]'")

    assert done.returncode == 0, done.stdout + done.stderr


def test_executors_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The zip alone, which has the registration as well, is enough to find it."""
    monkeypatch.syspath_prepend(str(PINGPONG))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from peerproof.spec.protocols import PROTOCOLS;"
        "print(PROTOCOLS['pingpong'].runtime.load().specification().__file__)"
    )
    found = subprocess.run([sys.executable, "-c", code, pack(tmp_path / "a.zip")], capture_output=True, text=True, check=False)

    assert found.stdout.strip() == str(tmp_path / "a.zip" / "pingpong" / "specification.py"), found.stderr


@pytest.mark.slow
def test_vectors_find_a_wrong_one(tmp_path: Path) -> None:
    done = typed(tmp_path, f"run pingpong --impl '{WRONG} node harness'")

    assert done.returncode == 1
    assert re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE) == ["pingpong/exchange/late-pong"]


@pytest.mark.slow
def test_fuzzing_finds_a_wrong_one(tmp_path: Path) -> None:
    done = typed(tmp_path, f"fuzz pingpong --impl '{WRONG} node harness'")

    assert done.returncode == 1
    assert "PP-03" in done.stdout


@pytest.mark.slow
def test_traces_and_the_pipeline_show_a_wrong_one(tmp_path: Path) -> None:
    assert typed(tmp_path, "node simulate pingpong --duplication 0.5 --trace run.jsonl", WRONG).returncode == 0
    checked = typed(tmp_path, "trace check run.jsonl")
    ingested = typed(tmp_path, "pipeline ingest run.jsonl --output out --master none")
    validated = typed(tmp_path, "pipeline validate --in out --output out --master none")

    assert (checked.returncode, ingested.returncode, validated.returncode) == (1, 0, 1), ingested.stderr + validated.stderr
    assert "PP-03" in checked.stdout
    assert re.search(r"nodes: \d accepted, [1-5] rejected", validated.stdout)


@pytest.mark.slow
def test_own_vectors_are_the_same_with_it(tmp_path: Path) -> None:
    """A suite's version says what an implementation was checked against, whatever else is installed."""
    done = typed(tmp_path, "vectors list -k scuttlebutt/codec/delta-empty")

    assert load().version in done.stdout + done.stderr


@pytest.mark.slow
def test_without_registration_it_is_unknown(tmp_path: Path) -> None:
    shutil.copytree(PINGPONG / "pingpong", tmp_path / "pingpong")
    done = subprocess.run(
        [sys.executable, "-m", "peerproof.cli.main", "node", "simulate", "pingpong"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "pingpong" in done.stderr


def test_the_page_shows_what_is_there() -> None:
    """Each block of a file on the page is in that folder."""
    page = (ROOT / "docs/how-to/add-a-protocol.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|ini|yaml|tla|json|markdown)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in files()]

    assert blocks
    assert [block for block in blocks if not any(block in text for text in texts)] == []
