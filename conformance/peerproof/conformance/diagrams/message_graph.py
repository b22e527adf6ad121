"""
Message graphs: who told whom what, and what happened at whose place, for a terminal or as a Mermaid sequence diagram.

Vectors, failures, counterexamples and differences between graphs are all drawn here: each is a `MessageGraph` first. Of a long
record an excerpt is drawn: a time, some nodes, and no more happenings than one can look at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Final, NamedTuple

from peerproof.conformance.diagrams.labels import visible


class Arrow(NamedTuple):
    """A datagram, or another message, from one to another."""

    source: str
    target: str
    label: str
    judged: bool = False  #: an expectation, not an input
    lost: bool = False  #: it never arrives


class Note(NamedTuple):
    """Something that happens at a node, or at all of them (an empty name)."""

    node: str
    label: str


@dataclass(frozen=True)
class MessageGraph:
    """Participants from left to right, and what happens, in order."""

    participants: tuple[str, ...]
    happenings: tuple[Arrow | Note, ...]

    def text(self) -> str:
        """For a terminal, a line for each happening: `->` is a datagram, `-x` a lost one, `=>` an expected one."""
        width = max(map(len, self.participants), default=0)
        lines = []
        for happening in self.happenings:
            match happening:
                case Arrow(source, target, label, judged, lost):
                    sign = "-x" if lost else "=>" if judged else "->"
                    lines.append(f"{source:>{width}} {sign} {target:{width}}  {label}")
                case Note(node, label):
                    lines.append(f"{node:>{width}}  . {'':{width}}  {label}")
        return "\n".join(line.rstrip() for line in lines)

    def mermaid(self) -> str:
        """A Mermaid sequence diagram: dashed arrows are expected, a cross at the end is a loss."""
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

    def _alias(self, name: str) -> str:
        """Mermaid takes no colon in a participant's name."""
        return f"p{self.participants.index(name)}"


_MERMAID_ARROWS: Final = {(False, False): "->>", (True, False): "-->>", (False, True): "-x", (True, True): "--x"}


#: Mermaid breaks no lines by itself, and a picture with one long line is a small one.
_MERMAID_WIDTH: Final = 60

#: What ends a label, breaks its line, begins a directive or a formula, or is what Mermaid itself has in place of `#` and `;`.
_MERMAID_SIGNS: Final = {ord(sign): f"#{ord(sign)};" for sign in "#;<%$ﬂ¶"}

#: Words that say something of the label, or let Mermaid drop a semicolon, if a colon comes after them.
_MERMAID_WORDS: Final = re.compile(r"^(no)?wrap:|style|classDef")


def _escape(label: str) -> str:
    shown = visible(label).strip()
    signs = _MERMAID_SIGNS | ({ord(":"): "#58;"} if _MERMAID_WORDS.search(shown) else {})
    lines = wrap(shown, _MERMAID_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "<br/>".join(line.translate(signs) for line in lines)


#: More happenings than these are a picture that nobody reads.
MOST: Final = 200


class Timed(NamedTuple):
    """A happening, and when."""

    at: int  #: milliseconds from the beginning of the record
    happening: Arrow | Note


@dataclass
class Excerpt:
    """What to draw; afterwards, what of that was left out."""

    begin: int = 0  #: milliseconds from the beginning of the record
    end: int | None = None  #: the first that is not drawn
    nodes: Collection[str] = ()  #: what happens at one of these, or between it and anybody; without any, all
    most: int = MOST
    left_out: int = field(default=0, init=False)  #: happenings of this time and these nodes, beyond `most`
    goes_on: int = field(default=0, init=False)  #: when the first of these is

    def has(self, at: int) -> bool:
        """Whether it is of the time that is drawn."""
        return self.begin <= at and (self.end is None or at < self.end)

    def graph(self, happenings: Iterable[Timed]) -> MessageGraph:
        """The picture of those that are to be drawn; the last note says how many are missing."""
        drawn: list[Arrow | Note] = []
        for at, happening in happenings:
            if not self.has(at) or not self._concerns(happening):
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

    def _concerns(self, happening: Arrow | Note) -> bool:
        return not self.nodes or any(name in self.nodes for name in _names(happening))


def _names(happening: Arrow | Note) -> tuple[str, ...]:
    return (happening.source, happening.target) if isinstance(happening, Arrow) else (happening.node,)
