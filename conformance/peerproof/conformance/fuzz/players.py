"""The players that run the nodes, and the known state of each node; the specification as a player."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.fuzz.findings import Fed, Finding, Found
from peerproof.conformance.fuzz.reaction import Birth, Node, Reaction, Stimulus, react
from peerproof.conformance.traces.other_readings import Taken
from peerproof.spec.core import Instant, NodeId, Option, Pick, Send
from peerproof.spec.forms.form import Plain


@dataclass
class Place:
    """One node of a run."""

    birth: Birth
    possible: tuple[Node, ...] = ()  #: its possible states, as far as visible from outside; empty if it is down
    complete: bool = True  #: no other state is possible
    fed: list[Fed] = field(default_factory=list)  #: all its inputs
    shown: dict[int, Any] = field(default_factory=dict)  #: what an implementation showed, by index of the input
    handle: Any = None  #: an implementation's
    next_timer: Instant | None = None  #: when an implementation has its next timer
    kept: Mapping[str, Plain] = field(default_factory=dict)  #: what it kept when it crashed, as in `Inputs.kept`

    @property
    def addr(self) -> NodeId:
        """The address of the node."""
        return self.birth.self_id

    @property
    def up(self) -> bool:
        """True if the node runs."""
        return bool(self.possible)

    @property
    def due(self) -> Instant | None:
        """The earliest time at which a timer runs out, or may run out."""
        instants = [*(node.due for node in self.possible), self.next_timer] if self.up else []
        return min((instant for instant in instants if instant is not None), default=None)


class Seen(NamedTuple):
    """The observed result of a stimulus."""

    reactions: tuple[Reaction, ...]  #: reactions of the specification that can explain it
    sent: tuple[tuple[NodeId, bytes], ...]
    complete: bool = True


class Player:
    """Runs all nodes of a run."""

    taken: Taken = ()  #: the other readings of the document by which the nodes are judged

    def begin(self, seed: str) -> None:
        """Begins a run; the random choices of the nodes follow from the seed. Raises Over."""

    def clamp_config(self, config: Any) -> Any:
        """Returns the configuration within the limits of the nodes."""
        return config

    def feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        """Passes a stimulus to a node. Raises Found, GivenUp."""
        raise NotImplementedError

    def crash(self, place: Place) -> None:
        """Crashes a node until it is started again. Raises Found."""

    def end(self, places: Collection[Place]) -> None:
        """Ends the run. Never raises."""


class Specified(Player):
    """The specification as a player. It takes every legal configuration."""

    def feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        """Takes one step; any exception is a finding."""
        node = place.possible[0] if place.up else None
        codec = place.birth.spec.MESSAGE
        try:
            reaction = react(place.birth, node, stimulus, now, picking(choices))
            sends = [effect for effect in reaction.effects if isinstance(effect, Send)]
            sent = tuple((send.to, codec.encode(send.message)) for send in sends)
            read = [codec.decode(data) for _, data in sent]
        except Exception as error:
            detail = "".join(traceback.format_exception_only(error)).strip()
            raise Found(Finding("raised", detail, name=type(error).__name__, errors=traceback.format_exc())) from error
        if read != [send.message for send in sends]:
            raise Found(Finding("unreadable", "a message changes when it is encoded and decoded"))
        return Seen((reaction,), sent)


def picking(choices: Choices) -> Pick:
    """Returns a `Pick` that answers from `choices`, which records the answers; a choice with one option is not asked."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        options = sorted(among)
        some = min(some, len(options))
        if len(options) <= 1:
            return tuple(options[:some])
        places = choices.answer({"site": why, "of": options, "kind": "sample", "some": some})
        return tuple(options[place] for place in places)

    return pick
