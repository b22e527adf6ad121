"""The original DistKV, what the suite says of its codec, and the page about it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.originals import ORIGINAL, installed
from tests.support.walkthrough import follow, with_free_ports

pytestmark = [pytest.mark.slow, pytest.mark.minute]

ROOT = Path(__file__).parents[3]
EXPECTED = ROOT / "conformance/expected/distkv-pypi.txt"

#: Of a machine that is busy.
PATIENT = ["--hello-timeout", "60", "--op-timeout", "60", "--bye-timeout", "10"]

#: What setup.sh runs, besides Python.
TOOLS = ("sh", "dirname", "cat", "cksum", "flock", "rm")


@pytest.fixture(autouse=True)
def original() -> None:
    installed()


def peerproof(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command says of the original."""
    words = [sys.executable, "-m", "peerproof.cli.main", command, *arguments, "--impl", f"'{ORIGINAL / 'adapter'}'", *PATIENT]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1000)


def test_the_adapter_does_what_adapters_must() -> None:
    done = peerproof("doctor")

    assert done.returncode == 0, done.stdout + done.stderr


def test_it_fails_what_the_list_says_and_nothing_else() -> None:
    """The first is the document's own example of an update, byte for byte; there is a reason for each that fails."""
    entries = [line.split(None, 4) for line in EXPECTED.read_text("utf-8").splitlines() if line and line[0] != "#"]
    page = (ROOT / "spec/distkv.md").read_text("utf-8")
    assert all(f"**{link}**" in page for _, _, _, link, _ in entries)

    done = peerproof("run", "distkv", "--known-failing", str(EXPECTED))

    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(
        r"^([\d,]+) cases, [\d,]+ vectors: ([\d,]+) passed, ([\d,]+) known, ([\d,]+) skipped$", done.stdout, re.MULTILINE
    )
    assert counts, done.stdout
    cases, passed, known, skipped = (int(number.replace(",", "")) for number in counts.groups())
    assert known == len(entries)
    assert passed > known
    assert cases == passed + known + skipped


def test_the_list_tells_what_violates_the_document_from_what_only_differs() -> None:
    entries = [line.split(None, 4) for line in EXPECTED.read_text("utf-8").splitlines() if line and line[0] != "#"]

    done = peerproof("run", "distkv", "-k", "layer:codec", "--format", "json")

    assert done.returncode == 1, done.stderr
    found = {case["id"]: case["status"] for case in json.loads(done.stdout)["cases"] if "failure" in case}
    assert found == {name: "failed" if link.startswith("DD-") else "differs" for name, _, _, link, _ in entries}


def test_setting_up_again_changes_nothing() -> None:
    made = ORIGINAL / ".venv/made"
    before = made.stat()

    done = subprocess.run([ORIGINAL / "setup.sh"], capture_output=True, text=True, check=False, timeout=600)

    assert (done.returncode, done.stderr) == (0, "distkv-pypi: the environment is there\n")
    assert made.stat().st_mtime_ns == before.st_mtime_ns


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The folder as it is in a fresh clone."""
    return Path(shutil.copytree(ORIGINAL, tmp_path / "bare", ignore=shutil.ignore_patterns(".venv", ".setup.lock")))


def test_the_adapter_says_that_the_original_has_to_be_installed(bare: Path) -> None:
    done = subprocess.run([bare / "adapter"], capture_output=True, text=True, check=False, timeout=600)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"Run {bare}/setup.sh first" in done.stderr


def test_without_its_python_setting_up_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        if path := shutil.which(tool):
            (tools / tool).symlink_to(path)

    done = subprocess.run([bare / "setup.sh"], env={"PATH": str(tools)}, capture_output=True, text=True, check=False, timeout=600)

    assert done.returncode == 2
    assert "the original runs on Python 3.11" in done.stderr
    assert "PYTHON=/path/to/python3.11" in done.stderr
    assert not (bare / ".venv").exists()


def test_a_reader_sees_what_the_page_shows(tmp_path: Path) -> None:
    for name in ("conformance/adapters", "conformance/expected", "conformance/runners"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy2(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    page = ROOT / "docs/how-to/foreign-implementations.md"
    follow(with_free_ports(page.read_text("utf-8")), tmp_path, least=5)
