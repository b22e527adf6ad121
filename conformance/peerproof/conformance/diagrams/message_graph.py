"""
Message graphs: who told whom what, and what happened at whose place, for a terminal or as a Mermaid sequence diagram.

Vectors, failures, counterexamples and differences between graphs are all drawn here: each is a `MessageGraph` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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
