"""Any order of events: one node among hostile peers, and some over a network that loses, doubles, delays and is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.campaigns import CHOSEN, searched

from peerproof.conformance.fuzz.findings import HAPPENINGS, render_finding
from peerproof.conformance.fuzz.inputs.inputs import inputs_of
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Specified
from peerproof.conformance.fuzz.search_settings import Profile
from peerproof.spec.core import Instant, NodeId, Notify, Pick, Step, Table
from peerproof.spec.distkv import Phase, election, transitions
from peerproof.spec.distkv import State as StoreState
from peerproof.spec.distkv import entries as stored_entries
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.entries import Applied
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import Update, tree
from peerproof.spec.peter import topics as of_topics
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt import DeltaEntry, Peer, State, Versioned, reconcile
from peerproof.spec.scuttlebutt import transitions as gossiping
from peerproof.spec.swim import Message, Row, Uuid, detector, gossip, rounds
from peerproof.spec.swim import State as MemberState
from peerproof.spec.swim import transitions as membership
from peerproof.spec.swim.messages import ClusterEventVector
from peerproof.spec.swim.state import Queued
from peerproof.spec.swim.table import Claim
from peerproof.spec.wendy import Id


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "times"), [("scuttlebutt", 1), ("swim", 2), ("peter", 1), ("distkv", 1)])
def test_one_node_among_hostile_peers_keeps_every_property(protocol: str, times: int) -> None:
    campaign = searched(protocol, 1, CHOSEN._replace(runs=times * CHOSEN.runs))

    assert campaign.finding is None, render_finding(inputs_of(protocol).spec, campaign.finding)
    assert [what for what in ("malformed", "forged", "call", "crash", "restart") if not campaign.counts[what]] == []


#: How many nodes, what cannot happen to them, what happens besides, and a seed with which nearly all happens at once.
#: Scuttlebutt's nodes are in `test_node_search.py`.
SEVERAL: dict[str, tuple[int, set[str], set[str], int]] = {
    "swim": (4, {"unconfirmed"}, set(), 8),
    "peter": (5, {name for name, _ in HAPPENINGS}, set(), 0),
    "distkv": (5, {"unconfirmed"}, {"fetch"}, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", SEVERAL)
def test_several_nodes_over_any_network_keep_every_property_and_everything_does_happen(protocol: str) -> None:
    nodes, impossible, more, first = SEVERAL[protocol]
    specification = PROTOCOLS[protocol].specification.load()
    names = more | ({name for name, _ in HAPPENINGS} - impossible)
    names |= {p.name for p in specification.PROPERTIES if p.when == "sometimes"}

    campaign = searched(protocol, nodes, seeds=30, enough=lambda c: all(c.counts[name] for name in names), first=first)

    assert campaign.finding is None, render_finding(specification, campaign.finding)
    assert [name for name in names if not campaign.counts[name]] == []


def newest_first(addr: NodeId, peer: Peer, version: int) -> list[DeltaEntry]:
    """Pairs in the wrong order, so that a cut leaves a gap (BX-05)."""
    return NEWER_PAIRS(addr, peer, version)[::-1]


def believing(state: State, now: Instant, entries: Iterable[Any]) -> Any:
    """Stores unknown peers at the version of the digest."""
    entries = list(entries)
    learned, joins = LEARNED(state, now, entries)
    ahead = {entry.addr: Peer(Table(), entry.version) for entry in entries if entry.addr not in state.store}
    return replace(learned, store=learned.store.put(ahead)), joins


def unlimited(entries: Iterable[Any], size: Callable[[Any], int], limit: int) -> Iterable[Any]:
    """Fills every datagram, however full."""
    return entries


def careless(peer: Peer, pairs: Iterable[DeltaEntry]) -> Any:
    """Takes whatever comes for news."""
    pairs = tuple(pairs)
    rows = {pair.key: Versioned(pair.value, pair.version) for pair in pairs}
    return Peer(peer.pairs.put(rows), max([peer.version, *(pair.version for pair in pairs)])), pairs


def every_event(state: MemberState, said: ClusterEventVector) -> MemberState:
    """Keeps older events about the same node (SD-08)."""
    return replace(state, queue=(*state.queue, Queued(said, frozenset())))


def any_news(row: Row, claim: Claim) -> Row:
    """Whatever comes last is believed."""
    return replace(row, status=claim.status, incarnation=claim.incarnation)


def blaming(state: MemberState, pick: Pick) -> Any:
    """Never looks for the fault in itself (SD-12)."""
    return CLOSED(replace(state, heard=True), pick)


def never_past(state: MemberState, message: Message) -> bool:
    """Believes messages from the past."""
    return False


def uncounted(state: MemberState) -> MemberState:
    """Sends without counting."""
    return state


def undead(state: MemberState, node: Uuid, row: Row) -> MemberState:
    """Dead after one indirect miss."""
    return SETTLED(state, node, replace(row, indirect_misses=1) if row.indirect_asked else row)


def twice(state: of_topics.State, topic: Id, row: of_topics.Row, seek: Any) -> Any:
    """Who becomes interested asks twice (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after, effects * 2)


def for_good(state: of_topics.State, topic: Id, row: of_topics.Row, seek: Any) -> Any:
    """What nobody wants any more is kept (PA-04)."""
    after, effects = TURNED(state, topic, row, seek)
    return Step(after if row.is_wanted else replace(after, topics=after.topics.put({topic: row})), effects)


def everybody(state: of_topics.State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Any:
    """Who is in the tree gets the event, subscribed or not (PA-17)."""
    after, effects = SPREAD(state, topic, value, hop, source)
    return Step(after, (Notify(Update(topic, value)), *[e for e in effects if not isinstance(e, Notify)]))


def unbounded(entry: Any, update: Any, most: int) -> Applied:  # as of `apply`
    """Stored chains have no bound (DD-07)."""
    return APPLY(entry, update, 99)


def unraised(state: StoreState, make: Any) -> Any:
    """Messages have the tock that the last one had."""
    message, (_, effects) = ORIGINATE(replace(state, tock=max(state.tock - 1, 0)), make)
    return message, Step(state, effects)


def always_ready(state: StoreState) -> Any:
    """Who has downloaded is ready, whatever is missing (D-124)."""
    return Step(replace(state, phase=Phase.READY)) if state.phase is Phase.EMPTY else Step(state)


def zeros_may_ping(chain: Chain) -> bool:
    """The tick zero keeps nobody from pinging (D-107)."""
    return len(chain.elements) > 0


NEWER_PAIRS, LEARNED = reconcile.newer_pairs, gossiping.add_peers
CLOSED, SETTLED = detector.close_round, detector.settle_row
TURNED, SPREAD = tree.update_row, tree.fan_out
APPLY, ORIGINATE = stored_entries.apply, election.originate  # type: ignore[attr-defined]  # it has imported it

#: Protocol, where, name, what it is replaced by, the property that must find it. Three more are in `test_node_search.py`.
MISTAKES: list[tuple[str, Any, str, Any, str]] = [
    ("scuttlebutt", gossiping, "merge", careless, "(Monotone|VersionIsMax)"),
    ("swim", gossip, "enqueue", every_event, "QueueLast"),
    ("swim", gossip, "merge", any_news, "Monotone"),
    ("swim", rounds, "close_round", blaming, "IsolationQuiet"),
    ("swim", membership, "is_past", never_past, "PastIgnored"),
    ("swim", gossip, "count_datagram", uncounted, "CounterGrows"),
    ("swim", detector, "settle_row", undead, "DeadOnlyAfterSuspicious"),
    ("peter", tree, "update_row", twice, "Alternate"),
    ("peter", tree, "update_row", for_good, "RowsRight"),
    ("peter", tree, "fan_out", everybody, "DeliveredToSubscribers"),
    ("distkv", stored_entries, "apply", unbounded, "ChainsBounded"),
    ("distkv", election, "originate", unraised, "TockRises"),
    ("distkv", transitions, "check_settled", always_ready, "ReadyWithData"),
    ("distkv", election, "zero_may_ping", zeros_may_ping, "ZeroIsSilent"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "module", "name", "wrong", "found"), MISTAKES, ids=[f"{row[0]} {row[3].__name__}" for row in MISTAKES]
)
def test_a_wrong_step_is_found(protocol: str, module: Any, name: str, wrong: Any, found: str) -> None:
    with overriding(names_in(module, **{name: wrong})):
        campaign = searched(protocol, 4, Profile(100, 60), seeds=10)

    assert campaign.finding is not None
    assert campaign.finding.name in found.strip("()").split("|")


@pytest.mark.slow
def test_a_swim_node_that_forgets_its_counter_is_behind_what_others_know() -> None:
    """OwnAhead is promised for nodes that keep it only (SX-09)."""
    inputs = replace(inputs_of("swim"), survives={"OwnAhead": frozenset({"restart", "forgetting"})})
    campaign = Campaign(inputs, Specified(), nodes=2, faults=frozenset({"crash", "forgetting"}))

    for seed in range(10):
        campaign.search(Profile(100, 40), seed)
        if campaign.finding:
            break

    assert campaign.finding is not None
    assert campaign.finding.name == "OwnAhead"
