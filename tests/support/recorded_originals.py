"""
The original libraries of Scuttlebutt and Wendy, as recorded: their verdicts as a table for the tests, and on the page about them.

    python -m tests.support.recorded_originals

replays the dialogues in ../shared/data/originals (beside the repository) and writes recorded_originals.json and the marked parts
of docs/how-to/foreign-implementations.md and docs/explanation/originals.md. recorded_originals.yaml says by which sentence of the
document each fault violates it. It is to be run when vectors or verdicts change; the diff says for which case.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from tests.support.catching import suite

from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.report.clause_matrix import as_markdown, clause_matrices
from peerproof.conformance.report.failure_groups import find_differences
from peerproof.conformance.report.record import Report
from peerproof.conformance.report.session import run_implementation
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.trial import Case

_ROOT: Final = Path(__file__).parents[2]
ORIGINALS: Final = _ROOT.parent / "shared/data/originals"
TABLE: Final = Path(__file__).with_suffix(".json")
SEEDS: Final = _ROOT.parent / "shared/seeds"
PAGES: Final = (_ROOT / "docs/how-to/foreign-implementations.md", _ROOT / "docs/explanation/originals.md")
COMMAND: Final = "python -m tests.support.recorded_originals"

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
_PART: Final = re.compile(r"(<!-- (originals|violates|differs) (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """What an original does against a sentence of its document."""

    protocol: str
    clause: str
    fault: str
    sentence: str
    differences: Sequence[str]  #: first differences of the cases that show it
    cases: Sequence[str] = ("*",)  #: patterns of these cases' names

    def covers(self, case: str, difference: str) -> bool:
        """Whether it is why a case shows a difference."""
        name = case.rpartition("/")[2]
        return difference in self.differences and any(fnmatchcase(name, pattern) for pattern in self.cases)

    def count(self, report: Report) -> int:
        """How many cases of a report show it."""
        return sum(any(self.covers(case, shown) for shown in found) for case, found in find_differences(report).items())


FAULTS: Final = [Fault(**entry) for entry in yaml.safe_load(TABLE.with_suffix(".yaml").read_text(encoding="utf-8"))]


@cache
def cases_of(protocol: str) -> list[Case]:
    """The cases whose requests were recorded."""
    return select_cases(suite(), SELECTED[protocol], protocol)


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


def page(path: Path) -> str:
    """A page as the recordings make it."""
    return _PART.sub(lambda at: f"{at[1]}\n{_PARTS[at[2]](at[3])}\n{at[4]}", path.read_text(encoding="utf-8"))


def _matrix(protocol: str) -> str:
    names = RECORDINGS[protocol]
    reports = [replace(replayed(protocol, name), implementation={"name": shown, "version": ""}) for name, shown in names.items()]
    reference = run_implementation("py:peerproof.reference.harness.harness:Harness", cases_of(protocol)).report
    return as_markdown(clause_matrices([replace(reference, implementation={"name": "reference", "version": ""}), *reports]))


def _violations(protocol: str) -> str:
    """A table: each fault, the clause and the sentence that it violates, and the cases of each recording that show it."""
    names = RECORDINGS[protocol]
    lines = [
        f"| fault | clause | the document's sentence | {' | '.join(names.values())} |",
        f"|{' --- |' * 3}{' ---: |' * len(names)}",
    ]
    for fault in FAULTS:
        if fault.protocol == protocol:
            counts = [str(fault.count(replayed(protocol, name))) for name in names]
            lines.append(f"| {fault.fault} | {fault.clause} | “{fault.sentence}” | {' | '.join(counts)} |")
    lines.append(f"| all cases that violate | | | {' | '.join(str(replayed(protocol, name).violates) for name in names)} |")
    return "\n".join([*lines, ""])


def _differing(protocol: str) -> str:
    """A table: each decision, and the cases of each recording in which only it, or it with others, demands something else."""
    names = RECORDINGS[protocol]
    counts = [
        Counter(
            decision for result in replayed(protocol, name).results if result.status == "differs" for decision in result.decisions
        )
        for name in names
    ]
    lines = [f"| decision | {' | '.join(names.values())} |", f"| --- |{' ---: |' * len(names)}"]
    decisions = sorted(set().union(*counts), key=in_order)
    lines += [f"| {decision} | {' | '.join(str(counted[decision]) for counted in counts)} |" for decision in decisions]
    lines.append(f"| all cases that differ | {' | '.join(str(replayed(protocol, name).totals['differs']) for name in names)} |")
    return "\n".join([*lines, ""])


_PARTS: Final = {"originals": _matrix, "violates": _violations, "differs": _differing}


def main() -> None:
    """Writes the table and the pages."""
    found = {name: verdicts(replayed(protocol, name)) for protocol, names in RECORDINGS.items() for name in names}
    TABLE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for path in PAGES:
        path.write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    main()
