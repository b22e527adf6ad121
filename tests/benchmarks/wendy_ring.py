"""
Rings of Wendy nodes in virtual time: hops, memory, and how fast a node decides where a message goes.

    python tests/benchmarks/wendy_ring.py [--joined 1000] [--inserted 10000] [--keys 20000] [--seed TEXT] [--plot FILE.svg]

The ring of --joined nodes comes about by joining: one node after the other, each by a random member, until it has announced
itself; nothing is said besides. That takes some minutes, most of them for the last of the nodes. The ring of --inserted nodes
would take hours that way. Its tables are filled by the specification's own insertion instead: each node is tried those that
belong into its leaf set and, for every cell of its routing table, a few random ones that fit. Then random nodes of both send
messages to random keys, hop by hop through the simulator, and where each arrives is compared with the node that is closest to
the key.

Beside the mean of the hops stands log16(N) + 1: Rowstron and Druschel expect log16(N), rounded up, in a Pastry ring of N.
`--plot` draws the distribution, and that number (pip install 'peerproof[pipeline]'). Memory is the largest that this process has
had up to there; a ring of 10,000 is to be built in 2 GB.

Decisions are calls of `next_hop` on the tables of the larger ring: for random keys, most of which the first rows decide, and for
keys as near to the node as the last hops have them, which leaf sets and rows below decide. The target is 200,000 a second.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import process_time
from typing import Any, ClassVar, NamedTuple, cast

from _ratios import cpu, options

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.protocols.wendy.runtime import digest, is_member
from peerproof.reference.runtime.protocol import Connected
from peerproof.reference.simulation.faulty_network import Faults, Network
from peerproof.reference.simulation.simulator import Connections, Simulation
from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.wendy import Config, Delivered, Id, Join, Route, Stage, State, id_of_text
from peerproof.spec.wendy.ids import REAL
from peerproof.spec.wendy.messages import Node
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.tables import insert_node

#: So many random nodes are tried in each cell of a routing table.
TRIED = 3

#: A message on the way takes from one millisecond to fifty.
FAULTS = Faults(least_delay=Duration(1), most_delay=Duration(50))

#: Milliseconds: of the network, so that a joiner waits for two seconds, and until it has joined.
TIMEOUT = Duration(1_000)
JOINING = 5_000

#: Between heartbeats: there are none.
NEVER = Duration(0)

DECISIONS, ROUNDS, TARGET = 50_000, 5, 200_000


class Found(NamedTuple):
    """What came of the messages of a ring."""

    hops: Counter[int]
    wrong: int

    @property
    def mean(self) -> float:
        """Of the hops."""
        return sum(hops * count for hops, count in self.hops.items()) / self.hops.total()

    @property
    def shares(self) -> dict[int, float]:
        """Of the messages, by hops."""
        return {hops: count / self.hops.total() for hops, count in sorted(self.hops.items())}


class Ring:
    """Nodes in a simulation, and what is delivered to them."""

    protocol: ClassVar = RUNTIMES["wendy"]

    def __init__(self, size: int, seed: str, heartbeat: Duration = NEVER) -> None:
        self.heartbeat = heartbeat
        specification, connected = self.protocol.specification(), cast("Connected", self.protocol.connected)
        self.simulation = Simulation(specification, seed, FAULTS, connections=Connections(TIMEOUT, connected.has_left))
        self.simulation.notified = self.told
        self.map = Network(FAULTS, f"{seed}/network")  #: the same as the simulation's, which counts what is sent
        self.random = Random(seed)
        self.addresses = [NodeId(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}:8119") for n in range(size)]
        self.ids = {self.id_of(address): address for address in self.addresses}
        self.ring = sorted(self.ids)
        self.found = Found(Counter(), 0)

    def id_of(self, address: NodeId) -> Id:
        """The id of the node at an address."""
        return id_of_text(digest(address))

    def start(self, address: NodeId) -> None:
        """Start a node that is alone."""
        config = Config(self.id_of(address), network_timeout=TIMEOUT, heartbeat=self.heartbeat)
        self.simulation.start(address, config)

    def join(self) -> None:
        """All nodes, one after the other."""
        for number, address in enumerate(self.addresses):
            self.start(address)
            if number:
                self.simulation.ask(address, Join(self.random.choice(self.addresses[:number])))
                self.simulation.run(Instant(self.simulation.now + JOINING))
        assert all(map(is_member, self.simulation.states().values()))

    def insert(self) -> None:
        """All nodes, with tables that are filled."""
        for at, node in enumerate(self.ring):
            address = self.ids[node]
            self.start(address)
            driver = self.simulation._places[address].driver
            driver.state = self.whole(driver.state, at)

    def whole(self, state: Any, at: int) -> Any:
        """A node of the protocol after that."""
        return self.filled(state, at)

    def filled(self, state: State, at: int) -> State:
        """A node, at this place of the ring, after others were tried in its tables."""
        side, size = state.config.leaf_set_side, len(self.ring)
        others = {self.ring[(at + away) % size] for away in range(-side, side + 1)}
        for low, high in self.cells(state.id):
            others.update(self.ring[self.random.randrange(low, high)] for _ in range(TRIED))
        others -= {state.id}
        nodes = [Node(node, host, host, 8119) for node in sorted(others) for host in [self.ids[node].partition(":")[0]]]
        trip = self.map.trip
        scores = {node.id: 2 * (trip(state.self_id, self.ids[node.id]) or 0) for node in nodes}
        state = replace(state, scores=Table(scores))
        for node in nodes:
            state = insert_node(state, node)
        known = state.known
        return replace(state, stage=Stage.JOINED, scores=Table({node: scores[node] for node in known}))

    def cells(self, node: Id) -> Iterator[tuple[int, int]]:
        """For each cell of a routing table that has somebody, from where to where on the ring they are."""
        for row in range(REAL.digits):
            unit = REAL.bits - REAL.digit_bits * (row + 1)
            begin = node >> unit + REAL.digit_bits << unit + REAL.digit_bits
            bounds = [bisect_left(self.ring, begin + (column << unit)) for column in range(REAL.base + 1)]
            if bounds[-1] - bounds[0] == 1:
                return
            own = REAL.digit(node, row)
            yield from ((low, high) for c, (low, high) in enumerate(pairwise(bounds)) if c != own and low < high)

    def route(self, keys: int) -> Found:
        """Messages to random keys from random nodes, all of which have arrived."""
        self.found = Found(Counter(), 0)
        for number in range(keys):
            origin = self.random.choice(self.addresses)
            command = Route(Id(self.random.getrandbits(REAL.bits)), b"")
            self.simulation.at(Instant(self.simulation.now + number), partial(self.simulation.ask, origin, command))
        self.simulation.run(Instant(self.simulation.now + keys + 100 * TIMEOUT))
        assert self.found.hops.total() == keys
        return self.found

    def told(self, node: NodeId, notice: Any) -> None:
        """A node has told its application something."""
        if isinstance(notice, Delivered):
            header = notice.message.header
            self.found.hops[header.hop] += 1
            self.found = self.found._replace(wrong=self.found.wrong + (self.owner(header.key) != self.id_of(node)))

    def owner(self, key: Id) -> Id:
        """The node that is closest to a key."""
        at = bisect_left(self.ring, key)
        return min(self.ring[at - 1], self.ring[at % len(self.ring)], key=lambda node: REAL.rank(node, key))


def megabytes() -> float:
    """The most memory that this process has had."""
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def bound(size: int) -> float:
    """What the mean of the hops should not exceed."""
    return log(size, REAL.base) + 1


def measured(size: int, keys: int, seed: str, way: Callable[[Ring], None]) -> tuple[Ring, Found]:
    """A ring, and what came of its messages; prints both."""
    begun, before = process_time(), megabytes()
    ring = Ring(size, seed)
    way(ring)
    built = process_time() - begun
    states = ring.simulation.states().values()
    cells, neighbors = (
        sum(map(len, tables)) / size for tables in zip(*((s.routing_table, s.neighborhood_set) for s in states), strict=True)
    )
    sent = ring.simulation.network.sent
    print(f"{size:,} nodes, {way.__name__}: {built:.0f} CPU s, {megabytes():.0f} MB (before: {before:.0f}; target: 2,000)")
    each = f"{sent / size:,.0f} messages, " if sent else ""
    print(f"  of each node, in the mean: {each}{cells:.1f} cells, {neighbors:.1f} neighbors")
    found = ring.route(keys)
    spread = ", ".join(f"{hops}: {share:.1%}" for hops, share in found.shares.items())
    most = bound(size)
    print(f"  {keys:,} keys: {found.mean:.3f} hops in the mean, bound log16(N)+1 = {most:.3f}, ratio {found.mean / most:.2f}")
    print(f"  hops {spread}; at the wrong node: {found.wrong}", flush=True)
    return ring, found


def cases_of(ring: Ring, bits: int) -> list[tuple[State, Id]]:
    """Random nodes, each with keys that are no further away than half of so many bits say."""
    states = ring.random.sample(list(ring.simulation.states().values()), min(100, len(ring.ring)))
    away = partial(ring.random.getrandbits, bits)
    return [
        (state, Id((state.id + away() - (1 << bits - 1)) % REAL.size))
        for _ in range(DECISIONS // len(states))
        for state in states
    ]


def decisions(ring: Ring) -> None:
    """Prints how many decisions a node makes in a second."""
    cases = {"random keys": cases_of(ring, REAL.bits), "near keys": cases_of(ring, REAL.bits - round(log(len(ring.ring), 2)) + 5)}
    for name, pairs in cases.items():
        rate = median(len(pairs) / cpu(lambda: [next_hop(*pair) for pair in pairs]) for _ in range(ROUNDS))  # noqa: B023
        print(f"{name}: {rate:,.0f} decisions a second, {rate / TARGET:.1f} times the target of {TARGET:,}")


def plotted(path: Path, found: dict[int, Found]) -> None:
    """Draws the distributions of hops, and the bound on the mean."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for size, of_size in found.items():
        shares, hops = of_size.shares, range(max(of_size.hops) + 1)
        (line,) = axes.plot(hops, [shares.get(n, 0) for n in hops], marker="o", label=f"{size:,} nodes, mean {of_size.mean:.2f}")
        axes.axvline(bound(size), color=line.get_color(), linestyle="--", label=f"log16({size:,}) + 1 = {bound(size):.2f}")
    axes.set(xlabel="hops", ylabel="messages", title="Hops from a random node to the node closest to a random key")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Prints what is known as soon as it is."""
    arguments = options(__doc__, joined=1_000, inserted=10_000, keys=20_000, seed="wendy", plot=None)
    _, small = measured(arguments.joined, arguments.keys, arguments.seed, Ring.join)
    ring, large = measured(arguments.inserted, arguments.keys, arguments.seed, Ring.insert)
    decisions(ring)
    if arguments.plot:
        plotted(arguments.plot, {arguments.joined: small, arguments.inserted: large})


if __name__ == "__main__":
    main()
