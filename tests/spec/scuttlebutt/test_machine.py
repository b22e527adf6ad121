"""Any order of events: one node among hostile peers, and three nodes over a network that loses, doubles and reorders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from peerproof.conformance.fuzz.strategies import datagrams, values
from peerproof.spec.core import Asked, Duration, Expired, Instant, NodeId, Option, Pick, Received, Send, Table
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.properties import Cluster, InFlight, Taken, find_violations
from peerproof.spec.scuttlebutt import (
    MESSAGE,
    PROPERTIES,
    QUERIES,
    Config,
    DeltaEntry,
    Detector,
    Event,
    Message,
    Peer,
    Round,
    State,
    UpdateLocal,
    Versioned,
    initial,
    reconcile,
    step,
    transitions,
)

A, B, C = NodeId("a:1"), NodeId("b:1"), NodeId("c:1")
ADDRESSES = st.sampled_from([A, B, C, NodeId("d:1"), NodeId(""), NodeId("\udcff")])
WORDS = st.sampled_from(["", "k", "l", "é", "\udcff"])
#: Few different ones, so that what comes often concerns what is there.
NAMED = {
    "addr": ADDRESSES,
    "key": WORDS,
    "value": WORDS,
    "version": st.integers(0, 9) | st.sampled_from([U64_MAX - 1, U64_MAX]),
}
LIMITS = st.sampled_from([1, 13, 17, 24, 31, 45, 1400])
DETECTORS = st.sampled_from([None, Detector(), Detector(window=2, bootstrap=Duration(100), critical=500, down=800)])


def drawn(data: st.DataObject) -> Pick:
    """Chance as Hypothesis draws it."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        options = sorted(among)
        return tuple(data.draw(st.permutations(options), label=why)[:some]) if options else ()

    return pick


def shuffled(random: Random) -> Pick:
    """Chance from a seed."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        return tuple(random.sample(sorted(among), min(some, len(among))))

    return pick


def checked(before: State, event: Event, pick: Pick, seen: set[str]) -> Taken:
    """The step that the node takes, with all properties of a node and of a step; `sometimes` ones that hold are noted."""
    after, effects = step(before, event, pick)
    taken = Taken(before, event, after, effects)
    assert find_violations(PROPERTIES, "step", taken) == []
    assert find_violations(PROPERTIES, "node", after) == []
    seen.update(p.name for p in PROPERTIES if p.when == "sometimes" and p.of == "step" and p.holds(taken))
    return taken


class OneNode(RuleBasedStateMachine):
    """b:1, to which anybody may say anything at any time."""

    seen: set[str] = set()  # noqa: RUF012  # shared by all runs, so that a test can ask what happened in any of them

    @initialize(limit=LIMITS, detector=DETECTORS, seeds=st.lists(ADDRESSES, max_size=3))
    def start(self, limit: int, detector: Detector | None, seeds: list[NodeId]) -> None:
        """The node starts."""
        self.now = 0
        self.state = initial(B, Config(tuple(seeds), max_payload=limit, detector=detector)).state

    def take(self, event: Event, pick: Pick) -> None:
        """One step, checked."""
        self.state = checked(self.state, event, pick, self.seen).after

    @rule(time=st.integers(-5, 5) | st.integers(0, 30_000))
    def wait(self, time: int) -> None:
        """Time passes, or the clock is set back a little."""
        self.now = max(0, self.now + time)

    @rule(data=st.data())
    def round(self, data: st.DataObject) -> None:
        """A round of gossip."""
        self.take(Expired(Instant(self.now), Round()), drawn(data))

    @rule(key=WORDS, value=WORDS, data=st.data())
    def update(self, key: str, value: str, data: st.DataObject) -> None:
        """The application sets a pair; a node without room for it refuses."""
        before = self.state
        try:
            self.take(Asked(Instant(self.now), UpdateLocal(key, value)), drawn(data))
        except NotEnabled as refused:
            self.seen.add(refused.reason)
        else:
            own = self.state.store[B]
            assert (own.version, own.pairs[key]) == (before.store[B].version + 1, (value, own.version))
            assert self.state.store.without([B]) == before.store.without([B])

    @rule(sender=ADDRESSES, message=values(MESSAGE.form, NAMED), data=st.data())
    def receive(self, sender: NodeId, message: Message, data: st.DataObject) -> None:
        """A peer says something."""
        self.take(Received(Instant(self.now), sender, message), drawn(data))

    @rule(sender=ADDRESSES, raw=datagrams(MESSAGE, NAMED), data=st.data())
    def receive_bytes(self, sender: NodeId, raw: bytes, data: st.DataObject) -> None:
        """Bytes come in, and mean something or nothing."""
        try:
            message = MESSAGE.decode(raw)
        except MalformedMessage:
            self.seen.add("malformed")
            return
        self.take(Received(Instant(self.now), sender, message), drawn(data))

    @invariant()
    def same_in_every_process(self) -> None:
        """A state can be hashed, shown and fingerprinted, and what is kept of peers is of peers."""
        if hasattr(self, "state"):
            hash(self.state)
            fingerprint(self.state)
            assert len(QUERIES["peers"](self.state)) == len(QUERIES["view"](self.state)) == len(QUERIES["status"](self.state)) + 1
            watched = set(self.state.store) - {B} if self.state.config.detector else set()
            assert set(self.state.liveness) == watched


class ThreeNodes(RuleBasedStateMachine):
    """Three nodes that each have one of the others as seed; messages under way arrive late, twice, or never."""

    seen: set[str] = set()  # noqa: RUF012  # as above
    ends_equal = True

    @initialize(limit=st.sampled_from([24, 33, 50, 1400]))
    def start(self, limit: int) -> None:
        """The nodes start."""
        self.now = 0
        self.in_flight: list[InFlight] = []
        seeds = {A: B, B: C, C: A}
        self.nodes = {addr: initial(addr, Config((seed,), max_payload=limit)).state for addr, seed in seeds.items()}

    def take(self, addr: NodeId, event: Event, pick: Pick) -> None:
        """One step of one node, checked; what it sends is under way."""
        taken = checked(self.nodes[addr], event, pick, self.seen)
        self.nodes[addr] = taken.after
        self.in_flight += [InFlight(addr, effect.to, effect.message) for effect in taken.effects if isinstance(effect, Send)]

    def arrive(self, message: InFlight, pick: Pick) -> None:
        """A message comes to where it was sent."""
        self.take(message.to, Received(Instant(self.now), message.sender, message.message), pick)

    @rule(addr=st.sampled_from([A, B, C]), key=st.sampled_from("kl"), value=st.sampled_from("vw"), data=st.data())
    def update(self, addr: NodeId, key: str, value: str, data: st.DataObject) -> None:
        """An application sets a pair."""
        self.take(addr, Asked(Instant(self.now), UpdateLocal(key, value)), drawn(data))

    @rule(addr=st.sampled_from([A, B, C]), time=st.integers(0, 5000), data=st.data())
    def round(self, addr: NodeId, time: int, data: st.DataObject) -> None:
        """A node's round."""
        self.now += time
        self.take(addr, Expired(Instant(self.now), Round()), drawn(data))

    @precondition(lambda self: bool(getattr(self, "in_flight", ())))
    @rule(which=st.integers(0, 2**16), data=st.data())
    def deliver(self, which: int, data: st.DataObject) -> None:
        """Any message arrives."""
        self.arrive(self.in_flight.pop(which % len(self.in_flight)), drawn(data))

    @precondition(lambda self: bool(getattr(self, "in_flight", ())))
    @rule(which=st.integers(0, 2**16), data=st.data())
    def deliver_and_keep(self, which: int, data: st.DataObject) -> None:
        """Any message arrives, and will arrive again."""
        self.arrive(self.in_flight[which % len(self.in_flight)], drawn(data))

    @precondition(lambda self: bool(getattr(self, "in_flight", ())))
    @rule(which=st.integers(0, 2**16))
    def lose(self, which: int) -> None:
        """Any message is lost."""
        self.in_flight.pop(which % len(self.in_flight))

    @invariant()
    def holds_of_the_cluster(self) -> None:
        """All properties of clusters, at every instant."""
        if hasattr(self, "nodes"):
            assert find_violations(PROPERTIES, "cluster", Cluster(self.nodes, self.in_flight)) == []

    def teardown(self) -> None:
        """From here on nothing is lost: in the end all views are equal."""
        if not (hasattr(self, "nodes") and self.ends_equal):
            return
        pick = shuffled(Random(0))
        (equal,) = (p for p in PROPERTIES if p.when == "eventually")
        for _ in range(200):
            while self.in_flight:
                self.arrive(self.in_flight.pop(0), pick)
                self.holds_of_the_cluster()
            if equal.holds(Cluster(self.nodes)) and all(len(state.store) == len(self.nodes) for state in self.nodes.values()):
                return
            for addr in self.nodes:
                self.take(addr, Expired(Instant(self.now), Round()), pick)
        raise AssertionError(f"views still differ after 200 rounds: {[QUERIES['view'](s) for s in self.nodes.values()]}")


def test_one_node_among_hostile_peers_keeps_every_property() -> None:
    run_state_machine_as_test(OneNode)

    assert OneNode.seen >= {"DeltaIsNews", "DeltaIsStale", "malformed", "too_large"}


def test_three_nodes_over_any_network_keep_every_property_and_agree_in_the_end() -> None:
    run_state_machine_as_test(ThreeNodes)

    assert ThreeNodes.seen >= {"DeltaIsNews", "DeltaIsStale"}


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


NEWER_PAIRS, LEARNED = reconcile.newer_pairs, transitions.add_peers


@pytest.mark.parametrize(
    ("machine", "module", "name", "wrong", "found"),
    [
        (ThreeNodes, reconcile, "newer_pairs", newest_first, "DeltaPrefix"),
        (ThreeNodes, transitions, "add_peers", believing, "VersionIsMax"),
        (ThreeNodes, reconcile, "fitting", unlimited, "DeltaBounded"),
        (OneNode, transitions, "merge", careless, "(Monotone|VersionIsMax)"),
    ],
    ids=["newest pairs first", "peers at the version of the digest", "no limit", "older pairs taken"],
)
def test_a_wrong_step_is_found(
    machine: type[RuleBasedStateMachine], module: Any, name: str, wrong: Any, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreeNodes, "ends_equal", False)  # a property must find it, before the end
    enough = settings(
        max_examples=500, stateful_step_count=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
    )

    with overriding(names_in(module, **{name: wrong})), pytest.raises(AssertionError, match=f"name='{found}'"):
        run_state_machine_as_test(machine, settings=enough)
