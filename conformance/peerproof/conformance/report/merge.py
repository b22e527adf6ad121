"""
Merges reports: the shards of one run become one report, reports of several implementations stay separate in one file.

Contradictions are refused: a merged report must not claim a result that no run had.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from peerproof.conformance.report.record import Report, implementation_name
from peerproof.conformance.runner.result import Result


class Conflict(ValueError):
    """Reports contradict each other."""


class Source(NamedTuple):
    """A report and its name in messages."""

    name: str
    report: Report


#: Arguments that must be equal in all shards of a run, since verdicts depend on them.
DECISIVE: Final = ("impl", "strict", "decisions", "assume", "known-failing")

#: Arguments that may differ between shards: the selection, and where the same vectors are stored.
_OF_SHARDS: Final = ("select", "protocol", "vectors", "shards")


def merge_reports(sources: Sequence[Source]) -> list[Report]:
    """Returns one report for each implementation, in the order of first occurrence. Raises Conflict."""
    first, *others = sources
    for other in others:
        _same(first, other, "vectors", *(source.report.vectors.get("digest") for source in (first, other)))
    groups: dict[str, list[Source]] = {}
    for source in sources:
        groups.setdefault(json.dumps(source.report.implementation, sort_keys=True), []).append(source)
    return [_merge_shards(group) for group in groups.values()]


def _merge_shards(shards: Sequence[Source]) -> Report:
    first, *others = shards
    if not others:
        return first.report
    for other in others:
        _same(first, other, "seed", first.report.seed, other.report.seed)
        for name in DECISIVE:
            _same(first, other, name, *(source.report.arguments.get(name) for source in (first, other)))
    results, twice = _merge_results(shards)
    reports = [source.report for source in shards]
    partial = [f"{source.name}: {source.report.because}" for source in shards if source.report.because]
    return Report(
        implementation=first.report.implementation,
        vectors={**first.report.vectors, "count": len({result.vector for result in results})},
        selected=sum(report.selected for report in reports) - twice,
        seed=first.report.seed,
        arguments=_arguments(reports),
        results=results,
        problems=list(dict.fromkeys(problem for report in reports for problem in report.problems)),
        notes=list(dict.fromkeys(note for report in reports for note in report.notes)),
        because="; ".join(partial) or None,
        date=min((report.date for report in reports if report.date), default=None),
    )


def _same(one: Source, other: Source, what: str, here: Any, there: Any) -> None:
    if here != there:
        raise Conflict(
            f"{one.name} and {other.name} cannot be merged: {what} {_value_text(here)} and {_value_text(there)} "
            f"({implementation_name(one.report)}, {implementation_name(other.report)})"
        )


def _value_text(value: Any) -> str:
    return "none" if value is None else repr(value)


def _merge_results(shards: Iterable[Source]) -> tuple[list[Result], int]:
    """Returns all cases, and the number of those that are in more than one shard."""
    found: dict[str, tuple[str, Result]] = {}
    twice = 0
    for source in shards:
        for result in source.report.results:
            if result.id not in found:
                found[result.id] = source.name, result
                continue
            name, before = found[result.id]
            twice += 1
            if _verdict(before) != _verdict(result):
                outcomes = f"{before.outcome} in {name}, {result.outcome} in {source.name}"
                raise Conflict(f"{result.id} has two outcomes: {outcomes}")
    return [result for _, result in found.values()], twice


def _verdict(result: Result) -> tuple[Any, ...]:
    return result.status, result.failure, result.rev, result.branches, result.difference


def _arguments(reports: Sequence[Report]) -> dict[str, Any]:
    """The arguments that all have, and those in which the shards differ."""
    every = [report.arguments for report in reports]
    shared = {
        name: value
        for name, value in every[0].items()
        if all(other.get(name) == value for other in every[1:]) and name != "shards"
    }
    shards = [
        shard
        for arguments in every
        for shard in arguments.get("shards") or [{name: arguments[name] for name in _OF_SHARDS if name in arguments}]
    ]
    return {**shared, "shards": shards}
