"""
Replay of traces as text, fast enough for logs of any size.

`trace.replay` defines a replay. `Replay` gives the same results line by line, and keeps one state and a few lines for each node.
It accepts a step at once if the specification, with the recorded answers, would have written the same text: equal texts are equal
data. All other lines, such as a start, a refusal, a difference or another notation, take the slow path, which decides. So the
fast path only accepts; `trace.Course` finds and names each divergence.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from peerproof.spec.collector import no_collector
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Sent, Specification
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import Fingerprints
from peerproof.spec.forms.json_text import LONGEST_REMEMBERED, MOST_REMEMBERED, effect_writer, remembering
from peerproof.spec.traces.trace import LINE, Course, Divergence, Line, Picks, Script, WrongAnswer, parse

#: The number of lines before a divergence to keep.
LINES_BEFORE: Final = 5

#: The number of divergences to keep from one replay; later ones are only counted.
MOST_TOLD: Final = 1000

#: The members of a line: run, node, seq, t_us, kind, peer, args, picks, effects and state. The two numbers may be texts; args,
#: picks and effects are JSON texts. The line is of the protocol, and no refusal.
Members: TypeAlias = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a replay."""

    events: int  #: lines that were replayed, or skipped after a divergence
    nodes: int
    diverged: int  #: number of divergences, at most one after each start of a node
    unreadable: int  #: lines that are no trace lines
    divergences: tuple[Divergence, ...]  #: the first `MOST_TOLD`

    def __bool__(self) -> bool:
        """Whether all lines agree with the specification."""
        return not self.diverged and not self.unreadable


def replay(lines: Iterable[str], spec: Specification) -> Verdict:
    """
    Replays the lines of a file of any length, and returns the verdict.

    Each node's own lines must be complete and in order; those of several nodes and runs may be mixed.
    """
    replayed = Replay(spec)
    kept: list[Divergence] = []
    diverged = unreadable = 0
    with no_collector():  # states and messages contain no cycles
        for line in lines:
            try:
                divergence = replayed.text(line)
            except MalformedMessage:
                unreadable += 1
                continue
            if divergence is not None:
                diverged += 1
                if diverged <= MOST_TOLD:
                    kept.append(divergence)
    return Verdict(replayed.events, len(replayed.nodes), diverged, unreadable, tuple(kept))


class Replay:
    """
    The replay of any number of nodes, one line after the other.

    `sort`: whether `agrees` gets JSON with members sorted by name, and not in the order of `trace.Line.json`.
    """

    def __init__(self, spec: Specification, *, sort: bool = False) -> None:
        self.spec: Final = spec
        self.events = 0  #: lines that were replayed, or skipped after a divergence
        self._nodes: Final[dict[tuple[str, str], Node]] = {}
        self._messages: Final = _Messages(spec)
        self._write: Final = effect_writer(spec, sort=sort, on_message=self._messages.keep)
        self._timer: Final = remembering(lambda text: spec.TIMER.value(json.loads(text)))
        self._command: Final = remembering(lambda text: spec.COMMAND.value(json.loads(text)))
        self._picks: Final = remembering(_picks)

    @property
    def nodes(self) -> Mapping[tuple[str, str], Node]:
        """Returns the nodes with at least one line, by run and name, in the order of their first lines."""
        return self._nodes

    def text(self, text: str) -> Divergence | None:
        """
        Replays a line of a file. Returns the first divergence of its node since the last start, at the line where it occurs.

        Raises MalformedMessage if it is no line of the protocol, and then the replay has not changed.
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
        """Replays a line; `text` is the line's original text, if known."""
        self.events += 1
        node = self._nodes.get((line.run, line.node))
        if node is None:
            node = self._nodes[line.run, line.node] = Node()
        node.events += 1
        divergence = self.follow(node, line)
        if not node.course.is_lost:
            node.recent.append(line.json() if text is None else text)
        return divergence

    def follow(self, node: Node, line: Line) -> Divergence | None:
        """Replays the next line of a node on the slow path."""
        return node.course.follow(self.spec, line)

    def adopt(self, owner: tuple[str, str], node: Node) -> None:
        """Takes a node, by run and name, from another replay, which may go on with it."""
        self._nodes[owner] = node

    def agrees(self, members: Members) -> bool:
        """
        Replays a line on the fast path. Returns True if the line agrees; the replay has then moved on.

        If it returns False, the replay has not changed, and `line` decides.
        """
        run, name, seq, t_us, kind, peer, args, picks, effects, state = members
        node = self._nodes.get((run, name))
        if node is None or node.course.is_lost or node.course.state is None or int(seq) != node.course.seq:
            return False
        now = Instant(int(t_us) // _MICROSECONDS)
        try:
            event: Any
            if kind == "recv" and peer is not None:
                event = Received(now, NodeId(peer), self._messages[args])
            elif kind == "sent" and peer is not None and self.spec.TRANSPORT == "tcp":
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
        """Returns the event of a `sent` line, whose args have two members. Raises ValueError for another notation."""
        found = _SENT(args) or _SENT_SORTED(args)
        if found is None:
            raise ValueError(args)
        took = found["took"]
        return Sent(now, to, self._messages[found["message"]], None if took == "null" else int(took))


class _Messages(dict[str, Any]):
    """
    The messages of some texts: what a node sends is read only once, where another node receives it.

    Like the caches of `remembering` it is cleared when it is full, and holds no long texts.
    """

    def __init__(self, spec: Specification) -> None:
        super().__init__()
        self._value: Final = spec.MESSAGE.value

    def __missing__(self, text: str) -> Any:
        message = self._value(json.loads(text))
        self.keep(text, message)
        return message

    def keep(self, text: str, message: Any) -> None:
        """Keeps the message of a text."""
        if len(text) <= LONGEST_REMEMBERED:
            if len(self) >= MOST_REMEMBERED:
                self.clear()
            self[text] = message


class Node:
    """The replay of one node."""

    __slots__ = ("course", "events", "fingerprints", "recent")

    def __init__(self) -> None:
        self.events = 0
        self.course = Course()
        self.fingerprints = Fingerprints()
        self.recent: deque[str] = deque(maxlen=LINES_BEFORE)  #: its last lines before a divergence, the oldest first


def line_of_members(protocol: str, members: Members) -> Line:
    """Returns the line of its members."""
    run, node, seq, t_us, kind, peer, args, picks, effects, state = members
    parts = json.loads(args), _picks(picks), tuple(json.loads(effects))
    return Line(run, protocol, "", node, int(seq), int(t_us), kind, peer, *parts, state)


def _picks(text: str) -> Picks:
    picks: Picks = _PICKS.value(json.loads(text))
    return picks


# A line as `trace.Line.json` writes it, without escapes. A string has no bare quotes, so a name between commas is the name of
# a member; if it belongs to an inner member, the parts are not valid JSON and are not accepted.
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
