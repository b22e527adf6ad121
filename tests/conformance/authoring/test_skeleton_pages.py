"""The pages that begin with `peerproof init` are true: a test does what they say, and sees what they show."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.tools import require
from tests.support.walkthrough import follow

from peerproof.cli.main import main

HOW_TO = Path(__file__).parents[3] / "docs/how-to"
PROGRAMS: dict[str, tuple[str, ...]] = {
    "python": (),
    "go": ("go", "gofmt"),
    "rust": ("cargo",),
    "java": ("mvn",),
    "javascript": ("node",),
}

#: Nothing comes from a network, and `node --test` prints what it prints at a terminal.
ENVIRONMENT = {"GOFLAGS": "-mod=mod -trimpath", "GOPROXY": "off", "NODE_OPTIONS": "--test-reporter=spec"}


@pytest.mark.slow
@pytest.mark.minute
@pytest.mark.parametrize(("language", "programs"), PROGRAMS.items())
def test_a_reader_sees_what_the_page_shows(language: str, programs: tuple[str, ...], tmp_path: Path) -> None:
    for program in programs:
        require(program)
    subprocess.run([require("git"), "init", "--quiet", tmp_path], check=True)
    page = HOW_TO / f"test-a-{language}-implementation.md"
    follow(page.read_text("utf-8"), tmp_path, least=10, **ENVIRONMENT)


@pytest.mark.slow
def test_workflow_on_the_page_is_what_is_written(here: Path) -> None:
    (here / ".git").mkdir()

    assert main(["init", "--lang", "go", "--name", "my-node", "scuttlebutt", "conformance"]) == 0

    written = (here / ".github/workflows/conformance-my-node.yml").read_text("utf-8")
    assert f"```yaml\n{written}```\n" in (HOW_TO / "ci-workflow.md").read_text("utf-8")
    assert f'"peerproof[fuzz]=={version("peerproof")}"' in written
