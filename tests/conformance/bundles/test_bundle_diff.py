"""The changelog of vectors between two exports."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.native_runners import bundle

from peerproof.cli.main import main
from peerproof.conformance.bundles import BundleError, compare_bundles, load_bundle

Change = Callable[[dict[str, Any]], object]


def planted(folder: Path, change: Change) -> Path:
    """The bundle of Peter with a change, and the digest of its new content."""
    found = load_bundle(bundle("peter"))
    change(found)
    header = {name: found.pop(name) for name in ("format", "package", "suite", "digest")}
    content = json.dumps(found)[1:] + "\n"
    header["digest"] = f"sha256:{sha256(content.encode()).hexdigest()}"
    path = folder / "peter.json"
    path.write_text("{" + "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in header.items()) + content)
    return path


def test_a_changed_vector_is_listed_with_the_place(tmp_path: Path) -> None:
    name = load_bundle(bundle("peter"))["vectors"][0]["id"]

    (diff,) = compare_bundles(bundle("peter"), planted(tmp_path, lambda found: found["vectors"][0].update(level="may", rev=7)))

    (change,) = diff.changes
    assert (change.kind, change.id, change.members) == ("changed", name, ["rev", "level"])
    assert "level: must -> may" in diff.text()


def test_new_and_gone_vectors_are_listed_with_what_became_of_them(tmp_path: Path) -> None:
    first, second, *_ = load_bundle(bundle("peter"))["vectors"]

    def rename(found: dict[str, Any]) -> None:
        found["vectors"][0]["id"] = "peter/codec/renamed"
        found["former"][first["id"]] = "peter/codec/renamed"
        del found["vectors"][1]
        found["withdrawn"][second["id"]] = "it was wrong"

    (diff,) = compare_bundles(bundle("peter"), planted(tmp_path, rename))

    assert [(change.kind, change.id, change.note) for change in diff.changes] == [
        ("new", "peter/codec/renamed", ""),
        ("gone", first["id"], "now peter/codec/renamed"),
        ("gone", second["id"], "it was wrong"),
    ]


def test_a_step_of_a_table_is_shown_in_each_of_its_vectors(tmp_path: Path) -> None:
    def late(found: dict[str, Any]) -> None:
        next(step for step in found["tables"][0]["steps"] if step["do"] == "receive")["at"] = 77

    (diff,) = compare_bundles(bundle("peter"), planted(tmp_path, late))

    assert diff.changes
    assert all(place.where.endswith(".at") for change in diff.changes for place in change.places)


def test_a_clause_with_another_text_is_listed(tmp_path: Path) -> None:
    (diff,) = compare_bundles(
        bundle("peter"), planted(tmp_path, lambda found: found["clauses"]["P-06"].update(text="It is otherwise."))
    )

    assert not diff.changes
    assert list(diff.clauses) == ["P-06"]


def test_the_command_prints_json_and_compares_folders(tmp_path: Path, capfd: Capture) -> None:
    planted(tmp_path, lambda found: found["vectors"].pop(0))

    assert main(["vectors", "diff", str(bundle("peter").parent), str(tmp_path), "--json"]) == 0

    diffs = {diff["protocol"]: diff for diff in json.loads(capfd.readouterr().out)}
    assert diffs["peter"]["counts"] == {"new": 0, "gone": 1, "changed": 0}


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("[]")

    for old, new in ((bundle("peter"), tmp_path / "none.json"), (bundle("peter"), tmp_path), (tmp_path / "empty", tmp_path)):
        with pytest.raises(BundleError):
            compare_bundles(old, new)
