"""
The failing cases of records as runs that a report opens: the way that the specification takes, and the difference at its step.

A record has what an implementation did, but not what it knew; so the states are those of the specification. With the
implementation at hand, `peerproof vectors explore ID --impl` shows its states too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from peerproof.conformance.diagrams.message_graph import Arrow
from peerproof.conformance.explorer.page_file import page_with
from peerproof.conformance.explorer.recorded_run import Moment, Run, TooLarge
from peerproof.conformance.explorer.serve import create_reference
from peerproof.conformance.explorer.vector_run import BESIDE, CHECK, NotRun, problem_of, run_case
from peerproof.conformance.report.failure_groups import group_failures
from peerproof.conformance.report.failure_text import draw_part, explore_commands
from peerproof.conformance.report.html.page import Explored
from peerproof.conformance.report.record import Report, labels
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.suite import Suite

#: Failing cases of one report that are explored: first an example of each group of failures.
MOST: Final = 100


def explore_failures(reports: Sequence[Report], suite: Suite, most: int = MOST) -> Explored | None:
    """
    Returns a page of the explorer with failing cases of these reports, at most `most` of each; None if there is none.

    Cases that the suite does not have, or has in another revision, are left out, and so are those over real sockets.
    """
    known = {vector.id: vector for vector in suite.vectors}
    runs: list[Run] = []
    places: dict[tuple[int, str], int] = {}
    for number, (label, report) in enumerate(zip(labels(reports), reports, strict=True)):
        for result in _first(report, most):
            vector = known.get(result.vector)
            if vector is None or vector.rev != result.rev:
                continue
            case = next((case for case in cases(suite, [vector]) if case.id == result.id), None)
            if case is None:
                continue
            try:
                run = run_of_failure(case, result, label)
                run.whole()
            except (NotRun, TooLarge):
                continue
            run.commands = tuple(explore_commands(result, report.arguments))
            places[number, result.id] = len(runs)
            runs.append(run)
    return Explored(page_with({"runs": [run.whole() for run in runs]}), places) if runs else None


def _first(report: Report, most: int) -> Iterator[Result]:
    """Yields failing results: an example of each group, then the others."""
    by_id = {result.id: result for result in report.results if result.failure}
    examples = [group.example for group in group_failures(report)]
    yield from (by_id[name] for name in [*dict.fromkeys([*examples, *by_id])][:most] if name in by_id)


def run_of_failure(case: Case, result: Result, label: str) -> Run:
    """Returns a case up to its failing step, with what the implementation did there. Raises NotRun."""
    run = run_case(case, create_reference)
    run.title = f"{result.id}: {case.vector.title}"
    run.about = f"{label}; states are those of the specification. {run.about.partition('. ')[2]}"
    at = _failing(case, result, len(run.moments))
    actual = tuple(draw_part(part._replace(at=None), run.protocol, digits=False) for part in result.story[result.judged :])
    instead = [draw_part(part, run.protocol, digits=False) for part in result.expected]
    judged = tuple(part._replace(judged=True) if isinstance(part, Arrow) else part for part in instead)
    problem = problem_of(result)
    checks = [place for place, moment in enumerate(run.moments[:at]) if moment.what.startswith(CHECK)]
    for place in range(checks[-1] + 1 if checks else 0, at):  # what came of these stands at the failing step
        run.moments[place] = replace(run.moments[place], parts=())
    wrong = run.moments[at] if at < len(run.moments) else Moment(None, "", "after the last step")
    run.moments[at:] = [replace(wrong, parts=actual or wrong.parts, instead=judged, problem=problem)]
    run.states = {f"{name}{BESIDE}": states.until(at) for name, states in run.states.items()}
    run.verdict = result.status
    return run


def _failing(case: Case, result: Result, count: int) -> int:
    """Returns the index of the moment at which a case failed."""
    part, _, rest = (result.difference.where if result.difference else "").partition("[")
    index = rest.partition("]")[0]
    if part not in ("setup", "steps") or not index.isdigit():
        return max(0, count - 1) if case.codec or not result.difference else count
    return int(index) + (len(case.vector.body.get("setup", ())) if part == "steps" else 0)
