"""What of a long record is drawn: a time, some nodes, and no more happenings than one can look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note

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
