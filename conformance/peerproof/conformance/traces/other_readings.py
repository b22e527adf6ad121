"""
Other readings of the document, tried on steps that differ from the specification.

A decision of this project settles what the document leaves open, and a node may settle it otherwise. So a step that differs is
tried again by each other reading of a decision, and by several together that matter for this step. If one explains the step, the
node differs from a decision only, and its next steps are judged by this reading; while several explain all of its steps, all are
kept. Where a log has no digests of states, a reading may have changed the state earlier, unseen: then the node's steps since its
start are tried as well.

Where the document is silent (`Reading.is_open`), what such a reading changes may be anything: the order of effects, notices, or
the whole step. Then the state of the node is not known afterwards, unless the reading leaves it as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.readings.reading import Reading, combine, readings_of
from peerproof.spec.core import Specification
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import is_decision
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Divergence

#: The most combinations of readings that are tried for one step.
MOST_TOGETHER: Final = 256

#: The most combinations of readings that are kept for one node.
MOST_WAYS: Final = 8

#: The most steps of a node since its start that are tried again by each reading.
HINDSIGHT: Final = 300

#: Places of readings in `readings_of`, ascending.
Taken: TypeAlias = tuple[int, ...]

#: The outcome of a step as plain data, as far as it is known: an object with effects or messages, refused and state.
Outcome: TypeAlias = Mapping[str, Plain]

#: Each explains a step: one other reading, or several together.
Explanations: TypeAlias = tuple[tuple[Reading, ...], ...]


@dataclass(frozen=True, slots=True)
class Difference(Divergence):
    """A divergence that the document allows: from a decision only."""

    explanations: Explanations


class Explanation(NamedTuple):
    """Readings that explain a step."""

    added: Taken  #: those that the step shows
    taken: Taken  #: all by which the next steps are judged
    after: Any = None  #: what is known of the node after the step; None: nothing


class NoReading(ValueError):
    """There is no such reading to declare; the message says why, and `tip` what there is."""

    def __init__(self, message: str, tip: str) -> None:
        super().__init__(message)
        self.tip = tip


def declared_readings(texts: Iterable[str]) -> dict[str, Taken]:
    """
    Returns the readings that the nodes of a log take, as CLAUSE=NAME, by protocol. Raises NoReading.

    >>> list(declared_readings(["SA-29=unknown-only"]))
    ['swim']
    """
    found: dict[str, Taken] = {}
    for text in texts:
        clause, _, name = text.partition("=")
        of_clause = [
            (protocol, number, readings_of(protocol)[number].name)
            for protocol in PROTOCOLS
            for number in candidates(protocol, ())
            if readings_of(protocol)[number].clause == clause
        ]
        number = next((number for _, number, other in of_clause if other == name), None)
        if number is None:
            raise _no_reading(clause, name, [other for _, _, other in of_clause])
        protocol = of_clause[0][0]
        if number not in candidates(protocol, found.get(protocol, ())):
            raise NoReading(f"two readings of {clause} exclude each other", "declare one of them")
        found[protocol] = add_readings(found.get(protocol, ()), number)
    return found


def _no_reading(clause: str, name: str, declarable: Sequence[str]) -> NoReading:
    """Returns the error for a reading that is not one of those of its clause that can be declared."""
    known = {reading.name: reading for protocol in PROTOCOLS for reading in readings_of(protocol) if reading.clause == clause}
    if not known:
        return NoReading(f"{clause} has no other reading", "peerproof explain CLAUSE shows those of a clause")
    named = " and ".join(f"{clause}={other}" for other in declarable)
    undeclared = " and ".join(other for other in known if other not in declarable)
    if name not in known:
        those = f"{named}; {undeclared} cannot be declared" if named else f"{undeclared}, which cannot be declared"
        return NoReading(f"{clause} has no other reading {name!r}", f"there is {those if undeclared else named}")
    tip = f"leave it out; there is {named}" if named else "leave it out"
    if known[name].is_definite:
        return NoReading(f"{clause}={name} cannot be declared: it changes no step of a log", tip)
    why = "the document is silent there, so any behaviour is right"
    return NoReading(f"{clause}={name} cannot be declared, and need not be: {why}", tip)


def claimed_readings(protocol: str, claims: Mapping[str, str]) -> Taken:
    """
    Returns the readings that a hello claims and by which nodes can be judged from their start.

    Where the document is silent, an implementation may do anything, whatever it claims.

    >>> claims = {"SA-12": "as-in-the-samples", "BA-12": "descending"}
    >>> [readings_of("swim")[number].clause for number in claimed_readings("swim", claims)]
    ['SA-12']
    """
    read = readings_of(protocol)
    return tuple(number for number in definite_readings(protocol) if claims.get(read[number].clause) == read[number].name)


def definite_readings(protocol: str) -> Iterator[int]:
    """Yields the readings that lead to one behaviour."""
    return (number for number, reading in enumerate(readings_of(protocol)) if reading.is_definite)


@cache
def variant_by(protocol: str, taken: Taken) -> Any:
    """Returns an implementation with other readings (`peerproof.reference.harness.variant`)."""
    read = readings_of(protocol)
    return combine(protocol, [read[number] for number in taken])


@cache
def specification_by(protocol: str, taken: Taken) -> Specification:
    """
    Returns the specification with other readings; without any, the specification itself.

    >>> specification_by("swim", ()).NAME
    'swim'
    """
    if not taken:
        return PROTOCOLS[protocol].specification.load()
    changed: Specification = variant_by(protocol, taken).overridden_specification()
    return changed


def candidates(protocol: str, taken: Taken, *, is_open: bool = False) -> Iterator[int]:
    """
    Yields the readings of further decisions that can change a step: those with one outcome, or those where any is right.

    Readings with which an implementation may come to an end are left out.
    """
    read = readings_of(protocol)
    decided = {read[number].clause for number in taken}
    for number, reading in enumerate(read):
        changes_steps = reading.is_open is is_open and not reading.ends and (reading.instead or reading.step or reading.initial)
        if changes_steps and is_decision(reading.clause) and reading.clause not in decided:
            yield number


def add_readings(taken: Taken, *numbers: int) -> Taken:
    """
    Returns readings with further ones.

    >>> add_readings((1, 5), 3)
    (1, 3, 5)
    """
    return tuple(sorted((*taken, *numbers)))


def explain(
    protocol: str, taken: Taken, numbers: Collection[int], attempt: Callable[[Taken], Any], most: int | None = None
) -> list[Explanation]:
    """
    Returns the explanations by as few further readings as possible, of these and of up to `most` decisions.

    `attempt` gets all readings and returns what is known of the node after the step; None if they do not explain it.
    """
    read = readings_of(protocol)
    left = MOST_TOGETHER
    for size in range(1, (len(numbers) if most is None else most) + 1):
        together = [some for some in combinations(numbers, size) if len({read[number].clause for number in some}) == size][:left]
        left -= len(together)
        every = ((some, add_readings(taken, *some)) for some in together)
        found = [Explanation(some, both, after) for some, both in every if (after := attempt(both)) is not None]
        if found or not together:
            return found
    return []


def read_explanations(protocol: str, found: Iterable[Explanation]) -> Explanations:
    """Returns the readings of each explanation, without repetitions."""
    read = readings_of(protocol)
    return tuple(tuple(read[number] for number in added) for added in dict.fromkeys(one.added for one in found))


def explanation_clauses(explanations: Explanations) -> tuple[str, ...]:
    """Returns the decisions that a node takes otherwise, by any of these explanations."""
    return tuple(dict.fromkeys(reading.clause for readings in explanations for reading in readings))


def explanation_text(explanations: Explanations) -> str:
    """Returns the other readings in words."""
    ways = (" and ".join(f"{one.clause} as {one.name}: {one.text}" for one in readings) for readings in explanations)
    return f"no violation: another reading explains it: {' Or '.join(ways)}"


def is_silent(ordinary: Sequence[Outcome], opened: Sequence[Outcome], seen: Outcome) -> bool:
    """
    Returns True if the document is silent about what differs, as an open reading shows by what it changes.

    Takes the outcomes of the specification, those of the open reading, and the observed one, each an object with the members
    effects or messages, refused and state, if they are known. What an open reading changes is the order of effects, or effects of
    some kinds, as messages of one type; it says nothing about others. A digest by itself is of the specification's state.

    >>> a, b = ({"effects": [{"notify": {"type": name}} for name in names]} for names in ("xy", "yx"))
    >>> c, d = ({"effects": [{"notify": {"type": name}} for name in names]} for names in ("x", "xz"))
    >>> is_silent([a], [b], b), is_silent([a], [b], c), is_silent([a], [c], d), is_silent([a], [a], b)
    (True, False, False, False)
    """
    if not ordinary or not opened:
        return bool(opened)
    changed = {kind for outcome in opened for kind in _least_difference(ordinary, outcome)}
    differing = _least_difference(ordinary, seen)
    return differing <= changed and differing != {"state"}


def _least_difference(outcomes: Iterable[Outcome], other: Outcome) -> set[str]:
    """Returns the kinds of what another outcome has otherwise than the most similar one of some outcomes."""
    return min((_differing_kinds(outcome, other) for outcome in outcomes), key=lambda kinds: (len(kinds), sorted(kinds)))


def _differing_kinds(one: Outcome, other: Outcome) -> set[str]:
    """Returns the kinds of the effects that only one of two outcomes has, or has with its parts in another order."""
    effects, others = ([json.dumps(effect, sort_keys=True) for effect in _effects(outcome)] for outcome in (one, other))
    here, there = (Counter(texts) - Counter(those) for texts, those in ((effects, others), (others, effects)))
    kinds = set() if here or there or effects == others else {"order"}
    is_order = _unordered([*map(json.loads, here.elements())]) == _unordered([*map(json.loads, there.elements())])
    kinds |= {("order of " if is_order else "") + _kind(json.loads(effect)) for effect in (here + there)}
    kinds |= {"refused"} if (one.get("refused") is None) != (other.get("refused") is None) else set()
    return kinds | ({"state"} if one.get("state") != other.get("state") else set())


def _unordered(value: Any) -> str:
    """A value as text, the same for lists with the same items."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{_unordered(member)}' for name, member in sorted(value.items()))}}}"
    return f"[{','.join(sorted(map(_unordered, value)))}]" if isinstance(value, list) else json.dumps(value)


def _effects(outcome: Outcome) -> Sequence[Any]:
    found: Sequence[Any] = outcome.get("effects") or outcome.get("messages") or []
    return found


def _kind(effect: Mapping[str, Any]) -> str:
    """The kind of an effect: its name, and the type of what it is about."""
    ((name, about),) = effect.items()
    return " ".join([name, str(about.get("type") or next((it["type"] for it in about.values() if isinstance(it, dict)), ""))])
