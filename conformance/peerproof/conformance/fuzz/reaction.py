"""
Reactions of the specification to an input of a node: the one outcome of given choices, or all possible outcomes.

A node here is a value, its state and its timers, so several possible ones can be kept side by side. A restarted node has only its
address, its configuration, and what its protocol makes nodes keep.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, permutations
from typing import Any, NamedTuple, TypeAlias

from peerproof.spec import core
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Taken


class Node(NamedTuple):
    """A running node: its state, and its timers with their due times, in the order in which they were set."""

    state: Any
    timers: tuple[tuple[Any, core.Instant], ...] = ()

    @property
    def due(self) -> core.Instant | None:
        """The due time of its next timer."""
        return min((due for _, due in self.timers), default=None)


@dataclass(frozen=True)
class Started:
    """The node starts, for the first time or again; then perhaps with kept data."""

    kept: Mapping[str, Plain] | None = None  #: members of the configuration that differ in this life


@dataclass(frozen=True)
class Came:
    """A datagram arrives, which may be malformed."""

    sender: core.NodeId
    data: bytes


@dataclass(frozen=True)
class Called:
    """The application issues a command."""

    command: Any


@dataclass(frozen=True)
class Passed:
    """Time passes: due timers run out."""


@dataclass(frozen=True)
class Settled:
    """Over a connection: the outcome of a message that the node sent."""

    to: core.NodeId
    data: bytes
    took: int | None  #: microseconds; None: it did not arrive


Stimulus: TypeAlias = Started | Came | Called | Passed | Settled

#: A random choice that was answered: its site, and the chosen options.
Answer: TypeAlias = tuple[str, tuple[Any, ...]]


class Words(NamedTuple):
    """An observed message: the receiver, and the texts and numbers in it, in order."""

    to: core.NodeId
    said: tuple[Any, ...]


class Reaction(NamedTuple):
    """The new state and the effects of a node."""

    node: Node
    effects: tuple[core.Send[Any] | core.Notify[Any], ...] = ()
    taken: tuple[Taken, ...] = ()
    refused: str | None = None  #: reason of a refused call


@dataclass(frozen=True)
class Birth:
    """The constants of a node."""

    spec: core.Specification
    self_id: core.NodeId
    config: Any


def react(birth: Birth, node: Node | None, stimulus: Stimulus, now: core.Instant, pick: core.Pick) -> Reaction:
    """Returns the specification's reaction; `node` is None if it has not started yet."""
    spec = birth.spec
    if isinstance(stimulus, Started):
        config = birth.config
        if stimulus.kept:
            config = spec.CONFIG.value({**spec.CONFIG.plain(config), **stimulus.kept})
        return _after(spec.initial(birth.self_id, config), Node(None), now)
    assert node is not None, "only a running node takes inputs"
    match stimulus:
        case Came(sender, data):
            try:
                message = spec.MESSAGE.decode(data)
            except MalformedMessage:
                return Reaction(node)
            return _take_step(spec, node, core.Received(now, sender, message), now, pick)
        case Called(command):
            try:
                return _take_step(spec, node, core.Asked(now, command), now, pick)
            except NotEnabled as refusal:
                return Reaction(node, refused=refusal.reason)
        case Passed():
            return _expire_timers(spec, node, now, pick)
        case Settled(to, data, took):
            return _take_step(spec, node, core.Sent(now, to, spec.MESSAGE.decode(data), took), now, pick)


def _expire_timers(spec: core.Specification, node: Node, now: core.Instant, pick: core.Pick) -> Reaction:
    """Runs all due timers; of several due at the same time, the one that was set first comes first."""
    effects: tuple[Any, ...] = ()
    taken: tuple[Taken, ...] = ()
    while (due := node.due) is not None and due <= now:
        index = next(index for index, (_, at) in enumerate(node.timers) if at == due)
        timer = node.timers[index][0]
        node = node._replace(timers=node.timers[:index] + node.timers[index + 1 :])
        reaction = _take_step(spec, node, core.Expired(due, timer), due, pick)
        node, effects, taken = reaction.node, effects + reaction.effects, taken + reaction.taken
    return Reaction(node, effects, taken)


def _take_step(spec: core.Specification, node: Node, event: Any, now: core.Instant, pick: core.Pick) -> Reaction:
    step = spec.step(node.state, event, pick)
    reaction = _after(step, node, now)
    return reaction._replace(taken=(Taken(node.state, event, step.state, step.effects),))


def _after(step: core.Step[Any, Any], node: Node, now: core.Instant) -> Reaction:
    timers = dict(node.timers)
    effects = []
    for effect in step.effects:
        match effect:
            case core.SetTimer(timer, after):
                timers.pop(timer, None)
                timers[timer] = core.Instant(now + after)
            case core.CancelTimer(timer):
                timers.pop(timer, None)
            case _:
                effects.append(effect)
    return Reaction(Node(step.state, tuple(timers.items())), tuple(effects))


def reactions(
    reacting: Callable[[core.Pick], Reaction], answers: Sequence[Answer] = (), told: Sequence[Words] = ()
) -> Iterator[Reaction]:
    """
    Yields every possible reaction of the specification, the likeliest first.

    `answers` are the answers that an implementation got to its questions: where the specification asks at the same site, and the
    answer is possible, it is used. `told` are the observed messages: options are tried first in the order in which they appear
    there, and the n-th order that a site asks for is that of the n-th message.
    """
    script: list[tuple[int, ...]] = []
    others: list[Iterator[tuple[int, ...]]] = []  # the untried answers for each question of the script
    while True:
        yield reacting(_make_pick(_make_branch(script, others), answers, told))
        while others and (answer := next(others[-1], None)) is None:
            script.pop()
            others.pop()
        if not others:
            return
        assert answer is not None, "the loop ends with an answer"
        script[-1] = answer


class Question(NamedTuple):
    """A random choice: its site, its options, and how many of them it takes."""

    site: str
    options: Sequence[Any]
    some: int


class Unasked(Exception):
    """The specification has a choice that none of the answers fits; `earlier` choices of the step had the same site."""

    def __init__(self, question: Question, earlier: int) -> None:
        super().__init__(question.site)
        self.question = question
        self.earlier = earlier


def single_reaction(reacting: Callable[[core.Pick], Reaction], answers: Sequence[Answer]) -> Reaction:
    """Returns the only reaction with these answers. Raises Unasked at the first choice that has no fitting one."""
    earlier: Counter[str] = Counter()
    question: Question | None = None

    def refuse(options: int, some: int) -> tuple[int, ...]:  # noqa: ARG001  # the signature of a branch
        assert question is not None, "a branch belongs to a question"
        raise Unasked(question, earlier[question.site] - 1)

    answer = _make_pick(refuse, answers, ())

    def pick(why: str, among: Collection[core.Option], some: int = 1) -> tuple[core.Option, ...]:
        nonlocal question
        question = Question(why, sorted(among), min(some, len(among)))
        earlier[why] += len(among) > 1
        return answer(why, among, some)

    return reacting(pick)


def _make_branch(script: list[tuple[int, ...]], others: list[Iterator[tuple[int, ...]]]) -> Callable[[int, int], tuple[int, ...]]:
    """Answers the questions of one attempt with indices of options; a question beyond the script extends it."""
    asked = 0

    def branch(options: int, some: int) -> tuple[int, ...]:
        nonlocal asked
        if asked == len(script):
            others.append(permutations(range(options), some))  # lazily: ten options have millions of orders
            script.append(next(others[-1]))
        asked += 1
        return script[asked - 1]

    return branch


def _make_pick(branch: Callable[[int, int], tuple[int, ...]], answers: Iterable[Answer], told: Sequence[Words]) -> core.Pick:
    left: dict[str, deque[tuple[Any, ...]]] = {}
    for site, answer in answers:
        left.setdefault(site, deque()).append(answer)
    asked: Counter[str] = Counter()

    def pick(why: str, among: Collection[core.Option], some: int = 1) -> tuple[core.Option, ...]:
        options = sorted(among)
        some = min(some, len(options))
        if len(options) <= 1:
            return tuple(options[:some])  # there is nothing to choose
        if given := left.get(why):
            answer = given.popleft()
            if len(answer) == some and set(answer) <= set(options):
                return answer
        likely = _by_appearance(options, told[asked[why] :], of_one=some == 1)
        asked[why] += 1
        return tuple(likely[place] for place in branch(len(likely), some))

    return pick


def _by_appearance(options: list[core.Option], told: Sequence[Words], *, of_one: bool) -> list[core.Option]:
    """Sorts options by their appearance in messages; the longest missing first, as they probably did not fit."""
    words = chain.from_iterable((to, *said) for to, said in told) if of_one else told[0].said if told else ()
    seen = dict.fromkeys(word for word in words if word in options)
    return [*seen, *sorted((option for option in options if option not in seen), key=lambda option: -len(str(option)))]
