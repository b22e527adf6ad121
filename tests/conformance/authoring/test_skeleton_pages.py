"""The pages that begin with `peerproof init` are true: a test does what they say, and sees what they show."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.tools import require
from tests.support.walkthrough import fits, follow, mended

from peerproof.cli.main import main

HOW_TO = Path(__file__).parents[3] / "docs/how-to"


@pytest.mark.slow
@pytest.mark.minute
@pytest.mark.parametrize(("language", "programs"), [("python", ()), ("go", ("go", "gofmt"))])
def test_a_reader_sees_what_the_page_shows(language: str, programs: tuple[str, ...], tmp_path: Path) -> None:
    for program in programs:
        require(program)
    subprocess.run([require("git"), "init", "--quiet", tmp_path], check=True)
    page = HOW_TO / f"test-a-{language}-implementation.md"
    follow(page.read_text("utf-8"), tmp_path, least=10, GOFLAGS="-mod=mod", GOPROXY="off")


def test_workflow_on_the_page_is_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    assert main(["init", "--lang", "go", "--name", "my-node", "scuttlebutt", "conformance"]) == 0

    written = (tmp_path / ".github/workflows/conformance-my-node.yml").read_text("utf-8")
    assert f"```yaml\n{written}```\n" in (HOW_TO / "ci-workflow.md").read_text("utf-8")
    assert f"'peerproof[fuzz]=={version('peerproof')}'" in written


@pytest.mark.parametrize(
    ("expected", "actual", "is_it"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a …\n", "a 12\n", True),
        ("a …\n", "b 12\n", False),
        ("…\nb\n", "a\na\nb\n", True),
        ("…\nb\n", "a\nb\nc\n", False),
        ("a\n…\n", "a\n", True),
    ],
)
def test_three_dots_stand_for_anything(expected: str, actual: str, is_it: bool) -> None:
    assert fits(expected, actual) is is_it


def test_a_diff_is_made_where_it_fits() -> None:
    assert mended("a\nb\nc\n", " a\n-b\n+x\n+y\n") == "a\nx\ny\nc\n"
    with pytest.raises(AssertionError):
        mended("a\nb\nc\n", "-d\n+x\n")
