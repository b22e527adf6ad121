"""Where the suite's own files are, in the source tree and once it is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.catching import suite

from peerproof.conformance.authoring import clause_report
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors import compiled
from peerproof.conformance.vectors import suite as vectors
from peerproof.conformance.vectors.suite import VectorError


def test_in_the_source_tree_they_stand_beside_the_package() -> None:
    assert (locations.vectors_root() / "scuttlebutt").is_dir()
    assert locations.schema("vector").is_file()
    assert locations.clauses_file("scuttlebutt").is_file()
    assert catalogue.protocols() == ["distkv", "peter", "scuttlebutt", "swim", "wendy"]


@pytest.mark.slow
def test_installed_they_stand_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "peerproof" / "conformance"
    shutil.copytree(locations.vectors_root() / "scuttlebutt", package / "data/vectors/scuttlebutt")
    shutil.copytree(locations.schema("vector").parent, package / "data/schemas")
    (package / "data/clauses").mkdir()
    shutil.copy(locations.clauses_file("scuttlebutt"), package / "data/clauses")
    beside = suite()  # all, of the source tree
    monkeypatch.setattr(locations, "_PACKAGE", package)
    monkeypatch.setattr(locations, "_SOURCE_TREE", package.parents[1])

    installed = vectors.load()

    assert installed.vectors == tuple(vector for vector in beside.vectors if vector.protocol == "scuttlebutt")
    assert installed.root == package / "data/vectors"
    assert catalogue.protocols() == ["scuttlebutt"]
    assert clause_report.matrix(catalogue.load("scuttlebutt"), installed.vectors)


def test_a_protocol_without_prose_is_an_error() -> None:
    with pytest.raises(VectorError, match="the clauses of nothing cannot be read: No such file"):
        catalogue.load("nothing")


def test_the_key_of_the_compiled_form_covers_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled.readers()
    shutil.copytree(locations.schema("vector").parent, tmp_path / "data/schemas")
    monkeypatch.setattr(locations, "_PACKAGE", tmp_path)
    (tmp_path / "data/schemas" / "vector.schema.json").write_text("{}")

    assert compiled.readers() != before
