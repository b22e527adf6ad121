"""Mistakes about pings: which are accepted, and when a node pings itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ON_PING, Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import chains, pings
from peerproof.spec.distkv.chains import Chain, Claim
from peerproof.spec.distkv.messages import Ping
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.state import State, is_startup

AGREE = chains.agree
KIND_OF = pings.kind_of
WINNER = pings.winner


def judging(kind_of: Callable[..., Kind]) -> dict[str, Any]:
    """What is replaced to take pings for something else."""
    return {"election.kind_of": kind_of}


def _next_first(ping: Ping, last: Ping | None, tock: int | None) -> Kind:
    found = KIND_OF(ping, last, tock)
    return Kind.NEXT if found is Kind.COLLISION and last is not None and AGREE(ping.chain.prev, last.chain) else found


def _names(chain: Chain) -> Chain:
    return Chain(tuple(element._replace(tick=0) for element in chain.elements), chain.cut)


def winning(better: Callable[[Ping, Ping], bool]) -> dict[str, Any]:
    """What is replaced to have other winners."""
    return {"election.winner": lambda ping, last: ping if better(ping, last) else last}


def _absent_is_zero(ping: Ping, last: Ping) -> bool:
    heads = [one.chain.head._replace(tick=one.chain.head.tick or 0) for one in (ping, last)]
    return Claim(ping.tock, heads[0]).beats(Claim(last.tock, heads[1]))


def _only_if_better(state: State, ping: Ping, pick: Pick) -> Next:
    last = state.last
    if not state.participates and last is not None and is_startup(last) and WINNER(ping, last) is last:
        kind = KIND_OF(ping, last, state.heard.get(ping.chain.head.node))
        if kind is Kind.SPLIT:
            return Step(state)
    return ON_PING(state, ping, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "KnowsNoStalePings": (
            "Does not look at what it has heard from a sender.",
            judging(lambda ping, last, _: KIND_OF(ping, last, None)),
            "stale-and-like-the-next stale-and-like-a-split heard-of-a-start-up-ping",
        ),
        "FollowsFirst": (
            "Asks whether a ping is next before it asks whether it collides.",
            judging(_next_first),
            "both-next-and-collision",
        ),
        "SeesASplitInEachStart": (
            "Takes a start-up ping for a split.",
            judging(lambda ping, last, tock: Kind.SPLIT if (kind := KIND_OF(ping, last, tock)) is Kind.INITIAL else kind),
            "start-up-ping-changes-nothing start-up-ping-with-a-tick",
        ),
        "SeesNoSplits": (
            "Takes a ping of another chain for one that collides.",
            judging(lambda ping, last, tock: Kind.COLLISION if (kind := KIND_OF(ping, last, tock)) is Kind.SPLIT else kind),
            "split-won split-lost two-nodes-that-were-apart ends-where-the-other-goes-on",
        ),
        "ComparesNames": (
            "Compares the nodes of chains, and not their ticks.",
            {"chains.agree": lambda chain, other: AGREE(_names(chain), _names(other))},
            "split-by-another-tick differs-before-the-cut",
        ),
        "LaterArrivalWins": (
            "Takes the ping that comes later.",
            winning(lambda _ping, _last: True),
            "collision-lost collision-by-tick-lost collision-by-name-lost split-lost the-own-ping-wins",
        ),
        "EarlierArrivalWins": (
            "Keeps the ping that it has.",
            winning(lambda _ping, _last: False),
            "collision-by-tock collision-by-tick collision-by-name split-won the-own-ping-loses",
        ),
        "HigherTickWins": (
            "Goes by the tick first.",
            winning(lambda ping, last: ((ping.chain.head.tick or 0), ping.tock) > ((last.chain.head.tick or 0), last.tock)),
            "collision-by-tock collision-lost",
        ),
        "AbsentIsZero": ("Takes a tick that is not there for 0.", winning(_absent_is_zero), "collision-with-one-without-a-tick"),
        "ZeroLoses": (
            "Lets the tick 0 lose against any other.",
            winning(
                lambda ping, last: (
                    WINNER(ping, last) is ping
                    if bool(ping.chain.head.tick) == bool(last.chain.head.tick)
                    else bool(ping.chain.head.tick)
                )
            ),
            "collision-with-the-tick-zero a-new-node-pings-over-the-first",
        ),
        "PassiveNodesCompare": (
            "Keeps a start-up ping against a chain with a lower tock.",
            {"transitions.on_ping": _only_if_better},
            "a-chain-after-a-start-up-ping",
        ),
    },
)
__getattr__ = MISTAKES.find
