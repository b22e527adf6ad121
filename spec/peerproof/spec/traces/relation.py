"""
A specification as a relation: can it have done what was seen, if nobody says how chance fell?

`Relation` carries every state that a node can be in. An event takes each of them to all that some answers of chance lead to,
as far as that agrees with what was seen of the step: its effects, its messages, its refusal, its state, or only some of these.
If nothing is left, no outcome of the specification explains the step.

The set is bounded, and so is the search. Once a bound was hit states may be missing from the set: then that nothing is left says
nothing, and the verdict is undetermined. It is never given as the verdict accepted, nor as rejected.

Answers that lead to the same need not all be tried. A protocol says which stand for all others, as `narrowed(question)` in its
module `relation`; without it, all permutations are tried. Where chance decides now what shows later, as an order that is used up
bit by bit, one state may stand for others: the protocol says for which, as `unfolded(state, event, sends)` there. What a log's
answers have told of such a state is forgotten with the next event that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice, permutations
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.spec.core import NodeId, Option, Send, Specification, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import TEXT, Picks, Script, WrongAnswer, effect_plain

Answer: TypeAlias = tuple[Any, ...]

#: So many of the outcomes that were allowed are told.
MOST_ALLOWED: Final = 8


class Observed(NamedTuple):
    """What was seen of a step; None for what was not looked at."""

    picks: Picks | None = None
    effects: tuple[Plain, ...] | None = None
    sends: tuple[Send[Any], ...] | None = None  #: the messages, where they are all that was seen of the effects
    state: str | None = None  #: its fingerprint afterwards
    refused: str | None = None  #: None: the node did not refuse


class Question(NamedTuple):
    """A choice that has to be made, and what is known of its result."""

    why: str
    among: tuple[Any, ...]  #: sorted
    some: int
    state: Any
    asked: tuple[tuple[str, Answer], ...]  #: the questions of the same step before, with the answers that are being tried
    sends: tuple[Send[Any], ...] | None  #: all messages of the step, in their order, if they were seen
    is_exact: bool = False  #: the state afterwards must stand for itself alone
    effects: tuple[Plain, ...] | None = None  #: all effects of the step, if they were seen


#: The answers that stand for all others: each other one leads to the same step, to one that does not agree with what was seen,
#: or to a state that is among those for which the one that it leads to stands. None: all permutations.
Narrowed: TypeAlias = Callable[[Question], Iterable[Answer] | None]

#: Those of the states for which a state stands that differ in what comes of an event, as far as that can agree with the messages
#: that were seen (None: not seen). At least one. With no event, all.
Unfolded: TypeAlias = Callable[[Any, Any, tuple[Send[Any], ...] | None], Iterable[Any]]


class Opinion(Enum):
    """What can be said of a step."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of a step; if it was not accepted, outcomes that the specification has, and why nothing more is known."""

    opinion: Opinion
    allowed: tuple[Plain, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far to search."""

    states: int = 256
    tries: int = 20_000  #: steps of the specification, for one event


class Relation:
    """One node, by what was seen of it."""

    def __init__(
        self,
        spec: Specification,
        narrowed: Narrowed | None = None,
        bounds: Bounds | None = None,
        unfolded: Unfolded | None = None,
    ) -> None:
        self.states: tuple[Any, ...] = ()  #: that it can be in; none before the start, and after what nothing explains
        self.bound_hit = ""  #: the bound by which states may be missing
        self._spec: Final = spec
        self._narrowed: Final = narrowed
        self._unfolded: Final = unfolded
        self._bounds: Final = bounds or Bounds()
        self._tries = 0
        self._is_folded = False  #: states may stand for others

    def start(self, node: NodeId, config: Any, observed: Observed) -> Judgement:
        """The node has started, or started again."""
        self.bound_hit, self._tries, self._is_folded = "", 0, False
        try:
            step = self._spec.initial(node, config)
        except NotEnabled as error:
            return self._nothing([{"refused": error.reason}])
        difference = self._difference(step, observed)
        if difference is not None:
            return self._nothing([difference])
        self.states = (step.state,)
        return Judgement(Opinion.ACCEPTED)

    def take(self, event: Any, observed: Observed) -> Judgement:
        """Something happened to the node."""
        if observed.effects is not None and observed.sends is None:
            observed = observed._replace(sends=_sends(self._spec, observed.effects))
        self._tries = 0
        if observed.state is not None or observed.picks is not None:
            self._unfold()
        found: dict[Any, None] = {}
        allowed: list[Plain] = []
        for state in self._standing(event, observed.sends):
            for step, refused in self._outcomes(state, event, observed):
                difference = {"refused": refused} if refused != observed.refused else self._difference(step, observed)
                if difference is None:
                    found[step.state] = None
                elif len(allowed) < MOST_ALLOWED and difference not in allowed:
                    allowed.append(difference)
                if len(found) > self._bounds.states:
                    self.bound_hit = f"more than {self._bounds.states} possible states"
                    break
            if len(found) > self._bounds.states:
                del found[next(reversed(found))]
                break
        if not found:
            return self._nothing(allowed)
        self.states = tuple(found)
        return Judgement(Opinion.ACCEPTED)

    def keep(self, fits: Callable[[Any], bool]) -> Judgement:
        """Something is known of the state at this moment."""
        self._unfold()
        self.states = tuple(state for state in self.states if fits(state))
        return Judgement(Opinion.ACCEPTED) if self.states else self._nothing([])

    def _standing(self, event: Any, sends: tuple[Send[Any], ...] | None) -> Iterator[Any]:
        """The states, each for itself as far as it matters to this."""
        unfolded = self._unfolded if self._is_folded else None
        for state in self.states:
            if unfolded is None:
                yield state
            else:
                yield from unfolded(state, event, sends)

    def _unfold(self) -> None:
        """From now on each state stands for itself alone."""
        if self._is_folded and self._unfolded is not None:
            found = dict.fromkeys(islice(self._standing(None, None), self._bounds.states + 1))
            if len(found) > self._bounds.states:
                self.bound_hit = f"more than {self._bounds.states} possible states"
            self.states = tuple(islice(found, self._bounds.states))
        self._is_folded = False

    def _nothing(self, allowed: list[Plain]) -> Judgement:
        self.states = ()
        opinion = Opinion.UNDETERMINED if self.bound_hit else Opinion.REJECTED
        return Judgement(opinion, tuple(allowed), self.bound_hit)

    def _difference(self, step: Step[Any, Any], observed: Observed) -> Plain:
        """What the specification does otherwise; None if it agrees with what was seen."""
        if observed.effects is not None:
            effects = [effect_plain(self._spec, effect) for effect in step.effects]
            if effects != list(observed.effects):
                return {"effects": effects}
        elif observed.sends is not None:
            sends = tuple(effect for effect in step.effects if isinstance(effect, Send))
            if sends != observed.sends:
                return {"messages": [effect_plain(self._spec, send) for send in sends]}
        if observed.state is not None and (state := fingerprint(step.state)) != observed.state:
            return {"state": state}
        return None

    def _outcomes(self, state: Any, event: Any, observed: Observed) -> Iterator[tuple[Step[Any, Any], str | None]]:
        """Every step that some answers lead to, or that is refused with a reason, as far as the bound goes."""
        if observed.picks is not None:
            script = Script(observed.picks)
            try:
                step = self._spec.step(state, event, script)
                script.finish()
            except NotEnabled as error:
                yield Step(state), error.reason
            except WrongAnswer:
                return
            else:
                yield step, None
            return
        seen = {"sends": observed.sends, "effects": observed.effects}
        known = {"state": state, "is_exact": observed.state is not None, **seen}
        search = _Search(lambda question: self._answers(question._replace(**known)))
        while search.goes_on():
            if self._tries >= self._bounds.tries:
                self.bound_hit = f"more than {self._bounds.tries} ways in which chance can fall"
                return
            self._tries += 1
            try:
                step = self._spec.step(state, event, search.pick)
            except NotEnabled as error:
                yield Step(state), error.reason
            except _NoAnswer:
                continue
            else:
                yield step, None

    def _answers(self, question: Question) -> Iterator[Answer]:
        answers = self._narrowed(question) if self._narrowed else None
        self._is_folded = self._is_folded or not (answers is None or question.is_exact)
        return permutations(question.among, question.some) if answers is None else iter(answers)


class _NoAnswer(Exception):
    """No answer can lead to what was seen."""


class _Search:
    """
    All ways to answer, one after the other, depth first: each run of a step asks `pick`, which answers as before and where that
    is used up, anew. Possible answers are made one by one, as n! do not fit into memory.
    """

    def __init__(self, answers: Callable[[Question], Iterator[Answer]]) -> None:
        self._answers = answers
        self._path: list[tuple[str, Iterator[Answer], Answer]] = []
        self._asked = 0
        self._begun = False

    def goes_on(self) -> bool:
        """Whether there is another way; then the next run takes it."""
        self._asked = 0
        if not self._begun:
            self._begun = True
            return True
        while self._path:
            why, others, _ = self._path.pop()
            answer = next(others, None)
            if answer is not None:
                self._path.append((why, others, answer))
                return True
        return False

    def pick(self, why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        """The answer of this way."""
        if self._asked == len(self._path):
            options = tuple(sorted(among))
            asked = tuple((place, answer) for place, _, answer in self._path)
            others = self._answers(Question(why, options, min(some, len(options)), None, asked, None))
            first = next(others, None)
            if first is None:
                raise _NoAnswer
            self._path.append((why, others, first))
        answer: tuple[Option, ...] = self._path[self._asked][2]
        self._asked += 1
        return answer


def _sends(spec: Specification, effects: Iterable[Plain]) -> tuple[Send[Any], ...] | None:
    """The messages among effects; None if one of them is none of the protocol."""
    try:
        return tuple(
            Send(NodeId(TEXT.value(effect["send"]["to"])), spec.MESSAGE.value(effect["send"]["message"]))
            for effect in effects
            if isinstance(effect, dict) and "send" in effect
        )
    except (MalformedMessage, KeyError, TypeError):
        return None
