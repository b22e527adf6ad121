"""Where the suite's own files are, in the source tree and once it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from peerproof.conformance import clauses, compiled, coverage, sources, vectors
from peerproof.conformance.vectors import VectorError


def test_in_the_source_tree_they_stand_beside_the_package() -> None:
    assert (sources.vectors_root() / "scuttlebutt").is_dir()
    assert sources.schema("vector").is_file()
    assert (sources.clauses_root() / "scuttlebutt.md").is_file()
    assert clauses.protocols() == ["distkv", "peter", "scuttlebutt", "swim", "wendy"]


@pytest.mark.slow
def test_installed_they_stand_in_the_package(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "peerproof" / "conformance"
    shutil.copytree(sources.vectors_root(), package / "vectors")
    shutil.copytree(sources.schema("vector").parent, package / "schemas")
    (package / "clauses").mkdir()
    shutil.copy(sources.clauses_root() / "scuttlebutt.md", package / "clauses")
    beside = vectors.load()
    monkeypatch.setattr(sources, "_PACKAGE", package)
    monkeypatch.setattr(sources, "_SOURCE_TREE", package.parents[1])

    suite = vectors.load()

    assert suite.vectors == beside.vectors
    assert suite.root == package / "vectors"
    assert clauses.protocols() == ["scuttlebutt"]
    assert coverage.matrix(clauses.load("scuttlebutt"), suite.vectors)


def test_a_protocol_without_prose_is_an_error() -> None:
    with pytest.raises(VectorError, match="the clauses of nothing cannot be read: No such file"):
        clauses.load("nothing")


def test_the_key_of_the_compiled_form_covers_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled.key("digest")
    shutil.copytree(sources.schema("vector").parent, tmp_path / "schemas")
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    (tmp_path / "schemas" / "vector.schema.json").write_text("{}")

    assert compiled.key("digest") != before
