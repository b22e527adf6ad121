"""
What a finding rests on: the document's words, or only decisions and recommendations, as in `peerproof run`.

The inputs of the node are tried again by each other reading of a decision. If one explains all that the node showed, or the
document is silent about the last step, the finding *differs*, and is *tolerated* if the decision only recommends. The search goes
on past it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

from peerproof.conformance.clauses.catalogue import LEVELS, load
from peerproof.conformance.fuzz.findings import FAILURES, Fed, Finding, basis_text
from peerproof.conformance.fuzz.players import Place
from peerproof.conformance.fuzz.reaction import Answer, Birth, Node, Reaction, Started, react, reactions
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.runner.result import ADAPTERS_OWN
from peerproof.conformance.traces.other_readings import (
    Explanation,
    Explanations,
    Outcome,
    Taken,
    add_readings,
    definite_readings,
    explain,
    is_silent,
    read_explanations,
    specification_by,
)
from peerproof.spec.core import Send, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled

#: The kinds of findings in which effects differ.
EFFECTS: Final = ("messages", "events", "refused", "unreadable")

#: The most outcomes of a step that are compared with those of an open reading.
MOST_COMPARED: Final = 20


class Follower(Protocol):
    """Judges what a node showed at an input."""

    taken: Taken  #: the readings that the implementation declares

    def follow(self, birth: Birth, nodes: Sequence[Node], fed: Fed, shown: Any) -> Sequence[Node]:
        """Returns the nodes after an input that explain what was shown then. Raises Found, GivenUp if there are none."""

    def plain_shown(self, shown: Any) -> Outcome:
        """Returns what was shown as plain data."""

    def plain_reaction(self, reaction: Reaction) -> Outcome:
        """Returns a reaction in the same form."""


@dataclass
class Excuses:
    """What does not fail an implementation, and what of it came up; `decisions` and `strict` are those of `peerproof run`."""

    decisions: str = "report"
    strict: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)  #: name of a finding -> what it rests on, in a sentence
    declarable: dict[str, str] = field(default_factory=dict)  #: decision -> the only reading that explains a finding

    def has(self, name: str, protocol: str, clauses: Sequence[str], explanations: Explanations = ()) -> bool:
        """Returns True if a finding that rests on these clauses is excused, and counts it."""
        word = self._verdict(protocol, clauses)
        if word:
            self.seen[name] += 1
            self.said.setdefault(name, f"{word}: {basis_text(clauses, explanations)}")
            only = explanations[0] if len(explanations) == 1 else ()
            self.declarable |= {one.clause: one.name for one in only if one.is_definite}
        return bool(word)

    def _verdict(self, protocol: str, clauses: Sequence[str]) -> str:
        if not clauses:
            return ""
        items = load(protocol).items
        level = min((items[clause].level or "must" for clause in clauses), key=LEVELS.index)
        if level == "may" or (level == "should" and not self.strict):
            return "tolerated"
        return {"report": "differs", "ignore": "tolerated"}.get(self.decisions, "") if level == "must" else ""


def explain_finding(place: Place, finding: Finding, answers: Sequence[Answer], follower: Follower) -> Explanations:
    """Returns the readings of decisions that explain what a node did, of which the last step is the finding."""
    if finding.kind in (*ADAPTERS_OWN, "clock"):
        return ()
    protocol, taken = place.birth.spec.NAME, follower.taken
    read = readings_of(protocol)
    declared = {read[number].clause for number in taken}
    left = [number for number, one in enumerate(read) if one.clause not in declared]
    shows = finding.kind not in (*FAILURES, "unreadable")
    closed = [number for number in definite_readings(protocol) if number in left and shows]
    follow = partial(_follow_all, place, follower, protocol)
    found = explain(protocol, taken, closed, follow, most=1)
    if found:
        return read_explanations(protocol, found)
    by = {number: specification_by(protocol, add_readings(taken, number)) for number in left}
    changing = [number for number in left if _changes_step(place, by[number], answers)]
    are_open = [number for number in left if read[number].is_open and finding.kind in EFFECTS]
    silent = [number for number in are_open if _leaves_open(place, by[number], answers, follower)]
    found = [
        Explanation((number,), (number,)) for number in left if number in silent or (read[number].ends and number in changing)
    ]
    return read_explanations(
        protocol, found or explain(protocol, taken, [number for number in closed if number in changing], follow)
    )


def _follow_all(place: Place, follower: Follower, protocol: str, taken: Taken) -> bool | None:
    """Returns True if the readings explain all steps of a node, otherwise None."""
    birth = replace(place.birth, spec=specification_by(protocol, taken))
    nodes: Sequence[Node] = ()
    for index, fed in enumerate(place.fed):
        try:
            nodes = () if fed.stimulus is None else follower.follow(birth, nodes, fed, place.shown[index])
        except Exception:  # noqa: BLE001  # a reading need not be able to do what only the specification leads to
            return None
        if fed.stimulus is not None and not nodes:
            return None
    return True


def _changes_step(place: Place, spec: Specification, answers: Sequence[Answer]) -> bool:
    """Returns True if the last step has other outcomes by a reading; then it may matter together with others."""
    right = _outcomes(place.birth, place, answers)
    try:
        other = _outcomes(replace(place.birth, spec=spec), place, answers)
    except Exception:  # noqa: BLE001  # with this reading an implementation may come to an end
        return True
    return {(one.node, one.effects, one.refused) for one in right} != {(one.node, one.effects, one.refused) for one in other}


def _leaves_open(place: Place, spec: Specification, answers: Sequence[Answer], follower: Follower) -> bool:
    """
    Returns True if the document is silent about what differs in the last step, as an open reading shows by what it changes.

    If the reading gives a message of the step another form, what was sent may be this message.
    """
    right = _outcomes(place.birth, place, answers)
    try:
        other = _outcomes(replace(place.birth, spec=spec), place, answers)
    except Exception:  # noqa: BLE001  # a reading need not be able to do what only the specification leads to
        return False
    sent = (part.message for one in right for part in one.effects if isinstance(part, Send))
    if any(_has_other_form(place.birth.spec, spec, message) for message in sent):
        return True
    shown = place.shown.get(len(place.fed) - 1)
    if shown is None:
        return False
    return is_silent([*map(follower.plain_reaction, right)], [*map(follower.plain_reaction, other)], follower.plain_shown(shown))


def _has_other_form(spec: Specification, other: Specification, message: Any) -> bool:
    """Returns True if a reading writes a message in another form, or not at all."""
    try:
        return bool(other.MESSAGE.encode(message) != spec.MESSAGE.encode(message))
    except (MalformedMessage, NotEnabled):
        return True


def _outcomes(birth: Birth, place: Place, answers: Sequence[Answer]) -> list[Reaction]:
    """Returns possible outcomes of the last input of a node."""
    fed = place.fed[-1]
    stimulus = fed.stimulus
    if stimulus is None:
        return []
    nodes: Sequence[Node | None] = (None,) if isinstance(stimulus, Started) else place.possible
    every = (one for node in nodes for one in reactions(partial(react, birth, node, stimulus, fed.now), answers))
    return list(islice(every, MOST_COMPARED))
