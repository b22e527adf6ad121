"""Who plays the nodes of a run, and what is known of each; here the specification plays them itself."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from peerproof.conformance.adapter.choices import Choices
from peerproof.conformance.fuzz.findings import Fed, Finding, Found
from peerproof.conformance.fuzz.reaction import Birth, Node, Reaction, Stimulus, react
from peerproof.spec.core import Instant, NodeId, Option, Pick, Send
from peerproof.spec.forms.form import Plain


@dataclass
class Place:
    """One node of a run."""

    birth: Birth
    possible: tuple[Node, ...] = ()  #: what it can be, as far as can be seen from outside; nothing if it is down
    complete: bool = True  #: whether it can be nothing else
    fed: list[Fed] = field(default_factory=list)  #: everything that happened to it
    handle: Any = None  #: an implementation's
    next_timer: Instant | None = None  #: when an implementation wants to be woken
    kept: Mapping[str, Plain] = field(default_factory=dict)  #: what it has kept when it crashed, as in `Inputs.kept`

    @property
    def addr(self) -> NodeId:
        """What it is called."""
        return self.birth.self_id

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return bool(self.possible)

    @property
    def due(self) -> Instant | None:
        """When something happens by itself, or may happen."""
        instants = [*(node.due for node in self.possible), self.next_timer] if self.up else []
        return min((instant for instant in instants if instant is not None), default=None)


class Seen(NamedTuple):
    """What came of a stimulus."""

    reactions: tuple[Reaction, ...]  #: of the specification, each of which can be what happened
    sent: tuple[tuple[NodeId, bytes], ...]
    complete: bool = True


class Player:
    """Plays all nodes of a run."""

    def begin(self, seed: str) -> None:
        """A run begins; what the nodes draw by lot follows from the seed. Raises Over."""

    def clamp_config(self, config: Any) -> Any:
        """The configuration, within what the nodes can be configured to."""
        return config

    def feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        """Something happens to a node. Raises Found, GivenUp."""
        raise NotImplementedError

    def crash(self, place: Place) -> None:
        """A node is gone until it is started again. Raises Found."""

    def end(self, places: Collection[Place]) -> None:
        """The run has ended. Never raises."""


class Specified(Player):
    """The specification itself. It can be configured to anything that is legal."""

    def feed(self, place: Place, stimulus: Stimulus, now: Instant, choices: Choices) -> Seen:
        """One step; whatever it raises is found."""
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
            raise Found(Finding("unreadable", "a message is another one after it was encoded and decoded"))
        return Seen((reaction,), sent)


def picking(choices: Choices) -> Pick:
    """Chance as a stream of answers, which are kept; what has one answer is no question."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        options = sorted(among)
        some = min(some, len(options))
        if len(options) <= 1:
            return tuple(options[:some])
        places = choices.answer({"site": why, "of": options, "kind": "sample", "some": some})
        return tuple(options[place] for place in places)

    return pick
