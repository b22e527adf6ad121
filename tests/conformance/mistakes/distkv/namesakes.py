"""Mistakes about what bears a node's own name, and about names that are nearly the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.conformance.mistakes.distkv.limits import BEATS, Beats, winner_by
from tests.support.variant import Variants, around

from peerproof.spec.core import Pick
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Message, Update
from peerproof.spec.distkv.state import State

wrong = Variants(__name__, Wrong)


def taking_for_own(like: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to compare only this of a name with the own one."""

    def on_message(right: Any, state: State, message: Message, pick: Pick) -> Any:
        head, *behind = message.chain.elements
        if like(head.node) == like(state.self_id) and not isinstance(message, Update):
            message = replace(message, chain=Chain((Element(state.self_id, head.tick), *behind), message.chain.cut))
        return right(state, message, pick)

    return around("transitions.on_message", on_message)


# -- names: bytes in their order, and nothing else ---------------------------------------------------------------------

Key = Callable[[str], Any]


def by_name(key: Key) -> Beats:
    """The order by names of which this is compared, where tocks and ticks are equal."""
    return lambda one, other: (
        key(one.head.node) < key(other.head.node)
        if (one.tock, one.head.tick) == (other.tock, other.head.tick)
        else BEATS(one, other)
    )


wrong |= {
    # Takes a node for itself whose name differs in capitals. [DA-54]
    "TakesCapitalsForItself: names-like-its-own": taking_for_own(str.lower),
    # Takes a node for itself whose name differs in blanks. [DA-54]
    "TakesBlanksForItself: names-like-its-own": taking_for_own(str.strip),
    # Compares names of who pings by units of 16 bits. [D-82, DA-35]
    "HalfLettersOfPings: collision-by-many-names": {"election.winner": winner_by(by_name(lambda name: name.encode("utf-16-be")))},
}
__getattr__ = wrong.find
