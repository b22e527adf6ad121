"""
The failing cases of records as runs that a report opens: the way that the specification takes, and the difference at its step.

A record has what an implementation did, but not what it knew; so the states are those of the specification. With the
implementation at hand, `peerproof vectors explore ID --impl` shows its states too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.explorer.page_file import page_with, script_text
from peerproof.conformance.explorer.recorded_run import BESIDE, Moment, Run, TooLarge
from peerproof.conformance.explorer.serve import create_reference
from peerproof.conformance.explorer.vector_run import (
    CHECK,
    NotRun,
    actual_parts,
    expected_parts,
    mark,
    mark_other,
    mark_unsent,
    problem_of,
    run_case,
    unpaired,
    words_of_check,
)
from peerproof.conformance.report.failure_diagram import find_sent
from peerproof.conformance.report.failure_groups import group_failures
from peerproof.conformance.report.failure_text import explore_commands
from peerproof.conformance.report.html.page import Explored
from peerproof.conformance.report.record import Report, labels
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Arrow as TrialArrow
from peerproof.conformance.runner.trial import Case, TrialEvent
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.conformance.vectors.suite import Suite
from peerproof.spec.forms.form import Plain

#: Failing cases that are explored, of all reports together, and at least of each: first an example of each group of failures.
MOST: Final = 100
LEAST: Final = 10

#: A pattern that every value matches.
_ANY: Final = {"any": True}


def explore_failures(reports: Sequence[Report], suite: Suite, most: int = MOST) -> Explored | None:
    """
    Returns a page of the explorer with failing cases of these reports, about `most` together; None if there is none.

    Cases that the suite does not have, or has in another revision, are left out, and so are those over real sockets.
    """
    share = max(most // len(reports), min(LEAST, most))
    chosen = [(number, result) for number, report in enumerate(reports) for result in _first(report, share)]
    revisions = {(result.vector, result.rev) for _, result in chosen}
    vectors = [vector for vector in suite.vectors if (vector.id, vector.rev) in revisions]
    known = {case.id: case for case in cases(suite, vectors)}
    runs: list[dict[str, Plain]] = []
    places: dict[tuple[int, str], int] = {}
    for number, result in chosen:
        if result.id not in known:
            continue
        with suppress(NotRun, TooLarge):
            run = run_of_failure(known[result.id], result, labels(reports)[number])
            run.commands = tuple(explore_commands(result, reports[number].arguments))
            runs.append(run.whole())
            places[number, result.id] = len(runs) - 1
    return Explored(page_with({"runs": runs}), script_text(), places) if runs else None


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
    places, instead = _marks(case, result)
    actual = mark(actual_parts(result.story[result.judged :], run.protocol), [place - result.judged for place in places])
    problem = problem_of(result)
    checks = [place for place, moment in enumerate(run.moments[:at]) if moment.what.startswith(CHECK)]
    for place in range(checks[-1] + 1 if checks else 0, at):  # what came of these stands at the failing step
        run.moments[place] = replace(run.moments[place], parts=())
    wrong = run.moments[at] if at < len(run.moments) else Moment(None, "", "after the last step")
    if wrong.what.startswith(CHECK):
        came = [part.label for part in actual if part.wrong]
        wrong = replace(wrong, what=words_of_check(wrong.what, problem, instead, came))
    run.moments[at:] = [replace(wrong, parts=actual or wrong.parts, instead=instead, problem=problem)]
    run.states = {f"{name}{BESIDE}": states.until(at) for name, states in run.states.items()}
    run.verdict = result.status
    return run


def _marks(case: Case, result: Result) -> tuple[list[int], tuple[Arrow | Note, ...]]:
    """Returns the places in the story of what is wrong, and the expectation that was not met, with what did not come marked."""
    instead = expected_parts(result)
    if result.failure != "messages" or result.difference is None:
        return mark_other(result, instead)
    expect = _expectation(case, result.difference.where)
    if expect is None and result.difference.actual is None:  # the step itself needs a message
        return [], instead
    branch = (expect or {}).get("any_of", (expect or {},))[0]
    ((order, wanted),) = branch.get("messages", {"ordered": []}).items()
    names = [part.target for part in instead if isinstance(part, Arrow)]
    matchers = [
        {"to": name, "bytes": message.get("bytes", _ANY), "message": message.get("message", _ANY)}
        for name, message in zip(names, wanted, strict=False)
    ]
    sent = find_sent(result)
    extra, unsent = unpaired(matchers, [_plain_message(case, result.story[place]) for place in sent], order)
    places = [sent[place] for place in extra]
    return (places, mark_unsent(instead, unsent)) if places or unsent else mark_other(result, instead)


def _expectation(case: Case, where: str) -> Mapping[str, Any] | None:
    """Returns the expectation of the step at which a case failed; None if that step has none."""
    part, _, rest = where.partition("[")
    index = rest.partition("]")[0]
    steps = case.vector.body.get(part, ())
    if not index.isdigit() or not isinstance(steps, Sequence) or int(index) >= len(steps):
        return None
    found: Mapping[str, Any] | None = steps[int(index)].get("expect")
    return found


def _plain_message(case: Case, part: TrialArrow | TrialEvent) -> dict[str, Any]:
    """Returns a message of the story with the members that a pattern has."""
    assert isinstance(part, TrialArrow)
    return {"to": part.target, "bytes": part.bytes, "message": describe_bytes(case.vector.protocol, part.bytes or "")}


def _failing(case: Case, result: Result, count: int) -> int:
    """Returns the index of the moment at which a case failed."""
    part, _, rest = (result.difference.where if result.difference else "").partition("[")
    index = rest.partition("]")[0]
    if part not in ("setup", "steps") or not index.isdigit():
        return max(0, count - 1) if case.codec or not result.difference else count
    return int(index) + (len(case.vector.body.get("setup", ())) if part == "steps" else 0)
