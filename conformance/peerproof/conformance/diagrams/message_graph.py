"""
Message graphs: messages between nodes and events at nodes, for a terminal or as a Mermaid sequence diagram.

Vectors, failures, counterexamples and differences between graphs are all drawn from a `MessageGraph`. Of a long record only
an excerpt is drawn: a time range, some nodes, and at most a number of events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Final, NamedTuple

from peerproof.conformance.diagrams.labels import visible


class Arrow(NamedTuple):
    """A datagram, or another message, from one participant to another."""

    source: str
    target: str
    label: str
    judged: bool = False  #: an expectation, not an input
    lost: bool = False  #: it never arrives
    wrong: bool = False  #: it was sent and no expectation covers it, or it was expected and not sent; only the explorer shows it


class Note(NamedTuple):
    """An event at a node, or at all nodes (an empty name)."""

    node: str
    label: str
    wrong: bool = False  #: it should not be so; only the explorer shows it


@dataclass(frozen=True)
class MessageGraph:
    """Participants from left to right, and arrows and notes in order."""

    participants: tuple[str, ...]
    happenings: tuple[Arrow | Note, ...]

    def text(self) -> str:
        """Renders it for a terminal, one line an event: `->` is a datagram, `-x` a lost one, `=>` an expected one."""
        width = max(map(len, self.participants), default=0)
        lines = []
        for happening in self.happenings:
            match happening:
                case Arrow(source, target, label, judged, lost):
                    sign = "-x" if lost else "=>" if judged else "->"
                    lines.append(f"{source:>{width}} {sign} {target:{width}}  {label}")
                case Note(node, label):
                    lines.append(f"{node:>{width}}  . {'':{width}}  {label}")
        return visible("\n".join(line.rstrip() for line in lines))

    def mermaid(self) -> str:
        """Renders a Mermaid sequence diagram: dashed arrows are expected, a cross at the end is a loss."""
        lines = ["sequenceDiagram", *(f"    participant {self._alias(name)} as {_escape(name)}" for name in self.participants)]
        for happening in self.happenings:
            match happening:
                case Arrow(source, target, label, judged, lost):
                    arrow = _MERMAID_ARROWS[judged, lost]
                    lines.append(f"    {self._alias(source)}{arrow}{self._alias(target)}: {_escape(label)}")
                case Note(node, label):
                    ends = [node] if node else [self.participants[0], self.participants[-1]]
                    over = ",".join(dict.fromkeys(map(self._alias, ends)))
                    lines.append(f"    Note over {over}: {_escape(label)}")
        return "\n".join(lines)

    @classmethod
    def from_mermaid(cls, diagram: str) -> MessageGraph:
        """
        Reads what `mermaid` has rendered; line breaks within a label become blanks. Raises ValueError for any other line.

        >>> MessageGraph.from_mermaid(MessageGraph(("a", "b"), (Arrow("a", "b", "ping"),)).mermaid()).happenings
        (Arrow(source='a', target='b', label='ping', judged=False, lost=False, wrong=False),)
        """
        names: dict[str, str] = {}
        happenings: list[Arrow | Note] = []
        for line in map(str.strip, diagram.splitlines()):
            if found := _MERMAID_PARTICIPANT.fullmatch(line):
                names[found[1]] = _unescape(found[2])
            elif found := _MERMAID_NOTE.fullmatch(line):
                happenings.append(Note("" if found[2] else names[found[1]], _unescape(found[3])))
            elif found := _MERMAID_MESSAGE.fullmatch(line):
                (judged, lost) = next(kinds for kinds, arrow in _MERMAID_ARROWS.items() if arrow == found[2])
                happenings.append(Arrow(names[found[1]], names[found[3]], _unescape(found[4]), judged, lost))
            elif line != "sequenceDiagram":
                raise ValueError(f"not a line of a diagram that mermaid() renders: {line!r}")
        return cls(tuple(names.values()), tuple(happenings))

    def relabel(self, change: Callable[[str], str]) -> MessageGraph:
        """Returns the graph with other labels."""
        return MessageGraph(self.participants, tuple(each._replace(label=change(each.label)) for each in self.happenings))

    def _alias(self, name: str) -> str:
        """An alias, since Mermaid allows no colon in a participant's name."""
        return f"p{self.participants.index(name)}"


_MERMAID_ARROWS: Final = {(False, False): "->>", (True, False): "-->>", (False, True): "-x", (True, True): "--x"}


_MERMAID_PARTICIPANT: Final = re.compile(r"participant (p\d+) as (.*)")
_MERMAID_NOTE: Final = re.compile(r"Note over (p\d+)(,p\d+)?: ?(.*)")
_MERMAID_MESSAGE: Final = re.compile(rf"(p\d+)({'|'.join(_MERMAID_ARROWS.values())})(p\d+): ?(.*)")

#: Mermaid does not wrap lines, and scales a diagram with a long line down.
_MERMAID_WIDTH: Final = 60

#: Characters that end or break a label or begin a directive or formula, and Mermaid's own substitutes for `#` and `;`.
_MERMAID_SIGNS: Final = {ord(sign): f"#{ord(sign)};" for sign in "#;<%$ﬂ¶"}

#: Words before a colon that change a label, or make Mermaid drop a semicolon.
_MERMAID_WORDS: Final = re.compile(r"^(no)?wrap:|style|classDef")


def _escape(label: str) -> str:
    shown = visible(label).strip()
    signs = _MERMAID_SIGNS | ({ord(":"): "#58;"} if _MERMAID_WORDS.search(shown) else {})
    lines = wrap(shown, _MERMAID_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "<br/>".join(line.translate(signs) for line in lines)


def _unescape(label: str) -> str:
    return re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), label.replace("<br/>", " "))


#: The most events of a readable diagram.
MOST: Final = 200


#: The most names of nodes that are kept of those that are not drawn.
MOST_OTHERS: Final = 20


class Timed(NamedTuple):
    """An arrow or note with its time."""

    at: int  #: milliseconds from the beginning of the record
    happening: Arrow | Note


@dataclass
class Excerpt:
    """The part of a record to draw; afterwards, also how much was left out."""

    begin: int = 0  #: milliseconds from the beginning of the record
    end: int | None = None  #: the first millisecond that is not drawn
    nodes: Collection[str] = ()  #: draw only events that involve one of these nodes; empty: all
    most: int = MOST
    left_out: int = field(default=0, init=False)  #: matching events beyond `most`
    goes_on: int = field(default=0, init=False)  #: the time of the first of these
    others: dict[str, None] = field(default_factory=dict, init=False)  #: the first nodes that are not drawn, if only some are

    def has(self, at: int) -> bool:
        """Whether this time is drawn."""
        return self.begin <= at and (self.end is None or at < self.end)

    def graph(self, happenings: Iterable[Timed]) -> MessageGraph:
        """Returns the diagram of the selected events; the last note says how many are missing."""
        drawn: list[Arrow | Note] = []
        for at, happening in happenings:
            if not self.takes(at, (happening,)):
                continue
            if len(drawn) < self.most:
                drawn.append(happening)
            elif self.left_out == 0:
                self.left_out, self.goes_on = 1, at
            else:
                self.left_out += 1
        names = [name for each in drawn for name in _names(each) if name]
        if self.left_out:
            drawn.append(Note("", f"… {self.left_out:,} more, from {self.goes_on} ms on"))
        return MessageGraph(tuple(dict.fromkeys(names)), tuple(drawn))

    def takes(self, at: int, happenings: Iterable[Arrow | Note]) -> bool:
        """Returns True if some of this, at this time, is drawn. Keeps the names of nodes if not."""
        if not self.nodes:
            return self.has(at)
        names = [name for each in happenings for name in _names(each) if name]
        is_taken = self.has(at) and any(name in self.nodes for name in names)
        if not is_taken and len(self.others) < MOST_OTHERS:
            self.others.update(dict.fromkeys(names))
        return is_taken


def _names(happening: Arrow | Note) -> tuple[str, ...]:
    return (happening.source, happening.target) if isinstance(happening, Arrow) else (happening.node,)
