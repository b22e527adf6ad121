"""
The original libraries of Scuttlebutt and Wendy, as recorded: their verdicts as a table for the tests, and on the page about them.

    python -m tests.conformance.recorded_originals

replays the dialogues in ../shared/data/originals (beside the repository) and writes recorded_originals.json and the marked parts
of docs/how-to/foreign-implementations.md. It is to be run when vectors or verdicts change; the diff says for which case.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.report.clause_matrix import as_markdown, clause_matrices
from peerproof.conformance.report.record import Report
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.suite import load

_ROOT: Final = Path(__file__).parents[2]
ORIGINALS: Final = _ROOT.parent / "shared/data/originals"
TABLE: Final = Path(__file__).with_suffix(".json")
PAGE: Final = _ROOT / "docs/how-to/foreign-implementations.md"
COMMAND: Final = "python -m tests.conformance.recorded_originals"

#: Recordings by their protocols, and what the page calls them. None has the model layer, and that of Wendy no clusters.
RECORDINGS: Final = {
    "scuttlebutt": {
        "scuttlebutt-go-bd63606-oracle": "bd63606",
        "scuttlebutt-go-bd63606-set": "bd63606, own choices",
        "scuttlebutt-go-c3d0bba-oracle": "c3d0bba",
        "scuttlebutt-go-c3d0bba-set": "c3d0bba, own choices",
    },
    "wendy": {"wendy-go": "wendy"},
}
SELECTED: Final = {"scuttlebutt": "!layer:model", "wendy": "!layer:model !layer:cluster"}
_PART: Final = re.compile(r"(<!-- originals (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@cache
def cases_of(protocol: str) -> list[Case]:
    """The cases whose requests were recorded."""
    return select_cases(load(), SELECTED[protocol], protocol)


@cache
def replayed(protocol: str, name: str) -> Report:
    """The report of a recording."""
    return run_implementation(f"recorded:{ORIGINALS / f'{name}.dialogue.gz'}", cases_of(protocol)).report


def verdicts(report: Report) -> dict[str, Any]:
    """What is agreed of a run: how many cases came out how, which did not pass, and how many of each clause."""
    outcomes = defaultdict[str, list[str]](list)
    for result in report.results:
        if result.status not in ("passed", "skipped"):
            outcomes[result.outcome].append(result.id)
    (matrix,) = clause_matrices([report])
    totals = {status: count for status, count in report.totals.items() if count}
    clauses = {row.clause.id: str(row.cells[0]) for row in matrix.rows}
    return {"totals": totals, "cases": {outcome: sorted(ids) for outcome, ids in sorted(outcomes.items())}, "clauses": clauses}


def page() -> str:
    """The page as the recordings make it, the reference beside them."""
    return _PART.sub(lambda found: f"{found[1]}\n{_matrix(found[2])}\n{found[3]}", PAGE.read_text(encoding="utf-8"))


def _matrix(protocol: str) -> str:
    names = RECORDINGS[protocol]
    reports = [replace(replayed(protocol, name), implementation={"name": shown, "version": ""}) for name, shown in names.items()]
    reference = run_implementation("py:peerproof.reference.harness.harness:Harness", cases_of(protocol)).report
    return as_markdown(clause_matrices([replace(reference, implementation={"name": "reference", "version": ""}), *reports]))


def main() -> None:
    """Writes the table and the page."""
    found = {name: verdicts(replayed(protocol, name)) for protocol, names in RECORDINGS.items() for name in names}
    TABLE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
