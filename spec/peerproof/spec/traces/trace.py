"""
Traces: the events and effects of a node, one JSON line for each step; the driver of a node writes them, this module replays them.

    {"run": "r1", "protocol": "scuttlebutt", "impl": "…", "node": "a:1", "seq": 3, "t_us": 1000000, "kind": "timer",
     "peer": null, "args": {"type": "round"}, "picks": [["round.partner", ["b:1"]], ["digest.order", ["b:1", "a:1"]]],
     "effects": [{"send": {"to": "b:1", "message": {…}}}, {"set_timer": {"timer": {…}, "after": 1000}}], "state": "9f2c…"}

`kind` is `start` (args: the configuration), `recv` (the message, from `peer`), `sent` (a message to `peer`, and the
microseconds that it `took`, or null), `timer` or `api` (the command). A command that the node refused has `refused` with the
reason. A line holds the complete message, every answer to `pick` and every effect, so that each node's lines can be checked
alone. `state` is the `fingerprint` of the state afterwards, or null.
Texts are plain data everywhere (`form`), because a peer may name an address that is not UTF-8, and a file must hold it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from peerproof.spec import core
from peerproof.spec.core import Instant, NodeId, Option, Pick, Specification, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import Form, Integer, ListOf, Optional, Plain, Record, Text, misfit

Picks: TypeAlias = tuple[tuple[str, tuple[str | int, ...]], ...]
Kind: TypeAlias = Literal["start", "recv", "sent", "timer", "api"]

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
    """A difference between a trace and the specification."""

    line: Line
    what: str  #: the part that differs: "seq", "args", "picks", "effects", "state", "refused"
    expected: Plain
    actual: Plain

    def __str__(self) -> str:
        return f"node {self.line.node}, seq {self.line.seq}: {self.what}: expected {self.expected}, found {self.actual}"


class _Anything(Form):
    """Plain data that the protocol's own forms read later."""

    def value(self, plain: Plain, where: str = "") -> Any:  # noqa: ARG002  # accepts everything
        return plain


class _Answer(Form):
    """An answer to `pick`: the name of the choice, and the options taken, texts or numbers."""

    def plain(self, value: Any) -> Plain:
        why, answer = value
        return [why, [TEXT.plain(option) if isinstance(option, str) else option for option in answer]]

    def value(self, plain: Plain, where: str = "") -> Any:
        match plain:
            case [str(why), [*answer]]:
                return why, tuple(option if type(option) is int else TEXT.value(option, where) for option in answer)
        raise misfit(where, "a place and the options taken there", plain)


TEXT: Final = Text(most=2**16)
_TOOK: Final = Optional(Integer())
LINE: Final = Record(
    Line,
    run=TEXT,
    protocol=TEXT,
    impl=TEXT,
    node=TEXT,
    seq=Integer(),
    t_us=Integer(),
    kind=TEXT,
    peer=Optional(TEXT),
    args=_Anything(),
    picks=ListOf(_Answer()),
    effects=ListOf(_Anything()),
    state=Optional(TEXT),
    refused=Optional(TEXT),
)


def parse(text: str) -> Line:
    """Returns a line from its JSON. Raises MalformedMessage if it is none."""
    try:
        shown = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it nests too deep" if isinstance(error, RecursionError) else "a number has too many digits"
        if isinstance(error, json.JSONDecodeError):
            why = f"no JSON at column {error.colno}"
        raise MalformedMessage("bad_value", 0, f"not a trace line: {why}") from None
    line: Line = LINE.value(shown)
    return line


def event_of(spec: Specification, line: Line) -> Any:
    """Returns the event of a `recv`, `sent`, `timer` or `api` line. Raises MalformedMessage."""
    now = Instant(line.t_us // _MICROSECONDS)
    if line.kind == "recv":
        return core.Received(now, NodeId(line.peer or ""), spec.MESSAGE.value(line.args))
    if line.kind == "sent":
        return parse_sent(spec, now, NodeId(line.peer or ""), line.args)
    if line.kind == "timer":
        return core.Expired(now, spec.TIMER.value(line.args))
    if line.kind == "api":
        return core.Asked(now, spec.COMMAND.value(line.args))
    raise MalformedMessage("bad_value", 0, f"kind: expected start, recv, sent, timer or api, found {line.kind!r}")


def parse_config(spec: Specification, args: Plain) -> Any:
    """Returns the configuration of a `start` line. Raises MalformedMessage."""
    try:
        return spec.CONFIG.value(args)
    except MalformedMessage:
        raise
    except ValueError as error:  # each member fits, but they do not fit together
        raise MalformedMessage("bad_value", 0, f"args: {error}") from None


def parse_sent(spec: Specification, now: Instant, to: NodeId, args: Plain) -> core.Sent[Any]:
    """Returns the event of a `sent` line. Raises MalformedMessage, for any of a protocol without connections."""
    if spec.TRANSPORT != "tcp":
        raise MalformedMessage("bad_value", 0, f"kind: a node of {spec.NAME} does not learn whether a message has arrived")
    match args:
        case {"took": took, "message": message, **others} if not others:
            return core.Sent(now, to, spec.MESSAGE.value(message), _TOOK.value(took, "took"))
    raise misfit("args", "an object with took, message", args)


def describe_event(spec: Specification, event: Any) -> tuple[Kind, str | None, Plain]:
    """Returns kind, peer and args of an event, as in a line."""
    match event:
        case core.Received(_, sender, message):
            return "recv", sender, spec.MESSAGE.plain(message)
        case core.Sent(_, to, message, took):
            return "sent", to, {"took": took, "message": spec.MESSAGE.plain(message)}
        case core.Expired(_, timer):
            return "timer", None, spec.TIMER.plain(timer)
        case core.Asked(_, command):
            return "api", None, spec.COMMAND.plain(command)
    raise TypeError(f"{event!r} is no event")


#: The members that an effect may have as plain data, one of them each.
EFFECTS: Final = frozenset({"send", "set_timer", "cancel_timer", "notify"})


def effect_plain(spec: Specification, effect: Any) -> Plain:
    """Returns an effect as plain data: an object whose only member is named after it."""
    match effect:
        case core.Send(to, message):
            return {"send": {"to": TEXT.plain(to), "message": spec.MESSAGE.plain(message)}}
        case core.SetTimer(timer, after):
            return {"set_timer": {"timer": spec.TIMER.plain(timer), "after": after}}
        case core.CancelTimer(timer):
            return {"cancel_timer": {"timer": spec.TIMER.plain(timer)}}
        case core.Notify(notice):
            return {"notify": spec.NOTICE.plain(notice)}
    raise TypeError(f"{effect!r} is no effect")


def recording(pick: Pick) -> tuple[Pick, list[tuple[str, tuple[Any, ...]]]]:
    """Wraps a pick; returns the wrapper, and the list in which it records the answers."""
    answers: list[tuple[str, tuple[Any, ...]]] = []

    def record(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        answer = pick(why, among, some)
        answers.append((why, answer))
        return answer

    return record, answers


class WrongAnswer(Exception):
    """A recorded answer does not fit the question that the specification asks."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f"expected {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


class Script:
    """A pick that returns recorded answers. It, and `finish` when answers are left over, raise WrongAnswer."""

    __slots__ = ("_answers", "_asked")

    def __init__(self, answers: Picks) -> None:
        self._answers = answers
        self._asked = 0

    def __call__(self, why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        """Returns the next answer, if it fits this question."""
        count = min(some, len(among))
        if self._asked == len(self._answers):
            raise WrongAnswer(self._question(why, among, count), "no more answers")
        place, answer = self._answers[self._asked]
        self._asked += 1
        options = set(answer)
        if place != why or len(answer) != count or len(options) < count or not options.issubset(among):
            raise WrongAnswer(self._question(why, among, count), f"{list(answer)} for {place}")
        return answer  # type: ignore[return-value]  # options of this kind, as they are some of `among`

    def finish(self) -> None:
        """Checks that all answers were used."""
        if self._asked < len(self._answers):
            left = len(self._answers) - self._asked
            raise WrongAnswer("no further question", f"{left} more answers, the next for {self._answers[self._asked][0]}")

    def _question(self, why: str, among: Collection[Option], count: int) -> str:
        return f"{count} of {sorted(among)} for {why}"


class Course:
    """
    The replay of one node, line by line.

    After its first divergence a node's lines are skipped up to its next `start`, because steps from a wrong state prove nothing.
    """

    __slots__ = ("is_lost", "seq", "state")

    def __init__(self, state: Any = None, seq: int | None = None) -> None:
        self.state = state
        self.seq = seq  #: the number of the next line; None before the first
        self.is_lost = False

    def follow(self, spec: Specification, line: Line) -> Divergence | None:
        """Replays the node's next line."""
        if line.kind == "start" and (self.is_lost or self.seq is None):
            self.is_lost, self.seq = False, line.seq
        if self.is_lost:
            return None
        expected = self.seq or 0
        divergence = None
        if line.seq != expected:
            divergence = Divergence(line, "seq", expected, line.seq)
        else:
            try:
                outcome = repeat_step(spec, self.state, line)
                divergence = outcome.difference(line)
                self.state = outcome.state
            except WrongAnswer as error:
                divergence = Divergence(line, "picks", error.expected, error.actual)
            except MalformedMessage as error:
                divergence = Divergence(line, "args", "plain data of the protocol", str(error))
        self.seq = line.seq + 1
        self.is_lost = divergence is not None
        return divergence


def replay(spec: Specification, lines: Iterable[Line]) -> Iterator[Divergence]:
    """
    Yields the first divergence of each node's lines from the specification; nothing if they all agree.

    Lines of several nodes and runs may be mixed, each node's own must be in order. Memory holds a state for each node.
    `replay.Replay` does the same to the text of lines, several times as fast.
    """
    courses: defaultdict[tuple[str, str], Course] = defaultdict(Course)
    for line in lines:
        if divergence := courses[line.run, line.node].follow(spec, line):
            yield divergence


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step with the recorded answers to `pick`."""

    state: Any  #: afterwards
    effects: tuple[Plain, ...]
    refused: str | None  #: the reason

    def difference(self, line: Line) -> Divergence | None:
        """Returns the first part in which a line differs from it, if there is one."""
        if self.refused != line.refused:
            return Divergence(line, "refused", self.refused, line.refused)
        if self.effects != line.effects:
            return Divergence(line, "effects", list(self.effects), list(line.effects))
        if line.state is not None and fingerprint(self.state) != line.state:
            return Divergence(line, "state", fingerprint(self.state), line.state)
        return None


def repeat_step(spec: Specification, state: Any, line: Line) -> Outcome:
    """
    Takes the step of a line from a state.

    Raises WrongAnswer if the recorded answers do not fit the questions, and MalformedMessage.
    """
    pick = Script(line.picks)
    try:
        step, refused = _step(spec, state, line, pick), None
    except NotEnabled as error:
        step, refused = Step(state), error.reason
    pick.finish()
    return Outcome(step.state, tuple(effect_plain(spec, effect) for effect in step.effects), refused)


def _step(spec: Specification, state: Any, line: Line, pick: Pick) -> Step[Any, Any]:
    if line.kind == "start":
        return spec.initial(NodeId(line.node), parse_config(spec, line.args))
    if state is None:
        raise MalformedMessage("bad_value", 0, "kind: expected a start line first")
    return spec.step(state, event_of(spec, line), pick)
