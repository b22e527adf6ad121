"""
Traces: what happened to a node and what it did, one JSON line a step; written by whoever runs a node, replayed here.

    {"run": "r1", "protocol": "scuttlebutt", "impl": "…", "node": "a:1", "seq": 3, "t_us": 1000000, "kind": "timer",
     "peer": null, "args": {"type": "round"}, "picks": [["round.partner", ["b:1"]], ["digest.order", ["b:1", "a:1"]]],
     "effects": [{"send": {"to": "b:1", "message": {…}}}, {"set_timer": {"timer": {…}, "after": 1000}}], "state": "9f2c…"}

`kind` is `start` (args: the configuration), `recv` (the message, from `peer`), `timer` or `api` (the command); a command
that the node refused has `refused` with the reason. A line holds the whole message, every answer to `pick` and every
effect, so that each node's lines can be checked alone. `state` is the `fingerprint` of the state afterwards, or null.
Texts are plain everywhere (`wire`): a peer may name an address that is not UTF-8, and a file must hold it nevertheless.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias

from peerproof.spec.core import (
    Asked,
    CancelTimer,
    Expired,
    Instant,
    NodeId,
    Notify,
    Option,
    Pick,
    Received,
    Send,
    SetTimer,
    Specification,
    Step,
)
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.wire import Form, ListOf, Maybe, Plain, Record, Text, Whole, misfit

Picks: TypeAlias = tuple[tuple[str, tuple[str | int, ...]], ...]
Kind: TypeAlias = Literal["start", "recv", "timer", "api"]

_MICROSECONDS = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One step of one node. `args` and `effects` are plain data, `t_us` microseconds on the node's clock."""

    run: str
    protocol: str
    impl: str
    node: str
    seq: int
    t_us: int
    kind: Kind
    peer: str | None
    args: Plain
    picks: Picks
    effects: tuple[Plain, ...]
    state: str | None
    refused: str | None = None

    def json(self) -> str:
        """The line, without its end."""
        shown = LINE.plain(self)
        if self.refused is None:
            del shown["refused"]
        return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a trace leaves the specification."""

    line: Line
    what: str  #: what differs: "seq", "args", "picks", "effects", "state", "refused"
    expected: Plain
    actual: Plain

    def __str__(self) -> str:
        return f"node {self.line.node}, seq {self.line.seq}: {self.what}: expected {self.expected}, found {self.actual}"


class _Anything(Form):
    """Plain data that the protocol's own forms read later."""

    def plain(self, value: Any) -> Plain:
        return value

    def value(self, plain: Plain, where: str = "") -> Any:  # noqa: ARG002  # everything fits
        return plain


class _Answer(Form):
    """An answer to `pick`: where it was asked, and the options taken, texts or numbers."""

    def plain(self, value: Any) -> Plain:
        why, answer = value
        return [why, [TEXT.plain(option) if isinstance(option, str) else option for option in answer]]

    def value(self, plain: Plain, where: str = "") -> Any:
        match plain:
            case [str(why), [*answer]]:
                return why, tuple(option if type(option) is int else TEXT.value(option, where) for option in answer)
        raise misfit(where, "a place and the options taken there", plain)


TEXT: Final = Text(most=2**16)
LINE: Final = Record(
    Line,
    run=TEXT,
    protocol=TEXT,
    impl=TEXT,
    node=TEXT,
    seq=Whole(),
    t_us=Whole(),
    kind=TEXT,
    peer=Maybe(TEXT),
    args=_Anything(),
    picks=ListOf(_Answer()),
    effects=ListOf(_Anything()),
    state=Maybe(TEXT),
    refused=Maybe(TEXT),
)


def parse(text: str) -> Line:
    """A line from its JSON. Raises MalformedMessage if it is none."""
    try:
        shown = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("bad_value", 0, f"not a trace line: {error!r}") from None
    line: Line = LINE.value(shown)
    return line


def event_of(spec: Specification, line: Line) -> Any:
    """The event of a `recv`, `timer` or `api` line. Raises MalformedMessage."""
    now = Instant(line.t_us // _MICROSECONDS)
    if line.kind == "recv":
        return Received(now, NodeId(line.peer or ""), spec.MESSAGE.value(line.args))
    if line.kind == "timer":
        return Expired(now, spec.TIMER.value(line.args))
    if line.kind == "api":
        return Asked(now, spec.COMMAND.value(line.args))
    raise MalformedMessage("bad_value", 0, f"kind: expected start, recv, timer or api, found {line.kind!r}")


def described(spec: Specification, event: Any) -> tuple[Kind, str | None, Plain]:
    """Kind, peer and args of an event, as a line holds them."""
    match event:
        case Received(_, sender, message):
            return "recv", sender, spec.MESSAGE.plain(message)
        case Expired(_, timer):
            return "timer", None, spec.TIMER.plain(timer)
        case Asked(_, command):
            return "api", None, spec.COMMAND.plain(command)
    raise TypeError(f"{event!r} is no event")


def effect_plain(spec: Specification, effect: Any) -> Plain:
    """An effect as plain data: an object with one member, named after it."""
    match effect:
        case Send(to, message):
            return {"send": {"to": TEXT.plain(to), "message": spec.MESSAGE.plain(message)}}
        case SetTimer(timer, after):
            return {"set_timer": {"timer": spec.TIMER.plain(timer), "after": after}}
        case CancelTimer(timer):
            return {"cancel_timer": {"timer": spec.TIMER.plain(timer)}}
        case Notify(notice):
            return {"notify": spec.NOTICE.plain(notice)}
    raise TypeError(f"{effect!r} is no effect")


def canonical(value: Any) -> Plain:
    """Any value of a specification as JSON data, the same for equal values in every process; for fingerprints only."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return [[canonical(key), canonical(value[key])] for key in sorted(value)]
    if isinstance(value, (frozenset, set)):
        return sorted(canonical(item) for item in value)
    if isinstance(value, (tuple, list)):
        return [canonical(item) for item in value]
    if is_dataclass(value):
        return [type(value).__name__, *(canonical(getattr(value, field.name)) for field in fields(value))]
    raise TypeError(f"{value!r} has no canonical form")


def fingerprint(state: Any) -> str:
    """64 bits of a state, as 16 hexadecimal digits."""
    return blake2b(json.dumps(canonical(state), separators=(",", ":")).encode(), digest_size=8).hexdigest()


def recording(pick: Pick) -> tuple[Pick, list[tuple[str, tuple[Any, ...]]]]:
    """A pick that asks another one and keeps the answers, and the list that it keeps them in."""
    answers: list[tuple[str, tuple[Any, ...]]] = []

    def record(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        answer = pick(why, among, some)
        answers.append((why, answer))
        return answer

    return record, answers


class WrongAnswer(Exception):
    """A recorded answer does not answer the question that the specification asks."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


def scripted(picks: Iterable[tuple[str, tuple[Any, ...]]]) -> tuple[Pick, Callable[[], None]]:
    """A pick that gives recorded answers, and a check that all were asked for. Both raise WrongAnswer."""
    answers = list(picks)
    asked = 0

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        nonlocal asked
        options = sorted(among)
        question = f"{min(some, len(options))} of {options} for {why}"
        if asked == len(answers):
            raise WrongAnswer(question, "no more answers")
        place, answer = answers[asked]
        asked += 1
        if (
            place != why
            or len(answer) != min(some, len(options))
            or len(set(answer)) < len(answer)
            or not set(answer) <= set(options)
        ):
            raise WrongAnswer(question, f"{list(answer)} for {place}")
        return answer

    def finish() -> None:
        if asked < len(answers):
            raise WrongAnswer("no further question", f"{len(answers) - asked} more answers, the next for {answers[asked][0]}")

    return pick, finish


def replay(spec: Specification, lines: Iterable[Line]) -> Iterator[Divergence]:
    """
    The first divergence of each node's lines from the specification; nothing if they all agree.

    Lines of several nodes and runs may be mixed, each node's own must be in order. After its first divergence a node's lines are
    passed over, up to its next `start`: what follows from a wrong state says nothing.
    """
    states: dict[tuple[str, str], Any] = {}
    expected_seq: dict[tuple[str, str], int] = {}
    lost: set[tuple[str, str]] = set()
    for line in lines:
        node = (line.run, line.node)
        if line.kind == "start" and (node in lost or node not in expected_seq):
            lost.discard(node)
            expected_seq[node] = line.seq
        if node in lost:
            continue
        divergence = None
        if line.seq != expected_seq.get(node, 0):
            divergence = Divergence(line, "seq", expected_seq.get(node, 0), line.seq)
        else:
            try:
                states[node], divergence = _replayed(spec, states.get(node), line)
            except MalformedMessage as error:
                divergence = Divergence(line, "args", "plain data of the protocol", str(error))
        expected_seq[node] = line.seq + 1
        if divergence:
            lost.add(node)
            yield divergence


def _replayed(spec: Specification, state: Any, line: Line) -> tuple[Any, Divergence | None]:
    pick, finish = scripted(line.picks)
    refused = None
    try:
        step = _step(spec, state, line, pick)
        finish()
    except WrongAnswer as error:
        return state, Divergence(line, "picks", error.expected, error.actual)
    except NotEnabled as error:
        step, refused = Step(state), error.reason
    if refused != line.refused:
        return state, Divergence(line, "refused", refused, line.refused)
    effects = tuple(effect_plain(spec, effect) for effect in step.effects)
    if effects != line.effects:
        return step.state, Divergence(line, "effects", list(effects), list(line.effects))
    if line.state is not None and fingerprint(step.state) != line.state:
        return step.state, Divergence(line, "state", fingerprint(step.state), line.state)
    return step.state, None


def _step(spec: Specification, state: Any, line: Line, pick: Pick) -> Step[Any, Any]:
    if line.kind == "start":
        return spec.initial(NodeId(line.node), spec.CONFIG.value(line.args))
    if state is None:
        raise MalformedMessage("bad_value", 0, "kind: expected a start line first")
    return spec.step(state, event_of(spec, line), pick)
