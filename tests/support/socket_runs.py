"""Runs over real sockets on a machine that may be slow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peerproof.cli.main import main

#: Seconds that a process has to come up, or to go.
PATIENCE = 600.0

#: Options that leave a slow machine enough time.
SLACK = ("--slack", "20", "--op-timeout", "60", "--hello-timeout", "120")


def ran(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of a run."""
    report = tmp_path / "report.json"
    code = main(["run", *arguments, "--format", "json", "--output", str(report)])
    return code, json.loads(report.read_text()) if report.exists() else {}


def statuses(report: dict[str, Any]) -> set[str]:
    """Those that occur."""
    return {case["status"] for case in report["cases"]}


def until_failed(tmp_path: Path, implementation: str, transport: str, word: str) -> dict[str, Any]:
    """The one case, as soon as it has been waited for so long that this machine is fast enough for a verdict."""
    slack = 0.5
    while True:
        chosen = ("--transport", transport, "-k", word, "--slack", str(slack), "--decisions", "strict")
        code, report = ran(tmp_path, "--impl", implementation, *chosen, *SLACK[2:])
        case: dict[str, Any]
        (case,) = report["cases"]
        if case["status"] == "failed":
            assert code == 1
            return case
        assert case["status"] == "undetermined"
        slack *= 2
        assert slack < PATIENCE
