"""A replay that judges by other readings of the document where only these explain what a node did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from peerproof.conformance.traces.other_readings import (
    HINDSIGHT,
    MOST_WAYS,
    Difference,
    Explanation,
    Taken,
    add_readings,
    candidates,
    explain,
    is_silent,
    read_explanations,
    specification_by,
)
from peerproof.spec.core import Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.replay import Members, Node, Replay, line_of_members
from peerproof.spec.traces.trace import Course, Divergence, Line, Outcome, WrongAnswer, repeat_step

#: The most nodes whose steps since their start are kept.
MOST_LIVES: Final = 256

_Owner: TypeAlias = tuple[str, str]  #: run, node


@dataclass(slots=True)
class _Way:
    """The replay of one node by some readings."""

    taken: Taken
    course: Course
    fast: Replay | None = None  #: used while there is no other way


class FairReplay(Replay):
    """
    A replay that finds a `Difference` where other readings of the document explain a step, and goes on by these readings.

    A node's `course` has its state by the first of the readings that explain all of its steps.
    """

    def __init__(self, spec: Specification, declared: Taken = (), *, sort: bool = False) -> None:
        """`declared` are the readings that all nodes take, and that are no difference."""
        super().__init__(specification_by(spec.NAME, declared) if declared else spec, sort=sort)
        self._declared: Final = declared
        self._sort: Final = sort
        self._ways: Final[dict[_Owner, list[_Way]]] = {}
        #: The lines of nodes since their start, while none has a digest of the state and they are few.
        self._lives: Final[dict[_Owner, list[Line | Members]]] = {}

    def agrees(self, members: Members) -> bool:
        """See `Replay.agrees`. A node that several readings explain takes the slow path."""
        ways = self._ways.get((members[0], members[1])) if self._ways else None
        is_agreed = super().agrees(members) if ways is None else ways[0].fast is not None and ways[0].fast.agrees(members)
        if self._lives and is_agreed:
            self._live(members, (members[0], members[1]), has_digest=members[-1] is not None)
        return is_agreed

    def follow(self, node: Node, line: Line) -> Divergence | None:
        """See `Replay.follow`."""
        owner = line.run, line.node
        if line.kind == "start" and len(self._lives) < MOST_LIVES:
            self._lives[owner] = []
        self._live(line, owner, has_digest=line.state is not None)
        ways = self._ways.get(owner) or [_Way(self._declared, node.course)]
        for way in ways:
            way.course.is_lost = node.course.is_lost
        before = [way.course.state for way in ways]
        found = [way.course.follow(self._specification(way.taken), line) for way in ways]
        if agreeing := [way for way, divergence in zip(ways, found, strict=True) if divergence is None]:
            if len(agreeing) < len(ways):
                self._go_on(owner, node, agreeing)
            return None
        first = found[0]
        if first is None or first.what in ("seq", "args"):
            return first
        explained = [
            one for way, state in zip(ways, before, strict=True) for one in self._explain(owner, way.taken, state, line)
        ][:MOST_WAYS]
        if not explained:
            return first
        if known := [_Way(one.taken, Course(one.after[0], line.seq + 1)) for one in explained if one.after is not None]:
            self._go_on(owner, node, known)
        return Difference(line, first.what, first.expected, first.actual, read_explanations(self.spec.NAME, explained))

    def _live(self, line: Line | Members, owner: _Owner, *, has_digest: bool) -> None:
        life = self._lives.get(owner)
        if life is None:
            return
        if has_digest or len(life) == HINDSIGHT:
            del self._lives[owner]
        else:
            life.append(line)

    def _go_on(self, owner: _Owner, node: Node, ways: list[_Way]) -> None:
        """Judges the next lines of a node in these ways."""
        node.course = ways[0].course
        if len(ways) == 1 and ways[0].taken == self._declared:
            self._ways.pop(owner, None)
            return
        self._ways[owner] = ways
        if len(ways) == 1:
            ways[0].fast = Replay(self._specification(ways[0].taken), sort=self._sort)
            ways[0].fast.adopt(owner, node)

    def _specification(self, taken: Taken) -> Specification:
        return specification_by(self.spec.NAME, taken) if taken else self.spec

    def _explain(self, owner: _Owner, taken: Taken, state: Any, line: Line) -> list[Explanation]:
        """Returns the other readings that explain a step from a state; `taken` are those that the node takes already."""
        ordinary, closed = self._repeat(taken, state, line), [*candidates(self.spec.NAME, taken)]
        changing = [number for number in closed if self._repeat(add_readings(taken, number), state, line) not in (None, ordinary)]
        life = self._lives.get(owner, ())

        def end_of_step(taken: Taken) -> tuple[Any] | None:
            outcome = self._repeat(taken, state, line)
            if outcome is None or outcome.difference(line) is not None:
                return None
            return end_of_life(taken) or (outcome.state,)

        def end_of_life(taken: Taken) -> tuple[Any] | None:
            course, changed = Course(), self._specification(taken)
            lines = (line if isinstance(line, Line) else line_of_members(self.spec.NAME, line) for line in life)
            return (course.state,) if life and all(course.follow(changed, line) is None for line in lines) else None

        every = [*closed, *candidates(self.spec.NAME, taken, is_open=True)]
        return (
            explain(self.spec.NAME, taken, changing, end_of_step)
            or explain(self.spec.NAME, taken, every, end_of_life, most=1)
            or list(self._explain_by_silence(taken, state, line, ordinary))
        )

    def _repeat(self, taken: Taken, state: Any, line: Line) -> Outcome | None:
        """Returns the outcome of a step by some readings; None if the recorded answers do not fit."""
        try:
            return repeat_step(self._specification(taken), state, line)
        except (MalformedMessage, WrongAnswer):
            return None

    def _explain_by_silence(self, taken: Taken, state: Any, line: Line, ordinary: Outcome | None) -> Iterator[Explanation]:
        """Yields the first reading that shows that the document is silent about what differs."""
        for number in candidates(self.spec.NAME, taken, is_open=True):
            outcome = self._repeat(add_readings(taken, number), state, line)
            if outcome is None or outcome == ordinary:
                continue
            if outcome.difference(line) is None:
                yield Explanation((number,), add_readings(taken, number), (outcome.state,))
                return
            if ordinary is None or is_silent(
                [_plain_outcome(ordinary, line)], [_plain_outcome(outcome, line)], _logged_outcome(line)
            ):
                is_known = ordinary is not None and outcome.state == ordinary.state
                yield Explanation((number,), taken, (ordinary.state,) if is_known and ordinary else None)
                return


def _plain_outcome(outcome: Outcome, line: Line) -> dict[str, Plain]:
    digest = fingerprint(outcome.state) if line.state is not None else None
    return {"effects": list(outcome.effects), "refused": outcome.refused, "state": digest}


def _logged_outcome(line: Line) -> dict[str, Plain]:
    return {"effects": list(line.effects), "refused": line.refused, "state": line.state}
