"""
Trees of Peter on rings of a thousand nodes in virtual time: deliveries per second, and what is lost or doubled under churn.

    python tests/benchmarks/peter_ring.py [--nodes 1000] [--subscriptions 10000] [--publishes 10000] [--topics 500]
                                          [--churn 0 0.01 0.1] [--seed TEXT]

The ring is filled by insertion, as in `wendy_ring.py`. Random nodes subscribe to random topics; then, within a hundred virtual
seconds, random nodes publish on random topics. With a churn of 0.1, so many crashes come in these seconds as a tenth of the ring
has nodes. Who has crashed joins again after ten seconds, by a random node, and wants what it wanted. With churn, everybody asks
everybody it knows every thirty seconds whether it is there; without, nobody does, as in the ring of Wendy beside it.

A delivery is an event at a subscriber, told once; deliveries per CPU second stand beside the messages per CPU second that
Wendy routes on the same ring in the same run. An event is due to who was subscribed when it was published and has been since,
without a crash. An event that is lost is counted at each to whom it was due; those of subscriptions that were younger than a
network timeout are given, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from time import process_time
from typing import Any, ClassVar

from _ratios import options
from wendy_ring import NEVER, TIMEOUT, Ring, megabytes

from peerproof.reference.protocols.peter.runtime import Figures
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.core import Duration, Instant, NodeId
from peerproof.spec.peter import Publish, Subscribe
from peerproof.spec.wendy import Id, Join

#: Milliseconds in which events are published, and after which who has crashed comes back.
PUBLISHING, AWAY = 100_000, 10_000

#: Milliseconds between heartbeats, if anybody crashes.
HEARTBEAT = Duration(30_000)

SPREADS = ("tree_depth", "fan_out", "link_stress")


class Measured(Figures):
    """Counts what becomes of events, and leaves the rest of the ring alone."""

    def record_arrival(self, node: NodeId, key: Id, hops: int) -> None:  # noqa: ARG002  # names are those of the class above
        """An event has come to its meeting point; which one that should be, under churn, is not asked."""
        self.hops[hops] += 1


class Trees(Ring):
    """A ring whose nodes subscribe and publish."""

    protocol: ClassVar = RUNTIMES["peter"]

    def __init__(self, size: int, seed: str, topics: int, heartbeat: Duration) -> None:
        super().__init__(size, seed, heartbeat)
        self.figures = Measured(self.simulation)
        self.simulation.notified = self.figures.notify
        draw = self.random
        self.topics = ["".join(chr(draw.randrange(33, 127)) for _ in range(4)) + f" topic {n:05}" for n in range(topics)]
        self.wanted: dict[NodeId, set[str]] = {address: set() for address in self.addresses}

    def whole(self, state: Any, at: int) -> Any:
        """See `Ring`."""
        return replace(state, lower=self.filled(state.lower, at))

    def subscribe(self, count: int) -> None:
        """So many subscriptions, one after the other."""
        for number in range(count):
            address, topic = self.random.choice(self.addresses), self.random.choice(self.topics)
            while topic in self.wanted[address]:
                address, topic = self.random.choice(self.addresses), self.random.choice(self.topics)
            self.wanted[address].add(topic)
            command = Subscribe(topic)
            self.simulation.at(Instant(self.simulation.now + number), partial(self.simulation.ask, address, command))
        self.simulation.run(Instant(self.simulation.now + count + 10 * TIMEOUT))

    def publish(self, count: int, crashes: int) -> None:
        """So many events, while so many nodes crash."""
        begin = self.simulation.now
        for number in range(count):
            command = Publish(self.random.choice(self.topics), str(number).encode())
            act = partial(self.from_anybody, command)
            self.simulation.at(Instant(begin + number * PUBLISHING // count), act)
        for number in range(crashes):
            self.simulation.at(Instant(begin + number * PUBLISHING // crashes), self.crash)
        self.simulation.run(Instant(begin + PUBLISHING + AWAY + 10 * TIMEOUT))

    def from_anybody(self, command: Publish) -> None:
        """A random node that runs publishes an event."""
        self.simulation.ask(self.random.choice(self.running()), command)

    def crash(self) -> None:
        """A random node crashes, and comes back."""
        address = self.random.choice(self.running())
        self.simulation.crash(address)
        self.simulation.at(Instant(self.simulation.now + AWAY), partial(self.come_back, address))

    def come_back(self, address: NodeId) -> None:
        """A node joins again, and wants what it wanted."""
        contact = self.random.choice(self.running())
        self.simulation.restart(address)
        self.simulation.ask(address, Join(contact))
        for topic in sorted(self.wanted[address]):
            self.simulation.ask(address, Subscribe(topic))

    def running(self) -> list[NodeId]:
        """The nodes that run."""
        return [address for address in self.addresses if self.simulation.life(address)]


def routed(size: int, seed: str, keys: int) -> float:
    """Messages that Wendy routes on such a ring, per CPU second; prints what came of them."""
    ring = Ring(size, seed)
    ring.insert()
    begun = process_time()
    found = ring.route(keys)
    took = process_time() - begun
    print(f"{size:,} nodes of Wendy: {keys:,} messages routed, {found.mean:.2f} hops in the mean")
    print(f"  {keys / took:,.0f} messages routed, {ring.simulation.network.sent / took:,.0f} sent per CPU second")
    return keys / took


def measured(ring: Trees, publishes: int, churn: float, baseline: float) -> Iterator[str]:
    """What came of a ring's events, in words."""
    crashes = round(churn * len(ring.addresses))
    before, begun = ring.simulation.network.sent, process_time()
    ring.publish(publishes, crashes)
    took, sent = process_time() - begun, ring.simulation.network.sent - before
    shown: Any = ring.figures.plain()
    per_second = shown["updates"] / took
    share = shown["lost"] / max(1, shown["due"])
    yield f"churn {churn:g}: {crashes} crashes; {publishes:,} events, {shown['updates']:,} deliveries in {took:.0f} CPU s"
    yield f"  {per_second:,.0f} deliveries, {sent / took:,.0f} messages sent per CPU second"
    yield (
        f"  of {shown['due']:,} due {shown['lost']:,} lost ({share:.2%}), {shown['lost_new']:,} of them of young subscriptions;"
        f" {shown['duplicates']:,} delivered twice"
    )
    spread = (f"{name.replace('_', ' ')} {shown[name]['mean']:.2f} (at most {shown[name]['most']:,})" for name in SPREADS)
    yield f"  {', '.join(spread)}; in the end {shown['detached']} subscriptions in no tree"
    yield f"  messages: {', '.join(f'{name} {count:,}' for name, count in sorted(shown['messages'].items()))}"
    yield f"  deliveries per CPU second: {per_second / baseline:.2f} times the messages that Wendy routes"


def main() -> None:
    """Prints what is known as soon as it is."""
    arguments = options(
        __doc__, nodes=1_000, subscriptions=10_000, publishes=10_000, topics=500, churn=[0.0, 0.01, 0.1], seed="peter"
    )
    baseline = routed(arguments.nodes, arguments.seed, arguments.publishes)
    for churn in arguments.churn:
        ring = Trees(arguments.nodes, arguments.seed, arguments.topics, HEARTBEAT if churn else NEVER)
        ring.insert()
        begun = process_time()
        ring.subscribe(arguments.subscriptions)
        took = process_time() - begun
        print(f"{arguments.subscriptions:,} subscriptions to {arguments.topics} topics: {took:.1f} CPU s, {megabytes():.0f} MB")
        for line in measured(ring, arguments.publishes, churn, baseline):
            print(line, flush=True)


if __name__ == "__main__":
    main()
