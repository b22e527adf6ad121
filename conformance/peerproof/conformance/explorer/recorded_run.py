"""
A run that has happened, as moments: what a time line shows.

The moments of a vector are its steps, those of a trace its lines, those of a capture its messages, those of a finding its events.
The state of a node is computed when it is asked for, so that a long trace opens at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import load
from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.diagrams.message_graph import Arrow, Note
from peerproof.conformance.explorer.fields import Fields, changed_fields, is_named
from peerproof.spec.forms.form import Plain

#: Nodes whose states are shown without being asked for.
FEW: Final = 6

#: Follows the name of a node on the card of what the specification would know in its place.
BESIDE: Final = " (specification)"

#: Characters of any text that is shown.
LONGEST: Final = 20_000

#: Characters of the name of a node.
LONGEST_NAME: Final = 200

#: Characters of a text, and parts of a moment, in the outline of a run.
BRIEF: Final = 100
MOST_PARTS: Final = 6

#: The most moments, and the most fields, of a run that is written whole.
MOST_MOMENTS: Final = 5_000
MOST_FIELDS: Final = 200_000


#: What a moment is in the life of a node: it starts, it starts again after a crash, or it is not heard of any more.
START: Final = "start"
RESTART: Final = "restart"
DOWN: Final = "down"


class TooLarge(Exception):
    """The run is too large to be written whole; the message says by how much."""


@dataclass(frozen=True)
class Problem:
    """A difference from what the specification does or the vector demands."""

    what: str  #: in words
    where: str = ""
    expected: str = ""
    actual: str = ""
    clauses: tuple[str, ...] = ()
    verdict: str = ""  #: failed, differs, …: empty where nothing is judged

    def plain(self, most: int = LONGEST) -> dict[str, Plain]:
        """Returns plain data, all texts visible and cut to `most` characters."""
        texts = {name: _cut(getattr(self, name), most) for name in ("what", "where", "expected", "actual", "verdict")}
        return {**texts, "clauses": list(self.clauses)}


@dataclass(frozen=True)
class Moment:
    """One step of a run."""

    at: int | None  #: milliseconds
    node: str  #: where it happens; empty: nowhere in particular
    what: str  #: in words
    parts: tuple[Arrow | Note, ...] = ()  #: what a message graph shows of it
    instead: tuple[Arrow | Note, ...] = ()  #: what the specification does instead
    problem: Problem | None = None
    exact: str = ""  #: what happens, whole, if `what` leaves something out
    life: str = ""  #: of the node: one of the values below if it begins, ends or begins again with this moment

    def plain(self, most: int = LONGEST) -> dict[str, Plain]:
        """Returns plain data, texts cut to `most` characters; members that say nothing are left out."""
        shown: dict[str, Any] = {"at": self.at, "node": name_of(self.node), "what": _cut(self.what, most)}
        parts = self.parts if most == LONGEST else self.parts[:MOST_PARTS]
        shown["parts"] = [_plain_part(part, most) for part in parts]
        if more := len(self.parts) - len(parts):
            shown["more"] = more
        if self.instead:
            shown["instead"] = [_plain_part(part, most) for part in self.instead]
        if most == LONGEST and self.exact not in ("", self.what):
            shown["exact"] = _cut(self.exact)
        if self.life:
            shown["life"] = self.life
        if self.problem:
            shown["problem"] = self.problem.plain(most)
        return shown


@dataclass
class States:
    """The states of one node: each from one moment on, computed when it is asked for."""

    moments: list[int] = field(default_factory=list)
    _states: list[Callable[[], Fields]] = field(default_factory=list)

    def add(self, moment: int, state: Callable[[], Fields]) -> None:
        """Adds the state from this moment on; moments are added in order. An earlier one of the same moment does not count."""
        if self.moments and self.moments[-1] == moment:
            self._states[-1] = state
        else:
            self.moments.append(moment)
            self._states.append(state)

    def until(self, moment: int) -> States:
        """Returns the states up to a moment."""
        count = bisect_right(self.moments, moment)
        return States(self.moments[:count], self._states[:count])

    def seek(self, after: int, field: str, value: str) -> int:
        """Returns the first moment after another at which a field gets this value; -1 if there is none."""
        for place in range(bisect_right(self.moments, after), len(self.moments)):
            was = self._states[place - 1]() if place else {}
            now = self._states[place]()
            if any(is_named(name, field) and found == value and was.get(name) != value for name, found in now.items()):
                return self.moments[place]
        return -1

    def at(self, moment: int) -> Fields:
        """Returns the state after a moment; -1 is the beginning."""
        place = bisect_right(self.moments, moment) - 1
        return self._states[place]() if place >= 0 else {}


@dataclass
class Run:
    """A run that has happened."""

    protocol: str
    title: str
    about: str = ""
    clauses: tuple[str, ...] = ()  #: those that it is about; outlines also have those of its problems
    verdict: str = ""  #: in words; empty where nothing is judged
    commands: tuple[tuple[str, str], ...] = ()  #: label, and a command to paste
    names: dict[str, str] = field(default_factory=dict)  #: of nodes, by long ids that stand for them in messages and states
    moments: list[Moment] = field(default_factory=list)
    states: dict[str, States] = field(default_factory=dict)  #: by the visible name of the node

    def add_state(self, name: str, state: Callable[[], Fields], moment: int | None = None) -> None:
        """Adds the state of a node after the last moment, or after another one; -1 is the beginning."""
        self.states.setdefault(name_of(name), States()).add(len(self.moments) - 1 if moment is None else moment, state)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The participants, in the order in which they appear."""
        found: dict[str, None] = {}
        for moment in self.moments:
            names = (moment.node, *(name for part in (*moment.parts, *moment.instead) for name in _names(part)))
            found |= dict.fromkeys(name_of(name) for name in names if name)
        return tuple(found)

    def outline(self, most: int = BRIEF) -> dict[str, Plain]:
        """Returns all but the states as plain data, texts of moments cut to `most` characters."""
        return {
            "protocol": self.protocol,
            "title": _cut(self.title),
            "about": _cut(self.about),
            "clauses": self._clauses(),
            "verdict": _cut(self.verdict),
            "commands": [[_cut(label), _cut(command)] for label, command in self.commands],
            "nodes": list(self.nodes),
            "names": [[_cut(each, LONGEST_NAME), name_of(name)] for each, name in self.names.items()],
            "cards": list(self.states),
            "moments": [moment.plain(most) for moment in self.moments],
        }

    def view(self, moment: int, names: Collection[str] | None = None) -> dict[str, Plain]:
        """
        Returns a moment in full, and the state of each named node after it, with what it has changed; -1 is the beginning.

        Without names: of all nodes if they are few, else of those that the moment concerns.
        """
        wanted = self._shown(moment) if names is None else names
        cards = [_card(name, states.at(moment - 1), states.at(moment)) for name, states in self.states.items() if name in wanted]
        return {"moment": self.moments[moment].plain() if moment >= 0 else None, "nodes": cards}

    def seek(self, after: int, field: str, value: str) -> int:
        """Returns the first moment after another at which some field of some node gets this value; -1 if there is none."""
        found = [moment for states in self.states.values() if (moment := states.seek(after, field, value)) >= 0]
        return min(found, default=-1)

    def whole(self) -> dict[str, Plain]:
        """
        Returns the outline and every state, as changes from moment to moment, to be shown without a server.

        Raises TooLarge.
        """
        if len(self.moments) > MOST_MOMENTS:
            raise TooLarge(f"{len(self.moments):,} moments; at most {MOST_MOMENTS:,} fit into a file")
        changes: dict[str, dict[str, Plain]] = {}
        count = 0
        for name, states in self.states.items():
            before: Fields = {}
            of_node: dict[str, Plain] = {}
            for moment in states.moments:
                after = states.at(moment)
                if found := changed_fields(before, after):
                    of_node[str(moment)] = {_cut(field): None if value is None else _cut(value) for field, value in found.items()}
                    count += len(found)
                before = after
            if count > MOST_FIELDS:
                raise TooLarge(f"more than {MOST_FIELDS:,} changes of states")
            changes[name] = of_node
        return {**self.outline(LONGEST), "changes": changes}

    def _clauses(self) -> list[Plain]:
        """Returns the clauses with their texts."""
        cited = [clause for moment in self.moments if moment.problem for clause in moment.problem.clauses]
        known = load(self.protocol).items
        return [[name, visible(known[name].text)] for name in dict.fromkeys([*self.clauses, *cited]) if name in known]

    def _shown(self, moment: int) -> Collection[str]:
        if len(self.states) <= FEW or moment < 0:
            return list(self.states)[:FEW]
        now = self.moments[moment]
        names = {name_of(name) for name in (now.node, *(name for part in now.parts for name in _names(part)))}
        return [name for name in self.states if name.removesuffix(BESIDE) in names]


def _card(name: str, before: Fields, after: Fields) -> Plain:
    changed = changed_fields(before, after) if is_known(after) else {}
    fields: list[Plain] = [
        {"name": _cut(each), "value": _cut(value), "changed": each in changed} for each, value in after.items()
    ]
    gone: list[Plain] = [{"name": _cut(each), "value": "", "changed": True} for each, value in changed.items() if value is None]
    return {"name": name, "fields": [*fields, *gone]}


def is_known(fields: Fields) -> bool:
    """Whether these are the fields of a state, and not a remark that there is none."""
    return not any(name.startswith("(") for name in fields)


def _names(part: Arrow | Note) -> tuple[str, ...]:
    return (part.source, part.target) if isinstance(part, Arrow) else (part.node,)


def name_of(node: str) -> str:
    """Returns the name of a node as it is shown."""
    return _cut(node, LONGEST_NAME)


def _cut(text: str, most: int = LONGEST) -> str:
    return visible(text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)")


def _plain_part(part: Arrow | Note, most: int) -> Plain:
    label = _cut(part.label, most)
    if isinstance(part, Note):
        note: dict[str, Plain] = {"node": name_of(part.node), "label": label}
        return note | {"wrong": True} if part.wrong else note
    shown: dict[str, Plain] = {"from": name_of(part.source), "to": name_of(part.target), "label": label}
    return shown | {name: True for name in ("lost", "judged", "wrong") if getattr(part, name)}
