"""Bundles: what the suite has is in them, in the form that their schema describes, and twice the same."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import suite
from tests.support.native_runners import bundle

from peerproof.cli.main import main
from peerproof.conformance.bundles import BundleError, bundle_text, load_bundle
from peerproof.conformance.bundles.bundle import expanded_vectors
from peerproof.conformance.bundles.scripts import CannotExport, pattern, script
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.suite.schema import unfit
from peerproof.spec.protocols import PROTOCOLS

#: Rows of a table that are checked against the schema: one in so many, since the validator takes a minute for all.
ONE_IN = 20


def sample(path: Path) -> dict[str, Any]:
    """A bundle with some of the rows of its tables."""
    found = load_bundle(path)
    for table in found["tables"]:
        table.update({name: table[name][::ONE_IN] for name in ("states", "steps", "vectors")})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_bundle_fits_its_schema(protocol: str) -> None:
    assert unfit(sample(bundle(protocol)), "bundle") is None


def test_the_schema_refuses_what_is_not_described() -> None:
    found = sample(bundle("peter"))
    found["vectors"][0]["surprise"] = 1

    assert "surprise" in (unfit(found, "bundle") or "")


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_bundle_has_the_cases_of_a_run_in_its_order(protocol: str) -> None:
    expected = [case.id for case in cases(suite(), (one for one in suite().vectors if one.protocol == protocol))]

    found = [case["id"] for vector in expanded_vectors(load_bundle(bundle(protocol))) for case in vector["cases"]]

    assert found == expected


@pytest.mark.slow
def test_rows_of_a_table_are_the_scripts_of_their_vectors() -> None:
    found = {vector["id"]: vector for vector in expanded_vectors(load_bundle(bundle("scuttlebutt")))}

    for vector in suite().vectors:
        if vector.protocol == "scuttlebutt" and vector.layer == "model":
            assert {name: found[vector.id][name] for name in ("nodes", "steps")} == script(vector)


def test_two_exports_are_equal() -> None:
    assert bundle_text(suite(), "peter") == bundle("peter").read_text("utf-8")


@pytest.mark.slow
def test_all_bundles_are_small() -> None:
    assert sum(len(gzip.compress(bundle(protocol).read_bytes())) for protocol in PROTOCOLS) < 5_000_000


@pytest.mark.slow
def test_every_cited_clause_and_flag_is_described() -> None:
    for protocol in PROTOCOLS:
        found = load_bundle(bundle(protocol))
        for vector in found["vectors"]:
            decisions = {name for keys in vector.get("basis", {}).values() for key in keys for name in key.split()}
            assert {*vector["clauses"], *decisions} <= found["clauses"].keys()
            assert {*vector.get("flags", ())} <= found["flags"].keys()


def test_a_compressed_bundle_is_the_same(tmp_path: Path) -> None:
    """In every export, so that a repository in which it lies changes with its content only."""
    assert main(["vectors", "export", "peter", "--output", str(tmp_path), "--gzip"]) == 0

    compressed = (tmp_path / "peter.json.gz").read_bytes()
    assert gzip.decompress(compressed) == bundle("peter").read_bytes()
    assert compressed[4:8] == bytes(4)  # the header has no time
    assert load_bundle(tmp_path / "peter.json.gz") == load_bundle(bundle("peter"))


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "peter.json"
    path.write_text(bundle("peter").read_text("utf-8").replace('"level":"must"', '"level":"may"', 1), encoding="utf-8")

    with pytest.raises(BundleError, match="has been changed"):
        load_bundle(path)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"format": 0, "package": "0.0.1", "digest": ""}))

    with pytest.raises(BundleError, match=r"format 0, written by peerproof 0\.0\.1"):
        load_bundle(path)


@pytest.mark.parametrize("matcher", [{"subset_of": []}, {"absent": True}])
def test_a_matcher_that_bundles_do_not_have_is_an_error(matcher: dict[str, Any]) -> None:
    with pytest.raises(CannotExport):
        pattern({"member": matcher})


def test_a_member_that_bundles_do_not_have_is_an_error() -> None:
    vector = next(one for one in suite().vectors if one.layer == "exchange")
    strange = replace(vector, body={**vector.body, "steps": [{"expect": {"within": 10}}]})

    with pytest.raises(CannotExport, match="within"):
        script(strange)


@pytest.mark.parametrize(("language", "entry"), [("go", "runner.go"), ("javascript", "runner.mjs")])
def test_the_command_writes_one_protocol_and_a_runner(language: str, entry: str, tmp_path: Path, capfd: Capture) -> None:
    assert main(["vectors", "export", "peter", "--output", str(tmp_path / "new"), "--runner", language]) == 0

    assert (tmp_path / "new/peter.json").read_bytes() == bundle("peter").read_bytes()
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert entry in names
    assert not any("test" in name for name in names)
    assert "cases" in capfd.readouterr().out
