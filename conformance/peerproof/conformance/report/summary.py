"""The end of a report as text: what does not count as a failure, what was skipped, the largest groups, and the counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from peerproof.conformance.report.failure_groups import group_failures, render_groups
from peerproof.conformance.report.failure_text import brief_difference, demanded_by_document, demanding, failure_meaning
from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.result import BROKEN, Result, transport_lines
from peerproof.conformance.suite.printable import count_text

LACKS: Final = "the implementation does not offer"  #: the beginning of most reasons for skipping
_LISTED_AT: Final = re.compile(r" in [^ ]+:\d+(?=, but it fails as )")  #: the line of a list, which would make each case a group

MOST_GROUPS: Final = 5  #: of failures
MOST_STALE: Final = 20
MOST_CLAUSES: Final = 5  #: of tolerated cases
MOST_LACKING: Final = 5  #: further capabilities that skipped cases lack


def summary(report: Report, option: str = "--decisions", *, brief: bool = False) -> Iterator[str]:
    """
    The end of the text: the implementation, the vectors, and the counts of each status.

    `option` is the one that sets what a case does that only differs. A brief one has nothing that does not make the run fail, but
    the counts.
    """
    if not brief:
        yield from _expected(report.results)
        yield from _differing(report.results, option)
        yield from _skipped(report.results)
    yield from (f"problem: {problem}" for problem in report.problems)
    if not brief:
        yield from transport_lines(report.results)
        yield from (f"note: {note}" for note in report.notes)
    groups = group_failures(report)
    if sum(len(group.cases) for group in groups) > 1:
        yield from render_groups(report, groups, MOST_GROUPS)
    yield f"{implementation_text(report)}, vectors {report.vectors['version']}"
    if report.totals["differs"]:
        violations = "1 case violates" if report.violates == 1 else f"{report.violates:,} cases violate"
        yield f"{violations} the document, {report.totals['differs']:,} differ in what only a decision demands"
    vectors = count_text(len({result.vector for result in report.results}), "vector")
    yield f"{count_text(report.selected, 'case')}, {vectors}: {counts_text(report)}"
    if report.partial:
        yield f"PARTIAL: {report.because}; {not_run_text(report)}"


def implementation_text(report: Report) -> str:
    """The name, version and language of the implementation."""
    implementation = report.implementation
    language = f" ({implementation['language']})" if "language" in implementation else ""
    return f"{implementation['name']} {implementation['version']}{language}"


def counts_text(report: Report) -> str:
    """The number of cases of each status that occurs."""
    counted = [f"{count:,} {status}" for status, count in report.totals.items() if count and status != "selected"]
    return ", ".join(counted) or "none run"


def not_run_text(report: Report) -> str:
    """How many cases were selected and not run."""
    return f"not run: {count_text(report.selected - len(report.results), 'case')}"


def stale_lines(report: Report) -> Iterator[str]:
    """Yields the cases that pass although the list of expected failures names them, and how to remove them from it."""
    stale = [result for result in report.results if result.status == "stale"]
    yield from (f"STALE {result.id}: {result.reason}" for result in stale[:MOST_STALE])
    if left := stale[MOST_STALE:]:
        yield f"… and {len(left):,} more"
    if stale:
        yield f"--update-known-failing removes {'it' if len(stale) == 1 else 'them'} from the list"
        yield ""


def _such_as(results: Sequence[Result]) -> str:
    """The number of cases with an example, or the only case, and how it fails."""
    first = results[0]
    failure = f" ({first.failure})" if first.failure else ""
    return f"{first.id}{failure}" if len(results) == 1 else f"{count_text(len(results), 'case')}, such as {first.id}{failure}"


def _differing(results: Sequence[Result], option: str) -> Iterator[str]:
    """Yields what only decisions demand: first where the implementation crashed, hung or flooded, then the largest group."""
    groups: dict[tuple[bool, str], list[Result]] = {}
    for result in results:
        if result.status == "differs":
            is_broken = result.failure in BROKEN
            groups.setdefault((is_broken, _difference_text(result, is_broken=is_broken)), []).append(result)
    for (_, text), group in sorted(groups.items(), key=lambda item: (not item[0][0], -len(item[1]))):
        yield f"differs: {_such_as(group)}: {text}"
    if groups:
        yield f"differs: {option} strict makes these cases fail, and shows each"


def _difference_text(result: Result, *, is_broken: bool) -> str:
    """What happened, if the implementation broke; the decisions behind it; and the readings that do the same, if known."""
    reason = [_LISTED_AT.sub("", result.reason)] if result.reason else []
    if not is_broken:
        return "; ".join([f"only {demanding(result.decisions)} it, not the document", *reason])
    demands = f"only {demanding(result.decisions)} otherwise, not the document"
    return "; ".join([failure_meaning(result), demands, *reason] if result.difference else [*reason, demands])


def _expected(results: Sequence[Result]) -> Iterator[str]:
    """Yields expected and tolerated failures, by reason; a single one has its difference."""
    groups: dict[tuple[str, str | None], list[Result]] = {}
    for result in results:
        if result.status in ("tolerated", "known"):
            groups.setdefault((result.status, result.reason), []).append(result)
    for (status, reason), group in groups.items():
        yield f"{status}: {_such_as(group)}: {reason}"
        if status == "tolerated":
            yield from _strictly_demanded(group)
        if len(group) == 1:
            yield from brief_difference(group[0])


def _strictly_demanded(tolerated: Sequence[Result]) -> Iterator[str]:
    """Says which clauses of the document that say must these cases cite: one of them may be what the implementation breaks."""
    demanded = {result.id: clauses for result in tolerated if (clauses := demanded_by_document(result))}
    if demanded:
        named = [clause for clause, _ in Counter(clause for clauses in demanded.values() for clause in clauses).most_common()]
        shown = f"{', '.join(named[:MOST_CLAUSES])}{', …' * (len(named) > MOST_CLAUSES)}"
        which = f"{len(demanded):,} of these cite" if len(tolerated) > 1 else "it cites"
        yield f"tolerated: {which} clauses that say must ({shown}), which may be what is wrong; --strict counts it as a failure"


def _skipped(results: Sequence[Result]) -> Iterator[str]:
    """Yields the reasons why cases were skipped, and how many cases of each layer were run."""
    left = [result for result in results if result.status == "skipped"]
    if not left:
        return
    while left:  # the most frequent missing capability, then the most frequent one of the remaining cases, and so on
        because, count = Counter(reason for result in left for reason in _reasons(result)).most_common(1)[0]
        alone = sum(_reasons(result) == [because] for result in left)
        yield f"skipped: {count_text(count, 'case')}: {because}{_lacking_too(left, because) if alone < count else ''}"
        left = [result for result in left if because not in _reasons(result)]
    layers = Counter(result.id.split("/")[1] for result in results)
    run = Counter(result.id.split("/")[1] for result in results if result.status != "skipped")
    loads = Counter(result.id.split("/")[1] for result in results if f"{LACKS} state.load" in _reasons(result))
    layer_texts = (
        f"{layer} {run[layer]:,} of {count:,}" + (f" ({loads[layer]:,} need state.load)" if loads[layer] else "")
        for layer, count in layers.items()
    )
    yield f"cases run by layer: {'; '.join(layer_texts)}"


def _lacking_too(results: Sequence[Result], because: str) -> str:
    """What the cases that lack one capability lack besides: its names if each of them lacks something else, else their number."""
    others = [[reason for reason in _reasons(result) if reason != because] for result in results if because in _reasons(result)]
    if not all(others):
        return f", {sum(map(bool, others)):,} of which lack something else too"
    found = Counter(reason.removeprefix(LACKS).strip() for reasons in others for reason in reasons)
    shown = found.most_common(MOST_LACKING)
    named = (name if count == len(others) else f"{name} ({count_text(count, 'case')})" for name, count in shown)
    return f"; each also lacks something else: {', '.join(named)}{', …' * (len(found) > len(shown))}"


def _reasons(result: Result) -> list[str]:
    """The missing capabilities of a skipped case, or another reason."""
    reason = result.reason or "no reason given"
    if not reason.startswith(LACKS):
        return [reason]
    return [f"{LACKS} {capability}" for capability in reason.removeprefix(LACKS).strip().split(", ")]
