"""
Replay of traces as text, fast enough for logs of any size.

`trace.replay` says what a replay is. `Replay` comes to the same, line by line, and keeps for each node one state and a few lines.
It accepts a step at once if the specification, asked the same and answered the same, would have written the same text: equal
texts are equal data. Whatever else, a line that is written in another way, a start, a refusal, a difference, goes the long way,
which decides. So what is fast can only agree; each divergence is found, and named, by `trace.Course`.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Sent, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import Fingerprints
from peerproof.spec.forms.json_text import effect_writer, remembering
from peerproof.spec.traces.trace import LINE, Course, Divergence, Line, Picks, Script, WrongAnswer, parse

#: So many lines before a divergence are kept.
LINES_BEFORE: Final = 5

#: So many divergences are kept of one replay; of further ones only their number.
MOST_TOLD: Final = 1000

#: The members of a line: run, node, seq, t_us, kind, peer, args, picks, effects and state. The two numbers may be texts; args,
#: picks and effects are the texts of JSON values. It is a line of the protocol that the node did not refuse.
Members: TypeAlias = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a replay has found."""

    events: int  #: lines that were replayed, or passed over after a divergence
    nodes: int
    diverged: int  #: how often a node diverged after a start
    unreadable: int  #: lines that are none
    divergences: tuple[Divergence, ...]  #: the first `MOST_TOLD`

    def __bool__(self) -> bool:
        """Whether all is as specified."""
        return not self.diverged and not self.unreadable


def replay(lines: Iterable[str], spec: Specification) -> Verdict:
    """
    Replays the lines of a file, of any length, and says what came of it.

    Of one node's lines each must be whole and in order; those of several nodes and runs may be mixed.
    """
    replayed = Replay(spec)
    told: list[Divergence] = []
    diverged = unreadable = 0
    for line in lines:
        try:
            divergence = replayed.text(line)
        except MalformedMessage:
            unreadable += 1
            continue
        if divergence is not None:
            diverged += 1
            if diverged <= MOST_TOLD:
                told.append(divergence)
    return Verdict(replayed.events, len(replayed.nodes), diverged, unreadable, tuple(told))


class Replay:
    """
    The replay of any number of nodes, fed one line after the other.

    `sort` if the members of JSON are sorted by name in what `agrees` gets, and not as `trace.Line.json` has them.
    """

    def __init__(self, spec: Specification, *, sort: bool = False) -> None:
        self.spec: Final = spec
        self.events = 0  #: lines that were replayed, or passed over after a divergence
        self._nodes: Final[dict[tuple[str, str], Node]] = {}
        self._write: Final = effect_writer(spec, sort=sort)
        self._message: Final = remembering(lambda text: spec.MESSAGE.value(json.loads(text)))
        self._timer: Final = remembering(lambda text: spec.TIMER.value(json.loads(text)))
        self._command: Final = remembering(lambda text: spec.COMMAND.value(json.loads(text)))
        self._picks: Final = remembering(_picks)

    @property
    def nodes(self) -> Mapping[tuple[str, str], Node]:
        """The nodes, by run and name, that have had a line, in the order of their first lines."""
        return self._nodes

    def text(self, text: str) -> Divergence | None:
        """
        Replays a line of a file, and gives the first divergence of its node since the last start, when it comes to it.

        Raises MalformedMessage if it is no line of the protocol, and then nothing has happened.
        """
        found = _LINE(text)
        if found is not None:
            run, protocol, *rest = found.groups()
            if protocol == self.spec.NAME and self.agrees((run, *rest)):
                self._nodes[run, rest[0]].recent.append(text)
                return None
        line = parse(text)
        if line.protocol != self.spec.NAME:
            raise MalformedMessage("other", 0, f"a line of the protocol {line.protocol!r}, not of {self.spec.NAME}")
        return self.line(line, text)

    def line(self, line: Line, text: str | None = None) -> Divergence | None:
        """Replays a line; `text` is what it was read from, if that is known."""
        self.events += 1
        node = self._nodes.get((line.run, line.node))
        if node is None:
            node = self._nodes[line.run, line.node] = Node()
        node.events += 1
        divergence = node.course.follow(self.spec, line)
        if not node.course.is_lost:
            node.recent.append(line.json() if text is None else text)
        return divergence

    def agrees(self, members: Members) -> bool:
        """
        Replays a line if it can be seen at once that it agrees; then the replay moves on, and this is true.

        If it is false, nothing has happened, and `line` has the say.
        """
        run, name, seq, t_us, kind, peer, args, picks, effects, state = members
        node = self._nodes.get((run, name))
        if node is None or node.course.is_lost or node.course.state is None or int(seq) != node.course.seq:
            return False
        now = Instant(int(t_us) // _MICROSECONDS)
        try:
            event: Any
            if kind == "recv" and peer is not None:
                event = Received(now, NodeId(peer), self._message(args))
            elif kind == "sent" and peer is not None:
                event = self._parse_sent(now, NodeId(peer), args)
            elif kind == "timer":
                event = Expired(now, self._timer(args))
            elif kind == "api":
                event = Asked(now, self._command(args))
            else:
                return False
            pick = Script(self._picks(picks))
            taken = self.spec.step(node.course.state, event, pick)
            pick.finish()
        except (MalformedMessage, NotEnabled, WrongAnswer, ValueError, RecursionError):
            return False
        if f"[{','.join(map(self._write, taken.effects))}]" != effects:
            return False
        if state is not None and node.fingerprints.of(taken.state) != state:
            return False
        node.course.state = taken.state
        node.course.seq += 1
        node.events += 1
        self.events += 1
        return True

    def _parse_sent(self, now: Instant, to: NodeId, args: str) -> Sent[Any]:
        """The event of a `sent` line, whose args have two members. Raises ValueError if they are written otherwise."""
        found = _SENT(args) or _SENT_SORTED(args)
        if found is None:
            raise ValueError(args)
        took = found["took"]
        return Sent(now, to, self._message(found["message"]), None if took == "null" else int(took))


class Node:
    """What is kept of one node."""

    __slots__ = ("course", "events", "fingerprints", "recent")

    def __init__(self) -> None:
        self.events = 0
        self.course = Course()
        self.fingerprints = Fingerprints()
        self.recent: deque[str] = deque(maxlen=LINES_BEFORE)  #: its last lines before a divergence, the oldest first


def _picks(text: str) -> Picks:
    picks: Picks = _PICKS.value(json.loads(text))
    return picks


# A line as `trace.Line.json` writes it, without what would have to be written with an escape. A string has no bare quotes, so
# that a name found between commas is a member's; if it is that of an inner member, the parts are no JSON and are not accepted.
_MICROSECONDS: Final = 1000
_PICKS: Final = LINE.forms["picks"]
_STRING: Final = r'"([^"\\\x00-\x1f\ud800-\udfff]{0,999})"'
_NUMBER: Final = "(0|[1-9][0-9]{0,14})"
_SENT: Final = re.compile(rf'\{{"took":(?P<took>null|{_NUMBER}),"message":(?P<message>\{{.*\}})\}}').fullmatch
_SENT_SORTED: Final = re.compile(rf'\{{"message":(?P<message>\{{.*\}}),"took":(?P<took>null|{_NUMBER})\}}').fullmatch
_LINE: Final = re.compile(
    rf'\{{"run":{_STRING},"protocol":{_STRING},"impl":{_STRING.replace("(", "(?:")},"node":{_STRING}'
    rf',"seq":{_NUMBER},"t_us":{_NUMBER},"kind":"([a-z]+)","peer":(?:null|{_STRING})'
    rf',"args":(\{{.*\}}),"picks":(\[.*\]),"effects":(\[.*\]),"state":(?:null|{_STRING})\}}\s*'
).fullmatch
