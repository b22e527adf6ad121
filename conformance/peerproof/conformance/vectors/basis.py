"""
The basis of expectations: the document's words, or a decision of this project between several readings.

`PROTOCOL/basis.json` below the root of the vectors lists each expectation that rests on a decision, with the outcomes under
the decision's other readings. It is measured (`peerproof.conformance.authoring.reading_experiment`), never written by hand;
`peerproof vectors lint` measures it again and compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.clauses.catalogue import in_order
from peerproof.spec.properties import is_decision

FILE: Final = "basis.json"  #: in the folder of a protocol's vectors
FORMAT: Final = 3

#: An outcome (`fingerprint`, ANYTHING, ANY_EVENTS, THE_END, ANOTHER_FORM or SAME_MEANING) -> the reading of a decision that leads
#: to it, or several readings of the decision, with OR between.
Others: TypeAlias = Mapping[str, str]

#: A place in a vector -> each decision on which the expectation there rests, or several, separated by blanks, that change the
#: outcome only together -> the outcomes under their other readings.
Places: TypeAlias = Mapping[str, Mapping[str, Others]]

ANYTHING: Final = "*"  #: the document does not say, so any outcome is allowed
ANY_EVENTS: Final = "*events"  #: the same, but only for the application's events
THE_END: Final = "!"  #: the document does not say, so that an implementation may even exit
ANOTHER_FORM: Final = "="  #: the same message in other bytes; it says nothing about other outcomes
SAME_MEANING: Final = "~"  #: the same message with parts that mean nothing; it says nothing about other outcomes either
OR: Final = "|"  #: between readings of one decision that lead to the same outcome


def fingerprint(failure: str, where: str, actual: Any) -> str:
    """
    A short hash of an actual outcome.

    Why a legal message was rejected does not count, nor do the words in which a call was refused: no document says them.

    >>> one, other = ({"rejected": {"class": name, "message": "no"}} for name in ("bad_value", "bad_text"))
    >>> fingerprint("rejected", "decode", one) == fingerprint("rejected", "decode", other)
    True
    """
    plain = json.dumps([failure, where, _without_reasons(actual)], sort_keys=True)
    return blake2b(plain.encode(), digest_size=6).hexdigest()


def _without_reasons(actual: Any) -> Any:
    match actual:
        case {"rejected": {}}:
            return {**actual, "rejected": True}
        case {"refused": {"message": _, **reason}}:
            return {**actual, "refused": reason}
    return actual


def open_keys(failure: str) -> tuple[str, ...]:
    """The keys that match any failure of this class, where the document is silent."""
    return (ANYTHING, ANY_EVENTS) if failure == "events" else (ANYTHING,)


@dataclass(frozen=True)
class Basis:
    """The measured basis of the vectors of a protocol."""

    readings: tuple[str, ...] = ()  #: the readings that were tried, each a clause and a name
    decisions: Mapping[str, Places] = field(default_factory=dict)  #: by vector
    weak: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: vector -> clauses below must that it needs
    files: Mapping[str, str] = field(default_factory=dict)  #: file of measured vectors -> digest of their expectations

    @cached_property
    def tried(self) -> frozenset[str]:
        """The decisions, and weak clauses, that have another reading."""
        return frozenset(reading.partition(" ")[0] for reading in self.readings)

    def needed(self, vector: str) -> set[str]:
        """The decisions, and clauses below must, without which the vector would expect something with another meaning."""
        every = (one for places in self.decisions.get(vector, {}).values() for one in places.items())
        found = (key for key, others in every if others.keys() != {SAME_MEANING})
        return {decision for key in found for decision in key.split()} | {*self.weak.get(vector, ())}

    def _touched(self, vector: str) -> set[str]:
        """The single decisions that have another reading for something in the vector."""
        return {key for places in self.decisions.get(vector, {}).values() for key in places}

    def cite(self, vector: str, clauses: tuple[str, ...]) -> tuple[str, ...]:
        """The clauses that a vector should cite: those it needs, without unneeded decisions if any other clause is left."""
        needed, touched = self.needed(vector), self._touched(vector)
        cited = {one for one in clauses if one not in self.tried or not is_decision(one) or one in touched} | needed
        return clauses if not cited or cited == {*clauses} else tuple(sorted(cited, key=in_order))


def parse_basis(content: bytes) -> Basis:
    """Parses the content of a basis file. Raises ValueError, KeyError, TypeError, AttributeError if it is invalid."""
    plain = json.loads(content)
    if plain["format"] != FORMAT:
        raise ValueError(f"format {plain['format']!r} is not {FORMAT}")
    return Basis(
        tuple(plain["readings"]),
        {vector: {place: dict(found) for place, found in places.items()} for vector, places in plain["decisions"].items()},
        {vector: tuple(clauses) for vector, clauses in plain["weak"].items()},
        dict(plain["files"]),
    )


def basis_text(basis: Basis) -> str:
    """The content of a basis file: one line a vector, so that versions can be compared."""
    lines = [f'{{"format": {FORMAT},', f'"readings": {json.dumps(basis.readings)},']
    members: dict[str, Mapping[str, Any]] = {"files": basis.files, "decisions": basis.decisions, "weak": basis.weak}
    for name, member in members.items():
        rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(member[key])}" for key in sorted(member))
        lines.append(f'"{name}": {{\n{rows}\n}}' + ("}" if name == "weak" else ","))
    return "\n".join(lines) + "\n"


class Resting(NamedTuple):
    """The decisions on which an unmet expectation rests, and what is known of the readings that give the outcome."""

    decisions: tuple[str, ...] = ()
    #: Each gives the outcome by itself: readings of several decisions are taken together. More than one: it is unknown which.
    explanations: tuple[Mapping[str, str], ...] = ()
    leave_open: tuple[Mapping[str, str], ...] = ()  #: if none gives it: the readings under which anything is right there

    def text(self) -> str | None:
        """
        The readings that give the same outcome, or that leave it open; None if none is known.

        >>> Resting((), ({"SA-23": "down|decimal"}, {"SA-12": "one", "SA-15": "any"})).text()
        "as if it read SA-23 as 'down' or 'decimal'; or SA-12 as 'one' and SA-15 as 'any'"
        >>> Resting(("SA-17",), (), ({"SA-17": "unspecified"},)).text()
        "anything is right there if one reads SA-17 as 'unspecified'"
        """
        if self.explanations:
            return f"as if it read {_readings_text(self.explanations)}"
        return f"anything is right there if one reads {_readings_text(self.leave_open)}" if self.leave_open else None


def _readings_text(ways: Iterable[Mapping[str, str]]) -> str:
    def text(name: str) -> str:
        return " or ".join(map(repr, name.split(OR)))

    return "; or ".join(" and ".join(f"{one} as {text(name)}" for one, name in together.items()) for together in ways)


def decisions_at(
    clauses: Sequence[str], places: Places, at: Sequence[str], came: str | None = None, *, failure: str = "", alone: bool = True
) -> Resting:
    """
    The decisions on which an expectation rests that was not met; empty if the document's words require it.

    `clauses` are those of the vector, `places` the basis of its expectations; the first entry of `at` that has a basis
    counts. `failure` is the class of the failure, `came` the fingerprint of the outcome, None if the implementation ended. If
    a reading of a decision, or of several decisions together, gives this outcome, these decisions are returned with these
    explanations. Otherwise, if all their readings are known, the result is empty, unless the outcome depends on random
    choices (not `alone`). A vector that cites only decisions rests on them.

    >>> places = {"steps[2]": {"BA-12": {"a1": "descending"}}}
    >>> decisions_at(["B-28", "BA-12"], places, ["steps[1]", "steps[2]"], "a1").explanations
    ({'BA-12': 'descending'},)
    >>> decisions_at(["B-28", "BA-12"], places, ["steps[2]"], "b2").decisions
    ()
    >>> decisions_at(["B-28"], {"steps[2]": {"BA-12 BA-32": {"c3": "descending empty-responses"}}}, ["steps[2]"], "c3").decisions
    ('BA-12', 'BA-32')
    >>> decisions_at(["B-28"], {"steps[2]": {"BA-12": {"*": "any-order"}}}, ["steps[2]"], "d4").text()
    "anything is right there if one reads BA-12 as 'any-order'"
    >>> decisions_at(["BA-20"], {}, ["survives"]).decisions
    ('BA-20',)
    """
    only = Resting(() if any(not is_decision(clause) for clause in clauses) else tuple(clauses))
    found = next((places[place] for place in at if place in places), {})
    outcome = THE_END if came is None else came
    if named := _readings_with(found, outcome):
        return Resting(_distinct(named), named)
    if came is None:
        return only
    found = {key: others for key, others in found.items() if not others.keys() <= {ANOTHER_FORM, SAME_MEANING}}
    leave_open = _readings_with(found, THE_END, *open_keys(failure))
    if not found or (alone and not leave_open):
        return only
    return Resting(_distinct(map(str.split, found)), (), leave_open)


def _readings_with(found: Mapping[str, Others], *outcomes: str) -> tuple[Mapping[str, str], ...]:
    """The readings with one of these outcomes; of several decisions if they have it together."""
    named = ((key, next((others[one] for one in outcomes if one in others), "")) for key, others in found.items())
    return tuple(dict(zip(key.split(), names.split(), strict=True)) for key, names in named if names)


def _distinct(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The decisions in all groups, each once."""
    return tuple(dict.fromkeys(decision for group in groups for decision in group))
