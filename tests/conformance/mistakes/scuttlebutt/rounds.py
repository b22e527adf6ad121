"""Mistakes in when a round comes, who is asked in it, and what a restart leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around, sending, without_effects

from peerproof.spec.core import Expired, Instant, NodeId, Pick, Send, SetTimer
from peerproof.spec.scuttlebutt import transitions
from peerproof.spec.scuttlebutt.messages import DigestRequest, DigestResponse
from peerproof.spec.scuttlebutt.state import DEFAULT_INTERVAL, State
from peerproof.spec.scuttlebutt.transitions import Next

wrong = Variants(__name__, Wrong)
Targets = Callable[[State, Instant, Pick], Iterator[NodeId]]
_IS_CRITICAL = transitions.is_critical


def _others(state: State) -> list[NodeId]:
    return [addr for addr in state.store if addr != state.self_id]


def _targets(
    *,
    alone: Callable[[list[NodeId]], Iterable[NodeId]] = lambda seeds: seeds,
    partners: Callable[[State], list[NodeId]] = _others,
    unknown: Callable[[State], Iterable[NodeId]] = lambda state: set(state.config.seeds) - set(state.store),
    seeds: Callable[[list[NodeId], Pick], Iterable[NodeId]] = lambda seeds, pick: pick("round.seed", seeds),
    critical: Callable[[list[NodeId], NodeId], Iterable[NodeId]] = lambda critical, _: critical,
    order: Callable[[list[list[NodeId]]], list[list[NodeId]]] = lambda parts: parts,
) -> Targets:
    """`round_targets` with one part of it done otherwise."""

    def targets(state: State, now: Instant, pick: Pick) -> Iterator[NodeId]:
        unknown_seeds = sorted(unknown(state))
        if not partners(state):
            yield from alone(unknown_seeds)
            return
        (partner,) = pick("round.partner", partners(state))
        asked = [*seeds(unknown_seeds, pick)] if unknown_seeds else []
        silent = [addr for addr in _others(state) if _IS_CRITICAL(state, addr, now)]
        for part in order([[partner], asked, [*critical(silent, partner)]]):
            yield from part

    return targets


class NotTheSameTwice(Wrong):
    """Never takes the same partner in two rounds that follow each other."""

    caught_by: ClassVar = ("partner-is-picked-anew-each-round",)

    def __init__(self) -> None:
        super().__init__()
        self._last: NodeId | None = None

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Goes on to the next."""
        step = super().step(state, event, pick)
        others = _others(state)
        first = next((effect for effect in step.effects if isinstance(effect, Send)), None)
        if not isinstance(event, Expired) or first is None or len(others) < 2:
            return step
        if first.to == self._last:
            partner = next(addr for addr in others if addr != self._last)
            step = step._replace(effects=(replace(first, to=partner), *step.effects[1:]))
            self._last = partner
        else:
            self._last = first.to
        return step


class AsksInText(Wrong):
    """Asks the runner to choose among addresses in which every byte that is not UTF-8 is replaced, as Go's encoding/json does."""

    caught_by: ClassVar = ("partner-picked-has-an-address-that-is-not-utf-8",)

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Replaces bytes in the options of each question."""

        def ask(question: dict[str, Any]) -> list[int]:
            options = [
                bytes.fromhex(option["hex"]).decode("utf-8", "replace") if isinstance(option, dict) else option
                for option in question["of"]
            ]
            return choose(question | {"of": options})

        return super().handle(request, ask)


class RemembersItself(Wrong):
    """Keeps its store over a restart, which the text does not know of; vectors show what a fresh start does."""

    caught_by: ClassVar = ("restarted-node-is-empty", "restarted-node-counts-from-1", "restarted-owner-is-not-believed")

    def __init__(self) -> None:
        super().__init__()
        self._restarting = False
        self._last: dict[NodeId, State] = {}

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Sees whether it is a restart."""
        self._restarting = request.get("op") == "restart"
        return super().handle(request, choose)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """The last state, if there is one."""
        step = super().initial(self_id, config)
        return step._replace(state=self._last[self_id]) if self._restarting and self_id in self._last else step

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Remembers."""
        step = super().step(state, event, pick)
        self._last[state.self_id] = step.state
        return step


wrong |= {
    # Opens a round with a digest of the wrong kind, which gets no digest for an answer.
    "SendsResponses: rounds-come-at-the-interval long-silence-is-critical": sending(
        DigestRequest, lambda request, _: DigestResponse(request.entries)
    ),
    # Gossips once and never again.
    "OneRound: rounds-come-at-the-interval partner-is-picked-anew-each-round update-spreads": around(
        "step",
        lambda right, state, event, pick: without_effects(right(state, event, pick), lambda effect: isinstance(effect, SetTimer)),
    ),
    # Has a round a second, whatever is configured.
    "OneRateForAll: rounds-come-at-the-configured-rate": around(
        "initial", lambda right, self_id, config: right(self_id, replace(config, interval=DEFAULT_INTERVAL))
    ),
    # Lists only the others in its digests.
    "LeavesItselfOut: request-lists-self-and-peers request-to-seeds-tells-the-own-version two-nodes-agree": around(
        "transitions.digest", lambda right, state, order: right(state, [addr for addr in order if addr != state.self_id])
    ),
    # Lists peers in the order of their addresses, so that under a limit the last ones are never listed.
    "NotShuffled: request-is-shuffled request-with-limit-14 request-stops-at-what-does-not-fit": around(
        "transitions.digest", lambda right, state, _: right(state, state.store)
    ),
    # Does not leave itself out when it picks a partner.
    "GossipsWithItself: node-alone-without-seeds-is-silent self-is-never-critical": {
        "transitions.round_targets": _targets(partners=lambda state: [*state.store])
    },
    # Takes the first known peer for its partner in every round.
    "AlwaysTheFirst: partner-picked-is-asked-c partner-is-picked-anew-each-round": {
        "transitions.round_targets": _targets(partners=lambda state: _others(state)[:1])
    },
    # Asks its own address if that is one of its seeds.
    "AsksItself: own-address-as-the-only-seed own-address-among-unknown-seeds no-known-peers-asks-all-seeds": {
        "transitions.round_targets": _targets(unknown=lambda state: set(state.config.seeds) - set(_others(state)))
    },
    # Asks a seed in every round, though it is known.
    "SeedsForEver: known-seed-is-an-ordinary-peer seed-that-becomes-known-is-asked-no-more": {
        "transitions.round_targets": _targets(unknown=lambda state: set(state.config.seeds) - {state.self_id})
    },
    # Asks one of the critical peers.
    "OneCriticalPeer: every-critical-peer-is-asked": {
        "transitions.round_targets": _targets(critical=lambda critical, _: critical[:1])
    },
    # Does not ask a critical peer that is the partner a second time.
    "CriticalPartnerOnce: long-silence-is-critical every-critical-peer-is-asked critical-by-default-above": {
        "transitions.round_targets": _targets(critical=lambda critical, partner: [addr for addr in critical if addr != partner])
    },
    # Asks everybody as soon as one peer is critical.
    "AllCriticalIfOneIs: only-the-silent-peer-is-critical": around(
        "transitions.is_critical", lambda right, state, _, now: any(right(state, addr, now) for addr in _others(state))
    ),
}
__getattr__ = wrong.find
