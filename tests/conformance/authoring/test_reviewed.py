"""Vectors of a clause whose text has changed are stale until somebody has looked at them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.main import main
from peerproof.conformance.authoring.lint import not_reviewed
from peerproof.conformance.authoring.reviewed import digest, load_reviewed, path_of
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import VectorError


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page and a list that can be changed; the page's path."""
    for name, ending in (("clauses", "md"), ("reviewed", "txt")):
        monkeypatch.setattr(
            locations, f"{name}_file", lambda protocol, folder=tmp_path / name, ending=ending: folder / f"{protocol}.{ending}"
        )
    shutil.copytree(Path(__file__).parents[3] / "conformance/reviewed", tmp_path / "reviewed")
    (tmp_path / "clauses").mkdir()
    return Path(shutil.copy(Path(__file__).parents[3] / "spec/scuttlebutt.md", tmp_path / "clauses"))


@pytest.mark.parametrize("protocol", catalogue.protocols())
def test_the_vectors_of_every_clause_were_looked_at(protocol: str) -> None:
    assert list(map(str, not_reviewed(catalogue.load(protocol)))) == []


@pytest.mark.slow
def test_a_clause_that_says_something_else_makes_its_vectors_stale_until_they_are_reviewed(copied: Path, capsys: Capture) -> None:
    text = copied.read_text(encoding="utf-8")
    before = "lists these peers, and only these, in a digest response"
    assert before in " ".join(text.split())
    copied.write_text(text.replace("and only these", "and others", 1), encoding="utf-8")

    (finding,) = not_reviewed(catalogue.load("scuttlebutt"))
    assert (finding.rule, finding.message.partition(":")[0]) == ("reviewed", "B-14 has changed")
    assert main(["explain", "B-14"]) == 0
    assert "STALE" in capsys.readouterr().out
    assert main(["explain", "B-13"]) == 0
    assert "STALE" not in capsys.readouterr().out

    assert main(["vectors", "lint", "--reviewed", "B-14"]) == 0
    assert capsys.readouterr().out == "reviewed: B-14\n"
    assert list(not_reviewed(catalogue.load("scuttlebutt"))) == []
    assert main(["vectors", "lint", "--reviewed", "B-14"]) == 0
    assert "already" in capsys.readouterr().out


def test_another_level_is_another_clause_and_other_line_breaks_are_not() -> None:
    def digest_of(text: str) -> str:
        (clause,) = catalogue.parse(text, "x").values()
        return digest(clause)

    assert digest_of("- **B-14** *must* — One\n  two.\n") == digest_of("- **B-14** *must* — One two.\n")
    assert digest_of("- **B-14** *must* — One two.\n") != digest_of("- **B-14** *may* — One two.\n")


def test_new_clauses_and_lines_about_none_are_told(copied: Path) -> None:
    text = copied.read_text(encoding="utf-8")
    copied.write_text(text + "\n- **B-99** *must* — Something new.\n", encoding="utf-8")
    listed = path_of("scuttlebutt")
    listed.write_text(listed.read_text(encoding="utf-8") + "B-98 0123456789ab\n", encoding="utf-8")

    new, gone = not_reviewed(catalogue.load("scuttlebutt"))

    assert new.message.startswith("B-99 is new")
    assert gone.message.startswith("B-98 is not a clause any more")
    assert main(["vectors", "lint", "--reviewed", "all"]) == 0
    assert list(not_reviewed(catalogue.load("scuttlebutt"))) == []
    assert "B-99" in load_reviewed("scuttlebutt")


@pytest.mark.parametrize("line", ["B-14", "B-14 xyz", "B-01 0123456789ab\nB-01 0123456789ab"])
def test_a_list_that_is_none_is_told(copied: Path, line: str) -> None:
    path_of("scuttlebutt").write_text(f"{line}\n", encoding="utf-8")

    with pytest.raises(VectorError, match="expected a clause and twelve digits"):
        load_reviewed("scuttlebutt")


def test_what_is_no_clause_cannot_be_reviewed(capsys: Capture) -> None:
    assert main(["vectors", "lint", "--reviewed", "B-999"]) == 2
    assert "B-999" in capsys.readouterr().err
