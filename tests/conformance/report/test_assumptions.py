"""Known differences are gone past, so that what they hide shows; what no case shows is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture

from peerproof.cli.exits import FAILED, OK, USAGE
from peerproof.cli.main import main

SURPLUS = "digest_response was sent and not expected"
ITEMS = "digest_response.entries: an item was not expected"
EMPTY = "empty delta was expected and not sent"


def run(tmp_path: Path, implementation: str, *lines: str, select: str = "layer:exchange") -> tuple[int, dict[str, Any]]:
    """The exit code and the report of a run that assumes these lines."""
    assumed, report = tmp_path / "known.txt", tmp_path / "report.json"
    assumed.write_text("".join(f"{line}\n" for line in lines))
    chosen = ("scuttlebutt", "-k", select, "--assume", str(assumed), "--format", "json", "--output", str(report))
    code = main(["run", "--impl", implementation, *chosen])
    return code, json.loads(report.read_text())


def statuses(report: dict[str, Any]) -> dict[str, set[str]]:
    """The ids of cases by status."""
    found: dict[str, set[str]] = {}
    for case in report["cases"]:
        found.setdefault(case["status"], set()).add(case["id"])
    return found


def test_who_has_only_a_known_fault_passes(tmp_path: Path) -> None:
    lines = ("# the original's", f"{SURPLUS}   # BD-03")
    code, report = run(tmp_path, "divergence:BD-03", *lines, select="digest-behind-gets")

    found = statuses(report)
    assert code == OK
    assert found.keys() == {"known"}
    assert len(found["known"]) > 1
    assert all(SURPLUS in case["reason"] or ITEMS in case["reason"] for case in report["cases"] if case["status"] == "known")


@pytest.mark.slow
def test_the_next_fault_shows(tmp_path: Path) -> None:
    """A case that fails twice fails by the second fault when the first is assumed."""
    _, before = run(tmp_path, "py:tests.conformance.report.test_failure_groups:TwoFaults")
    code, after = run(tmp_path, "py:tests.conformance.report.test_failure_groups:TwoFaults", SURPLUS, ITEMS)

    hidden = statuses(after)["failed"]
    assert code == FAILED
    assert hidden < statuses(before)["failed"]
    later = [case for case in after["cases"] if case["status"] == "failed" and SURPLUS in case.get("reason", "")]
    assert later
    assert all(case["reason"].startswith("after assumed differences: ") for case in later)


@pytest.mark.slow
def test_a_difference_that_no_case_shows_is_told(tmp_path: Path) -> None:
    code, report = run(tmp_path, "divergence:BD-03", SURPLUS, ITEMS, "nothing of the kind")

    assert code == FAILED
    (problem,) = report["problems"]
    assert problem.startswith(f"{tmp_path / 'known.txt'}:3: no case shows 'nothing of the kind'")


@pytest.mark.parametrize(("content", "why"), [(None, "No such file or directory"), (b"\xff\n", "it is not UTF-8, at byte 0")])
def test_a_file_that_cannot_be_read_ends_the_run(content: bytes | None, why: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "known.txt"
    if content is not None:
        path.write_bytes(content)

    assert main(["run", "--assume", str(path)]) == USAGE
    assert f"{path}: the assumptions cannot be read: {why}" in capsys.readouterr().err
