"""
The experiment that shows what rests on a decision: every case of a protocol, tried on a variant that takes another reading.

A case goes on after the first step that is not as the vector says, so that every step is found that rests on the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.adapter.adapter import introduction
from peerproof.conformance.adapter.messages import Hello, hello_of
from peerproof.conformance.clauses.catalogue import load
from peerproof.conformance.readings.reading import Reading, readings_of
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.exchange import AFTER
from peerproof.conformance.runner.runner import missing
from peerproof.conformance.runner.trial import Case, Failure, Trial
from peerproof.conformance.runner.worker import RunningTrial
from peerproof.conformance.vectors.basis import ANYTHING, THE_END, Basis, is_decision
from peerproof.conformance.vectors.suite import Suite

SEED: Final = "0"

#: How far the experiment is: reading, how many are done, how many there are.
Progress = Callable[[Reading, int, int], None]


def try_reading(protocol: str, reading: Reading, chosen: Iterable[Case]) -> dict[str, dict[str, str]]:
    """
    Tries cases on an implementation that takes another reading: case -> place -> what comes there instead, as `Others` has it.

    A place is a step, `steps[2]`, or the part of a codec vector, `decode`. Cases in which all is as expected are left out. What
    the variant raises is raised, unless the reading lets it end.

    >>> from peerproof.conformance.runner.cases import select_cases
    >>> from peerproof.conformance.vectors.suite import load
    >>> descending = next(one for one in readings_of("scuttlebutt") if one.name == "descending")
    >>> cases = select_cases(load(), "ties-go-by-address-bytes", "scuttlebutt")
    >>> [list(places) for places in try_reading("scuttlebutt", descending, cases).values()]
    [['steps[1]']]
    """
    variant = reading.variant(protocol)
    hello = hello_of({**variant.handle(introduction(""), _no_choice)})
    found = {}
    for case in chosen:
        if missing(case, hello) is None and (places := _try_case(variant, hello, case, reading)):
            found[case.id] = places
    return found


def _no_choice(_: Mapping[str, Any]) -> list[int]:
    raise AssertionError("a hello chooses nothing")


def _try_case(variant: Any, hello: Hello, case: Case, reading: Reading) -> dict[str, str]:
    trial = Trial(case, SEED, hello, missed={})
    running = RunningTrial(trial)
    try:
        while running.outcome is None:
            replies = [
                variant.handle({"id": number, **request}, trial.choices.answer) for number, request in enumerate(running.requests)
            ]
            running.feed(replies)
    except Exception:
        if not reading.ends:
            raise
        for handle in trial.handles:
            variant.handle({"id": 0, "op": "close", "handle": handle}, trial.choices.answer)
        return dict.fromkeys(_from(trial), THE_END)
    missed = dict(trial.missed or {})
    if isinstance(running.outcome, Failure):
        missed[trial.judged_at] = running.outcome
    key = THE_END if reading.ends else ANYTHING if reading.is_open else None
    return {place: key or miss.fingerprint for place, miss in missed.items()}


def _from(trial: Trial) -> Sequence[str]:
    """The place that a trial is at and those after it: nobody knows what would have come there."""
    steps = [f"steps[{index}]" for index in range(len(trial.body.get("steps", ())))] + [AFTER]
    return steps[steps.index(trial.place) :] if trial.place in steps else [trial.judged_at]


def find_basis(suite: Suite, protocol: str, on_progress: Progress = lambda *_: None) -> Basis:
    """
    Finds out, for every expectation of a protocol's vectors, on which decisions it rests, and which vectors need a weak clause.

    Takes as long as running the protocol's cases once for each reading. Raises VectorError if its prose cannot be read.

    >>> from dataclasses import replace
    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> few = replace(suite, vectors=[vector for vector in suite.vectors if vector.id.endswith("/ties-go-by-address-bytes")])
    >>> list(find_basis(few, "scuttlebutt").decisions["scuttlebutt/exchange/ties-go-by-address-bytes"]["steps[1]"])
    ['BA-02', 'BA-12']
    """
    every = {case.id: case for case in cases(suite, (vector for vector in suite.vectors if vector.protocol == protocol))}
    readings, levels = readings_of(protocol), load(protocol).items
    decisions: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    weak: dict[str, set[str]] = {}
    for number, reading in enumerate(readings):
        on_progress(reading, number, len(readings))
        for name, places in try_reading(protocol, reading, every.values()).items():
            vector = every[name].vector.id
            if is_decision(reading.clause):
                for place, came in places.items():
                    at = decisions.setdefault(vector, {}).setdefault(place, {})
                    at.setdefault(reading.clause, {}).setdefault(came, reading.name)
            if levels[reading.clause].level == "should":
                weak.setdefault(vector, set()).add(reading.clause)
    on_progress(readings[-1], len(readings), len(readings)) if readings else None
    return Basis(
        tried=tuple(sorted({reading.clause for reading in readings})),
        decisions=decisions,
        weak={vector: tuple(sorted(clauses)) for vector, clauses in weak.items()},
    )
