"""Mistakes about pings: which are accepted, and when a node pings itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import chains, pings
from peerproof.spec.distkv.chains import Chain, Claim
from peerproof.spec.distkv.messages import Ping
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.state import State, is_startup

wrong = Variants(__name__, Wrong)
AGREE = chains.agree
KIND_OF = pings.kind_of
WINNER = pings.winner


def judging(kind_of: Callable[..., Kind]) -> dict[str, Any]:
    """What is replaced to take pings for something else."""
    return {"election.kind_of": kind_of}


@wrong(judging, "both-next-and-collision")
def FollowsFirst(ping: Ping, last: Ping | None, tock: int | None) -> Kind:
    """Asks whether a ping is next before it asks whether it collides."""
    found = KIND_OF(ping, last, tock)
    return Kind.NEXT if found is Kind.COLLISION and last is not None and AGREE(ping.chain.prev, last.chain) else found


def _names(chain: Chain) -> Chain:
    return Chain(tuple(element._replace(tick=0) for element in chain.elements), chain.cut)


def winning(better: Callable[[Ping, Ping], bool]) -> dict[str, Any]:
    """What is replaced to have other winners."""
    return {"election.winner": lambda ping, last: ping if better(ping, last) else last}


@wrong(winning, "collision-with-one-without-a-tick")
def AbsentIsZero(ping: Ping, last: Ping) -> bool:
    """Takes a tick that is not there for 0."""
    heads = [one.chain.head._replace(tick=one.chain.head.tick or 0) for one in (ping, last)]
    return Claim(ping.tock, heads[0]).beats(Claim(last.tock, heads[1]))


@wrong("transitions.on_ping", "a-chain-after-a-start-up-ping")
def PassiveNodesCompare(right: Any, state: State, ping: Ping, pick: Pick) -> Any:
    """Keeps a start-up ping against a chain with a lower tock."""
    last = state.last
    if not state.participates and last is not None and is_startup(last) and WINNER(ping, last) is last:
        kind = KIND_OF(ping, last, state.heard.get(ping.chain.head.node))
        if kind is Kind.SPLIT:
            return Step(state)
    return right(state, ping, pick)


wrong |= {
    # Does not look at what it has heard from a sender.
    "KnowsNoStalePings: stale-and-like-the-next stale-and-like-a-split heard-of-a-start-up-ping": judging(
        lambda ping, last, _: KIND_OF(ping, last, None)
    ),
    # Takes a start-up ping for a split.
    "SeesASplitInEachStart: start-up-ping-changes-nothing start-up-ping-with-a-tick": judging(
        lambda ping, last, tock: Kind.SPLIT if (kind := KIND_OF(ping, last, tock)) is Kind.INITIAL else kind
    ),
    # Takes a ping of another chain for one that collides.
    "SeesNoSplits: split-won split-lost two-nodes-that-were-apart ends-where-the-other-goes-on": judging(
        lambda ping, last, tock: Kind.COLLISION if (kind := KIND_OF(ping, last, tock)) is Kind.SPLIT else kind
    ),
    # Compares the nodes of chains, and not their ticks.
    "ComparesNames: split-by-another-tick differs-before-the-cut": around(
        "chains.agree", lambda right, chain, other: right(_names(chain), _names(other))
    ),
    # Takes the ping that comes later.
    "LaterArrivalWins: collision-lost collision-by-tick-lost collision-by-name-lost split-lost the-own-ping-wins": winning(
        lambda _ping, _last: True
    ),
    # Keeps the ping that it has.
    "EarlierArrivalWins: collision-by-tock collision-by-tick collision-by-name split-won the-own-ping-loses": winning(
        lambda _ping, _last: False
    ),
    # Goes by the tick first.
    "HigherTickWins: collision-by-tock collision-lost": winning(
        lambda ping, last: ((ping.chain.head.tick or 0), ping.tock) > ((last.chain.head.tick or 0), last.tock)
    ),
    # Lets the tick 0 lose against any other.
    "ZeroLoses: collision-with-the-tick-zero a-new-node-pings-over-the-first": winning(
        lambda ping, last: (
            WINNER(ping, last) is ping if bool(ping.chain.head.tick) == bool(last.chain.head.tick) else bool(ping.chain.head.tick)
        )
    ),
}
__getattr__ = wrong.find
