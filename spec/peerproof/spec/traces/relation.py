"""
A specification as a relation: whether it allows the observed steps of a node, without knowledge of the random choices.

`Relation` holds every state that the node can be in. An event leads from each of them to all results of some answers to `pick`
that agree with the observations of the step: its effects, its messages, its refusal, its state, or only some of these.
If no state is left, no outcome of the specification explains the step.

The set and the search are bounded. Once a bound was hit, states may be missing from the set: then an empty set proves nothing,
and the opinion is `UNDETERMINED`, never `ACCEPTED` or `REJECTED`.

Of answers that lead to the same result not all need be tried. A protocol says which answers represent all others, as
`narrow(question)` in its module `relation`; without it, all permutations are tried. Where a random choice has visible effects
only later, as an order that is consumed step by step, one state may represent others: the protocol says which, as `unfold(state,
event, sends)` in the same module. Recorded answers about such a state are dropped at the next event without any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice, permutations
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.spec.core import CancelTimer, NodeId, Option, Send, SetTimer, Specification, Step, replace
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import TEXT, Picks, Script, WrongAnswer, effect_plain

Answer: TypeAlias = tuple[Any, ...]

#: The maximum number of allowed outcomes to report.
MOST_ALLOWED: Final = 8


class Observed(NamedTuple):
    """The observations of a step; None for a part that was not observed."""

    picks: Picks | None = None
    effects: tuple[Plain, ...] | None = None
    sends: tuple[Send[Any], ...] | None = None  #: the messages, where no other effects were observed
    state: str | None = None  #: the fingerprint of the state afterwards
    refused: str | None = None  #: that the node refused, in its own words; None: nothing says so


class Question(NamedTuple):
    """A random choice to make, and the observations of its result."""

    why: str
    among: tuple[Any, ...]  #: sorted
    some: int
    state: Any
    asked: tuple[tuple[str, Answer], ...]  #: earlier questions of the same step, with the answers that are being tried
    sends: tuple[Send[Any], ...] | None  #: all messages of the step in order, if they were observed
    is_exact: bool = False  #: the state afterwards must represent only itself
    effects: tuple[Plain, ...] | None = None  #: all effects of the step, if they were observed


#: Returns the answers that represent all others: each other one leads to the same step, to one that contradicts the observations,
#: or to a state that a result of these answers represents. None: all permutations.
Narrowed: TypeAlias = Callable[[Question], Iterable[Answer] | None]

#: Returns those states among the represented ones for which the event has different results, as far as these can agree with the
#: observed messages (None: not observed). At least one. Without an event, all of them.
Unfolded: TypeAlias = Callable[[Any, Any, tuple[Send[Any], ...] | None], Iterable[Any]]


class Opinion(Enum):
    """The verdict on a step."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on a step; if not accepted, the outcomes that the specification allows, or why it is undetermined."""

    opinion: Opinion
    allowed: tuple[Plain, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of the search."""

    states: int = 256
    tries: int = 20_000  #: steps of the specification, for one event


class Relation:
    """The possible states of one node, by its observations."""

    def __init__(
        self,
        spec: Specification,
        narrowed: Narrowed | None = None,
        bounds: Bounds | None = None,
        unfolded: Unfolded | None = None,
    ) -> None:
        self.states: tuple[Any, ...] = ()  #: the states that it can be in; none before the start, and after an unexplained step
        self.bound_hit = ""  #: the bound that may have dropped states
        #: Timers that the last step sets, or would set if no outcome explains it, in milliseconds from then; None: cancelled.
        self.timers: Mapping[Any, int | None] = {}
        self._spec: Final = spec
        self._narrowed: Final = narrowed
        self._unfolded: Final = unfolded
        self._bounds: Final = bounds or Bounds()
        self._tries = 0
        self._is_folded = False  #: states may represent others

    def under(self, spec: Specification, tries: int | None = None) -> Relation:
        """
        Returns the same states, from which the next steps are those of another specification.

        With `tries`, all permutations are tried, up to this number: which answers represent others may not hold for it.
        """
        narrowed, bounds = (self._narrowed, self._bounds) if tries is None else (None, replace(self._bounds, tries=tries))
        other = Relation(spec, narrowed, bounds, self._unfolded)
        other.states, other.bound_hit, other.timers, other._is_folded = self.states, self.bound_hit, self.timers, self._is_folded
        return other

    def start(self, node: NodeId, config: Any, observed: Observed) -> Judgement:
        """The node has started or restarted."""
        self.bound_hit, self._tries, self._is_folded = "", 0, False
        try:
            step = self._spec.initial(node, config)
        except NotEnabled as error:
            return self._nothing([{"refused": error.reason}])
        self.timers = _timers(step)
        difference = self._difference(step, observed)
        if difference is not None:
            return self._nothing([difference])
        self.states = (step.state,)
        return Judgement(Opinion.ACCEPTED)

    def take(self, event: Any, observed: Observed) -> Judgement:
        """The node handles an event."""
        if observed.effects is not None and observed.sends is None:
            observed = observed._replace(sends=_sends(self._spec, observed.effects))
        self._tries = 0
        if observed.state is not None or observed.picks is not None:
            self._unfold()
        found: dict[Any, None] = {}
        timers: list[Mapping[Any, int | None]] = []
        others: list[Mapping[Any, int | None]] = []
        allowed: list[Plain] = []
        for state in self._standing(event, observed.sends):
            for step, refused in self._outcomes(state, event, observed):
                difference = self._difference(step, observed) if _refusal_fits(refused, observed) else {"refused": refused}
                timed, kept = _timers(step), others if difference else timers
                if timed not in kept:
                    kept.append(timed)
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
        self.timers = _merge(timers or others)
        if not found:
            return self._nothing(allowed)
        self.states = tuple(found)
        return Judgement(Opinion.ACCEPTED)

    def keep(self, fits: Callable[[Any], bool]) -> Judgement:
        """Keeps the states that agree with knowledge of the state at this moment."""
        self._unfold()
        self.states = tuple(state for state in self.states if fits(state))
        return Judgement(Opinion.ACCEPTED) if self.states else self._nothing([])

    def _standing(self, event: Any, sends: tuple[Send[Any], ...] | None) -> Iterator[Any]:
        """Yields the states; represented ones separately, as far as they differ for this event."""
        unfolded = self._unfolded if self._is_folded else None
        for state in self.states:
            if unfolded is None:
                yield state
            else:
                yield from unfolded(state, event, sends)

    def _unfold(self) -> None:
        """Replaces each state by all states that it represents."""
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
        """Returns the specification's result that differs from the observations; None if they agree."""
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
        """Yields every step that some answers lead to, or the reason for its refusal, up to the bound."""
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
                self.bound_hit = f"more than {self._bounds.tries} combinations of random choices"
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
    """No answer can lead to the observations."""


class _Search:
    """
    All combinations of answers, depth first: each run of a step calls `pick`, which repeats the previous answers and then gives
    new ones. Possible answers are made one by one, as n! do not fit into memory.
    """

    def __init__(self, answers: Callable[[Question], Iterator[Answer]]) -> None:
        self._answers = answers
        self._path: list[tuple[str, Iterator[Answer], Answer]] = []
        self._asked = 0
        self._begun = False

    def goes_on(self) -> bool:
        """Whether another combination is left; the next run then uses it."""
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
        """Returns the answer of the current combination."""
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


def _refusal_fits(refused: str | None, observed: Observed) -> bool:
    """
    Whether an outcome is a refusal just if one was observed; `refused` is the specification's reason.

    Whose messages alone were observed may have refused without a word: then it has sent nothing, and nothing has changed.
    """
    if observed.refused is not None:
        return refused is not None
    return refused is None or observed.effects is None


def _timers(step: Step[Any, Any]) -> dict[Any, int | None]:
    """Returns the timers that a step sets, with the milliseconds until they expire, and with None those that it cancels."""
    timers: dict[Any, int | None] = {}
    for effect in step.effects:
        if isinstance(effect, SetTimer):
            timers[effect.timer] = effect.after
        elif isinstance(effect, CancelTimer):
            timers[effect.timer] = None
    return timers


def _merge(outcomes: Sequence[Mapping[Any, int | None]]) -> dict[Any, int | None]:
    """Returns the timers that some outcome sets, and those that every outcome cancels."""
    merged = {timer: after for timers in outcomes for timer, after in timers.items() if after is not None}
    in_all = [timer for timer in (outcomes[0] if outcomes else ()) if all(timer in timers for timers in outcomes)]
    return merged | dict.fromkeys(timer for timer in in_all if timer not in merged)


def _sends(spec: Specification, effects: Iterable[Plain]) -> tuple[Send[Any], ...] | None:
    """Returns the messages among effects; None if one of them is no message of the protocol."""
    try:
        return tuple(
            Send(NodeId(TEXT.value(effect["send"]["to"])), spec.MESSAGE.value(effect["send"]["message"]))
            for effect in effects
            if isinstance(effect, dict) and "send" in effect
        )
    except (MalformedMessage, KeyError, TypeError):
        return None
