"""Mistakes about pings: which are accepted, and when a node pings itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ON_PING, Next
from peerproof.spec.core import Notify, Pick, Step
from peerproof.spec.distkv import chains, pings
from peerproof.spec.distkv.chains import Chain, Claim
from peerproof.spec.distkv.messages import Ping, SplitHealed
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.state import State, is_startup

AGREE = chains.agree
KIND_OF = pings.kind_of
WINNER = pings.winner


def judging(kind_of: Callable[..., Kind]) -> dict[str, Any]:
    """What is replaced to take pings for something else."""
    return {"election.kind_of": kind_of}


class HearsWhatItAccepts(Wrong):
    """Remembers the tocks of pings that it accepts only."""

    caught_by: ClassVar = ("heard-of-a-loser", "heard-of-a-start-up-ping")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With what it had heard."""
        after, effects = super().step(state, event, pick)
        return Step(after if after.last is not state.last else replace(after, heard=state.heard), effects)


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


class PassiveNodesTakeAnything(Wrong):
    """Takes every chain as long as it has no data."""

    caught_by: ClassVar = ("another-chain-while-passive-loses",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Accepts it."""
        message = getattr(event, "message", None)
        if isinstance(message, Ping) and not state.participates and not is_startup(message):
            state = replace(state, last=None)
        return super().step(state, event, pick)


class PassiveNodesRecover(Wrong):
    """Sees splits before it participates."""

    caught_by: ClassVar = ("another-chain-while-passive-wins", "a-chain-after-a-start-up-ping")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """And tells of them."""
        after, effects = super().step(state, event, pick)
        is_split = isinstance(getattr(event, "message", None), Ping) and state.last is not None and not state.participates
        if is_split and KIND_OF(event.message, state.last, state.heard.get(event.message.chain.head.node)) is Kind.SPLIT:
            effects = (*effects, Notify(SplitHealed()))
        return Step(after, effects)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "KnowsNoStalePings": (
            "Does not look at what it has heard from a sender.",
            judging(lambda ping, last, _: KIND_OF(ping, last, None)),
            "stale-and-like-the-next stale-and-like-a-split heard-of-a-start-up-ping",
        ),
        "OneTockForAll": (
            "Takes a ping below the last tock for stale, whoever sends it.",
            judging(
                lambda ping, last, tock: Kind.STALE if last is not None and ping.tock < last.tock else KIND_OF(ping, last, tock)
            ),
            "next-with-a-lower-tock each-sender-by-itself a-chain-after-a-start-up-ping",
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
        "ComparesWhatIsThere": (
            "Takes chains for equal only if they are, with their ends.",
            {"chains.agree": lambda chain, other: chain == other},
            "the-same-up-to-the-cut last-was-cut longer-and-then-the-next reason-that-is-the-own-chain-up-to-the-cut",
        ),
        "ComparesTheShorter": (
            "Compares chains as far as both go, wherever they end.",
            {
                "chains.agree": lambda chain, other: all(
                    one == two for one, two in zip(chain.elements, other.elements, strict=False)
                )
            },
            "ends-where-the-other-goes-on goes-on-where-the-other-ends",
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
        "HigherNameWins": (
            "Has the higher name win.",
            winning(
                lambda ping, last: (
                    (ping.tock, ping.chain.head.tick or 0, ping.chain.head.node)
                    > (last.tock, last.chain.head.tick or 0, last.chain.head.node)
                )
            ),
            "collision-by-name-lost collision-by-name split-by-name two-new-nodes-the-lower-name",
        ),
        "IgnoresCapitalsOfNodes": (
            "Compares names as if they were in small letters.",
            winning(
                lambda ping, last: (
                    WINNER(ping, last) is ping and ping.chain.head.node.casefold() != last.chain.head.node.casefold()
                )
            ),
            "collision-of-bytes",
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
