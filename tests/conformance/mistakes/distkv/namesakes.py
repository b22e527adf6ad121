"""Mistakes about what bears a node's own name, and about names that are nearly the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.conformance.mistakes.distkv.limits import BEATS, Beats, winner_by
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Pick
from peerproof.spec.distkv import transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Message, Update
from peerproof.spec.distkv.state import State

ON_MESSAGE = transitions.on_message


def taking_for_own(like: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to compare only this of a name with the own one."""

    def on_message(state: State, message: Message, pick: Pick) -> Next:
        head, *behind = message.chain.elements
        if like(head.node) == like(state.self_id) and not isinstance(message, Update):
            message = replace(message, chain=Chain((Element(state.self_id, head.tick), *behind), message.chain.cut))
        return ON_MESSAGE(state, message, pick)

    return {"transitions.on_message": on_message}


# -- names: bytes in their order, and nothing else ---------------------------------------------------------------------

Key = Callable[[str], Any]


def by_name(key: Key) -> Beats:
    """The order by names of which this is compared, where tocks and ticks are equal."""
    return lambda one, other: (
        key(one.head.node) < key(other.head.node)
        if (one.tock, one.head.tick) == (other.tock, other.head.tick)
        else BEATS(one, other)
    )


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "TakesCapitalsForItself": (
            "Takes a node for itself whose name differs in capitals. [DA-54]",
            taking_for_own(str.lower),
            "names-like-its-own",
        ),
        "TakesBlanksForItself": (
            "Takes a node for itself whose name differs in blanks. [DA-54]",
            taking_for_own(str.strip),
            "names-like-its-own",
        ),
        "HalfLettersOfPings": (
            "Compares names of who pings by units of 16 bits. [D-82, DA-35]",
            {"election.winner": winner_by(by_name(lambda name: name.encode("utf-16-be")))},
            "collision-by-many-names",
        ),
    },
)
__getattr__ = MISTAKES.find
