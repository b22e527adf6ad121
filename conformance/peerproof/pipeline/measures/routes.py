"""
Measurements of routed messages, from all nodes of a run: whether they are delivered, and at the right node.

A key belongs to the closest member at that instant. Logs do not show crashes: a node's membership ends at its last event if it
has started again, or if a message to it has failed after that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from peerproof.pipeline.measures.node_figures import DELIVERED, MEMBER, NO_MEMBER, ROUTED, UNREACHED
from peerproof.pipeline.measures.protocols import closest_of
from peerproof.pipeline.measures.sightings import Figure, Life, Sighting, round_of

#: A metric that this module yields, and its unit.
UNITS: Final = {"delivered": "share", "misdelivered": "share"}


class Span(NamedTuple):
    """A period of membership."""

    begin: int
    end: int | None  #: exclusive; None: until the end of the run


class Members:
    """The members of a run at each instant."""

    def __init__(self, rows: Iterable[Sighting], lives: Mapping[str, Sequence[Life]]) -> None:
        """`lives`: address -> lives of the node."""
        self.lasting: dict[str, int] = {}  #: addresses of the members at the end of the run, and the start of their last life
        self.names: dict[str, str] = {}  #: address -> last name
        self._spans: dict[str, list[Span]] = defaultdict(list)
        changes: dict[str, list[Sighting]] = defaultdict(list)
        missed: dict[str, int] = {}  #: address -> last failed message to it
        for row in rows:
            if row.what == UNREACHED:
                missed[row.subject] = max(missed.get(row.subject, 0), row.t_us)
            elif row.what in (MEMBER, NO_MEMBER):
                changes[row.node].append(row)
        for node, of_node in changes.items():
            self._add(sorted(of_node, key=lambda row: row.low or 0), lives.get(node, ()), missed.get(node, -1))

    def at(self, t_us: int) -> list[str]:
        """Returns the names of the members at an instant."""
        return [
            name
            for name, spans in self._spans.items()
            if any(span.begin <= t_us and (span.end is None or t_us < span.end) for span in spans)
        ]

    def _add(self, changes: Sequence[Sighting], lives: Sequence[Life], missed: int) -> None:
        ends: list[int | None] = [life.end + 1 for life in lives]
        if lives and missed <= lives[-1].end:
            ends[-1] = None
            self.lasting[lives[-1].node] = lives[-1].begun
        for place, row in enumerate(changes):
            self.names[row.node] = row.subject
            if row.what != MEMBER:
                continue
            of_life = next((end for life, end in zip(lives, ends, strict=True) if row.t_us <= life.end), None)
            following = changes[place + 1].t_us if place + 1 < len(changes) else None
            known = [end for end in (of_life, following) if end is not None]
            self._spans[row.subject].append(Span(row.t_us, min(known, default=None)))


def route_figures(
    rows: Sequence[Sighting], members: Members, numbers: Mapping[str, int], *, shared_clock: bool
) -> Iterator[Figure]:
    """
    Yields the figures of a message, or of several equal ones: whether each was delivered, and whether another member was closer.

    `numbers`: node -> microseconds of a round.
    """
    closest = closest_of(rows[0].protocol)
    asked = [row for row in rows if row.what == ROUTED]
    came = [row for row in rows if row.what == DELIVERED]
    for place, row in enumerate(asked):
        yield Figure("delivered", round_of(row, numbers), row.node, place < len(came))
    if not shared_clock:
        return
    for row in came:
        owner = closest(row.via or "", members.at(row.t_us))
        yield Figure("misdelivered", round_of(row, numbers), row.node, owner != members.names.get(row.node))
