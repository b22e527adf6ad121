"""
The experiment that finds what depends on a decision: every case of a protocol runs on a variant with another reading.

A case goes on after the first step that differs from the vector, so that every step that depends on the decision is found. A
reading runs only on the cases in which the reference calls a function that it replaces: in all others it behaves the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import product
from math import prod
from pkgutil import resolve_name
from types import FunctionType
from typing import Any, Final, TypeAlias

from peerproof.conformance.adapter.adapter import introduction
from peerproof.conformance.adapter.messages import Hello, hello_of
from peerproof.conformance.clauses.catalogue import load
from peerproof.conformance.readings.reading import CHANGES, Reading, combine, readings_of
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.exchange import AFTER
from peerproof.conformance.runner.runner import missing
from peerproof.conformance.runner.trial import Case, Failure, Trial
from peerproof.conformance.runner.worker import RunningTrial
from peerproof.conformance.vectors.basis import ANYTHING, OR, SAME_MEANING, THE_END, Basis, open_keys
from peerproof.conformance.vectors.suite import Suite
from peerproof.spec.properties import is_decision
from peerproof.spec.protocols import PROTOCOLS

SEED: Final = "0"
MOST_TOGETHER: Final = 256  #: maximum number of combinations of readings run for a case; above it, any outcome is accepted
MOST_OF: Final = {"swim": 1024, "wendy": 2048, "peter": 2048}  #: the same, where few cases have more than that

_Found: TypeAlias = dict[str, dict[str, dict[str, dict[str, str]]]]  #: `Basis.decisions` under construction

#: Called with the reading, the number of readings done, and their total.
Progress = Callable[[Reading, int, int], None]


def try_reading(protocol: str, reading: Reading, chosen: Iterable[Case]) -> dict[str, dict[str, str]]:
    """
    Runs cases on a variant with another reading. Returns case -> place -> the different outcome, in the form of `Others`.

    A place is a step, `steps[2]`, or the part of a codec vector, `decode`. Cases that pass are left out. Exceptions of the
    variant pass through, unless the reading allows it to end.

    >>> from peerproof.conformance.runner.cases import select_cases
    >>> from peerproof.conformance.vectors.suite import load
    >>> descending = next(one for one in readings_of("scuttlebutt") if one.name == "descending")
    >>> cases = select_cases(load(), "ties-go-by-address-bytes", "scuttlebutt")
    >>> [list(places) for places in try_reading("scuttlebutt", descending, cases).values()]
    [['steps[1]']]
    """
    found = _try_variant(reading.variant(protocol), chosen, ends=reading.ends)
    return {case: {place: _key(reading, miss) for place, miss in places.items()} for case, places in found.items()}


def _key(reading: Reading, miss: Failure | None) -> str:
    """Returns the key in a basis for a variant's outcome; None means that it came to an end."""
    if reading.ends or miss is None:
        return THE_END
    return open_keys(miss.failure)[-1] if reading.is_open else miss.fingerprint


def _try_variant(variant: Any, chosen: Iterable[Case], *, ends: bool = False) -> dict[str, dict[str, Failure | None]]:
    hello, found = _greet(variant), {}
    for case in chosen:
        if missing(case, hello) is None and (places := _try_case(variant, hello, case, ends=ends)):
            found[case.id] = places
    return found


def _greet(variant: Any) -> Hello:
    return hello_of({**variant.handle(introduction(""), _no_choice)})


def _find_calls(protocol: str, readings: Iterable[Reading], every: Mapping[str, Case]) -> dict[str, set[str]]:
    """
    Finds the cases in which the reference calls what readings replace or change: place, or name of a change -> ids of cases.

    A place without a function is left out, because its use cannot be observed.
    """
    called: dict[Callable[..., Any], set[str]] = {}
    functions: dict[str, Callable[..., Any]] = {}
    package = PROTOCOLS[protocol].specification.target
    now = ""

    def recording(function: Callable[..., Any]) -> Callable[..., Any]:
        seen = called.setdefault(function, set())

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            seen.add(now)
            return function(*arguments, **options)

        return call

    for place in {place for reading in readings for place in reading.instead}:
        owner, _, name = (place if place.startswith("peerproof.") else f"{package}.{place}").rpartition(".")
        original = vars(resolve_name(owner)).get(name)
        original = getattr(original, "__wrapped__", None) if hasattr(original, "cache_clear") else original
        if isinstance(original, FunctionType):
            functions[place] = original
    changed: dict[str, set[str]] = {name: set() for name in CHANGES}

    def change(name: str) -> Any:
        def call(right: Callable[..., Any], *arguments: Any) -> Any:
            changed[name].add(now)
            return right(*arguments)

        return call

    instead = {place: recording(function) for place, function in functions.items()}
    changes = {name: change(name) for name in CHANGES}
    variant = Reading(clause="", name="recording", text="", instead=instead, **changes).variant(protocol)
    hello = _greet(variant)
    for now, case in every.items():  # noqa: B007  # read by `call`
        if missing(case, hello) is None:
            _try_case(variant, hello, case, ends=False)
    return {**{place: called[function] for place, function in functions.items()}, **changed}


def _choose_cases(reading: Reading, calls: Mapping[str, set[str]], every: Mapping[str, Case]) -> list[Case]:
    """Returns the cases in which a reading may differ from the reference."""
    places = [*reading.instead, *(name for name in CHANGES if getattr(reading, name))]
    if reading.queries or not all(place in calls for place in places):
        return list(every.values())
    reached = set().union(*(calls[place] for place in places))
    return [case for name, case in every.items() if name in reached]


def _no_choice(_: Mapping[str, Any]) -> list[int]:
    raise AssertionError("hello has no choices")


def _try_case(variant: Any, hello: Hello, case: Case, *, ends: bool) -> dict[str, Failure | None]:
    trial = Trial(case, SEED, hello, missed={})
    running = RunningTrial(trial)
    try:
        while running.outcome is None:
            replies = [
                variant.handle({"id": number, **request}, trial.choices.answer) for number, request in enumerate(running.requests)
            ]
            running.feed(replies)
    except Exception:
        if not ends:
            raise
        for handle in trial.handles:
            variant.handle({"id": 0, "op": "close", "handle": handle}, trial.choices.answer)
        return dict.fromkeys(_from(trial))
    missed = dict(trial.missed or {})
    if isinstance(running.outcome, Failure):
        missed[trial.checked_at] = running.outcome
    return {**missed}


def _from(trial: Trial) -> Sequence[str]:
    """Returns the place where a trial is and those after it, whose outcomes are unknown."""
    steps = [f"steps[{index}]" for index in range(len(trial.body.get("steps", ())))] + [AFTER]
    return steps[steps.index(trial.place) :] if trial.place in steps else [trial.checked_at]


def _try_together(
    protocol: str, readings: Sequence[Reading], closed: dict[str, list[int]], every: Mapping[str, Case], decisions: _Found
) -> None:
    """
    Adds to `decisions` the outcomes of several readings at once that no subset of them causes.

    `closed` has the numbers of the readings that change each case to a known outcome.
    """
    most = MOST_OF.get(protocol, MOST_TOGETHER)
    for name, numbers in closed.items():
        if _count_ways(readings, numbers) > most:
            first = {readings[number].clause: readings[number].name for number in reversed(numbers)}
            for at in decisions[every[name].vector.id].values():
                if sum(others.keys() != {SAME_MEANING} for others in at.values()) > 1:
                    at[" ".join(first)] = {ANYTHING: " ".join(first.values())}
            closed[name] = []
    for together, chosen in _combine_readings(readings, closed):
        taken = {one.clause: one.name for one in together}
        for name, places in _try_variant(combine(protocol, together), [every[name] for name in chosen]).items():
            for place, miss in places.items():
                at, came = decisions[every[name].vector.id].setdefault(place, {}), _key(together[0], miss)
                if not any(came in others for key, others in at.items() if taken.keys() >= {*key.split()}):
                    at.setdefault(" ".join(taken), {})[came] = " ".join(taken.values())


def _combine_readings(readings: Sequence[Reading], closed: Mapping[str, Sequence[int]]) -> list[tuple[list[Reading], list[str]]]:
    """
    Returns combinations of readings of different decisions that may differ from each alone, small ones first, with the cases to
    run.

    `closed` has the numbers of the readings that change each case.
    """
    found: dict[tuple[int, ...], list[str]] = {}
    for name, numbers in closed.items():
        by_clause: dict[str, list[int | None]] = {}
        for number in numbers:
            by_clause.setdefault(readings[number].clause, [None]).append(number)
        for chosen in product(*by_clause.values()):
            if len(together := tuple(number for number in chosen if number is not None)) > 1:
                found.setdefault(together, []).append(name)
    return [
        ([readings[number] for number in together], found[together])
        for together in sorted(found, key=lambda one: (len(one), one))
    ]


def _count_ways(readings: Sequence[Reading], numbers: Iterable[int]) -> int:
    """Returns the number of combinations of these readings, with at most one for each decision."""
    return prod(count + 1 for count in Counter(readings[number].clause for number in numbers).values())


def names_of(readings: Iterable[Reading]) -> tuple[str, ...]:
    """Returns the readings, each a clause and a name, in the order of these texts."""
    return tuple(sorted(f"{reading.clause} {reading.name}" for reading in readings))


def find_basis(suite: Suite, protocol: str, on_progress: Progress = lambda *_: None) -> Basis:
    """
    Finds on which decisions each expectation of a protocol's vectors depends, and which vectors depend on a weak clause.

    Takes as long as running the protocol's cases once for each reading, and some of them for combinations. Raises VectorError if
    the prose cannot be read.

    >>> from dataclasses import replace
    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> few = replace(suite, vectors=[vector for vector in suite.vectors if vector.id.endswith("/ties-go-by-address-bytes")])
    >>> list(find_basis(few, "scuttlebutt").decisions["scuttlebutt/exchange/ties-go-by-address-bytes"]["steps[1]"])
    ['BA-02', 'BA-12', 'BA-32']
    """
    every = {case.id: case for case in cases(suite, (vector for vector in suite.vectors if vector.protocol == protocol))}
    readings, levels = readings_of(protocol), load(protocol).items
    decisions: _Found = {}
    weak: dict[str, set[str]] = {}
    closed: dict[str, list[int]] = {}
    if readings:
        on_progress(readings[0], 0, len(readings))
    calls = _find_calls(protocol, readings, every) if readings else {}
    for number, reading in enumerate(readings):
        on_progress(reading, number, len(readings))
        for name, places in try_reading(protocol, reading, _choose_cases(reading, calls, every)).items():
            vector = every[name].vector.id
            if is_decision(reading.clause) and reading.is_definite and not reading.says_the_same:
                closed.setdefault(name, []).append(number)
            if is_decision(reading.clause):
                for place, came in places.items():
                    at = decisions.setdefault(vector, {}).setdefault(place, {})
                    names = at.setdefault(reading.clause, {}).get(came, "").split(OR)
                    at[reading.clause][came] = OR.join(dict.fromkeys(filter(None, [*names, reading.name])))
            if levels[reading.clause].level == "should":
                weak.setdefault(vector, set()).add(reading.clause)
    _try_together(protocol, readings, closed, every, decisions)
    on_progress(readings[-1], len(readings), len(readings)) if readings else None
    return Basis(
        readings=names_of(readings),
        decisions=decisions,
        weak={vector: tuple(sorted(clauses)) for vector, clauses in weak.items()},
    )
