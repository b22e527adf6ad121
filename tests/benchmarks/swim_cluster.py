"""
SWIM clusters from 8 nodes on: how long it takes until a crash is noticed, what is noticed wrongly, and what it costs.

    python tests/benchmarks/swim_cluster.py [--sizes 8 16 32 64 128] [--loss 0.01] [--seed TEXT] [--plot FILE.svg]

All nodes know each other. After a round somebody crashes at some moment; the run ends when everybody holds it for dead. Times are
in quanta of a node (300 ms), medians over the runs of a size. In a quantum a node pings fanout(N) others, and a round, in which
it pings all of them once, has (N-1)/fanout(N) quanta. In a round there are N(N-1) pings, so that a size takes about five times
as long as the half of it: with 256 nodes minutes, with 1,024 hours.

Beside the time to the first ping of the crashed node stands what Das, Gupta and Motivala expect of random probing with as many
pings in a period, 1/(1-e^-f); with one ping, as in their paper, that is e/(e-1) = 1.58 periods, whatever the size. Here a
ping that is not answered is held against nobody before the round closes, and it takes two such rounds to suspect somebody and
two more to find it dead. A node that has not yet pinged the other in the round of the crash has missed it twice when the next
round closes, others one round later: after between one round and three, two on average. The first of N-1 nodes, whose rounds
are not in step, is expected after 1 + sqrt(pi/2(N-1)) rounds, about, sooner where one had just lost an ack of it. So the paper's
constant holds in rounds: between one and two to the first suspicion, and between three and five to the death; in quanta these
grow as N/log N. `--plot` draws both beside each other (pip install 'peerproof[pipeline]').

A node's load is what it sends, pings and acks: of both as many as its fanout, so that per node and quantum it grows as log N,
and divided by that it is flat. Of every seventeenth datagram the bytes are counted, seventeen times.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import e, exp
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import NamedTuple
from uuid import UUID

from _ratios import options
from matplotlib import pyplot

from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import swim
from peerproof.spec.core import Expired, Instant, NodeId, Send, Table
from peerproof.spec.properties import Taken
from peerproof.spec.swim import MESSAGE, Config, Dead, Incarnation, Ping, Row, Status, Suspicious, Uuid
from peerproof.spec.swim.gossip import fanout
from peerproof.spec.swim.state import PING_INTERVAL_MS

#: So many runs of a size, as long as they have no more nodes than this together.
RUNS, NODES = 5, 128

#: With so many nodes a round takes long enough to be told of.
TELLING = 256

#: One datagram in so many is encoded to see how long it is. No fanout divides it, nor what nodes do by turns.
WEIGHED = 17

#: In so many rounds everybody must have noticed, or something is wrong.
MOST_ROUNDS = 30


class Noticed(NamedTuple):
    """One run: instants after the crash in quanta, and what was sent by each node in a quantum."""

    pinged: float
    suspected: float
    buried: float
    by_all: float
    wrongly_suspected: int
    wrongly_buried: int
    rounds: float  #: that the run has had
    datagrams: float
    bytes: float


class Cluster:
    """Nodes that know each other, one of which will crash, and what happens to them."""

    def __init__(self, size: int, loss: float, seed: str) -> None:
        self.simulation = Simulation(swim, seed, Faults(loss=loss))
        self.uuids = {Uuid(str(UUID(int=Random(f"{seed}/{number}").getrandbits(128)))): number for number in range(size)}
        self.random = Random(seed)
        self.victim = self.random.choice(list(self.uuids))
        self.crashed: Instant | None = None
        self.at: dict[str, Instant] = {}
        self.wrong: Counter[type] = Counter()
        self.unaware = set(self.uuids) - {self.victim}
        self.sent = self.bytes = 0
        rows = {uuid: Row(*self.place(uuid), Status.NORMAL, Incarnation(1, 0)) for uuid in self.uuids}
        for uuid in self.uuids:
            node = self.address(uuid)
            self.simulation.start(node, Config(uuid, restart_counter=1))
            driver = self.simulation._places[node].driver
            driver.state = replace(driver.state, rows=Table({other: row for other, row in rows.items() if other != uuid}))
        self.simulation.observers.append(self.observed)

    def place(self, uuid: Uuid) -> tuple[str, int]:
        """Its host and port."""
        return f"10.26.{self.uuids[uuid] // 256}.{self.uuids[uuid] % 256}", 8119

    def address(self, uuid: Uuid) -> NodeId:
        """Where it is."""
        return NodeId("{}:{}".format(*self.place(uuid)))

    def observed(self, _: NodeId, taken: Taken) -> None:
        """A step of a node."""
        messages = [effect.message for effect in taken.effects if isinstance(effect, Send)]
        for number, message in enumerate(messages, self.sent):
            self.bytes += 0 if number % WEIGHED else WEIGHED * len(MESSAGE.encode(message))
        self.sent += len(messages)
        if isinstance(taken.event, Expired):
            carried = [vector for message in messages if isinstance(message, Ping) for vector in message.vectors]
            said = {vector for vector in carried if isinstance(vector, (Suspicious, Dead))}
            for event in said:
                self.found(event, taken)
        if self.crashed is None or taken.before.uuid == self.victim:
            return
        if any(isinstance(message, Ping) and message.target == self.victim for message in messages):
            self.at.setdefault("pinged", self.simulation.now)
        if taken.after.rows[self.victim].status is Status.DEAD:
            self.unaware.discard(taken.before.uuid)

    def found(self, event: Suspicious | Dead, taken: Taken) -> None:
        """A node has found out something by itself, if its row says so only now."""
        status = Status.DEAD if isinstance(event, Dead) else Status.SUSPICIOUS
        if taken.before.rows[event.node].status is status or taken.after.rows[event.node].status is not status:
            return
        if event.node != self.victim or self.crashed is None:
            self.wrong[type(event)] += 1
        else:
            self.at.setdefault("buried" if status is Status.DEAD else "suspected", self.simulation.now)

    def crash(self) -> None:
        """The one that crashes does."""
        self.crashed = self.simulation.now
        self.simulation.crash(self.address(self.victim))

    def quantum(self, until: Instant | None = None) -> None:
        """One quantum more, not beyond an instant; says how far the run is once in a round."""
        after = self.simulation.now + PING_INTERVAL_MS
        self.simulation.run(Instant(after if until is None else min(until, after)))
        size = len(self.uuids)
        if self.simulation.now // PING_INTERVAL_MS % round_of(size) == 0 and size >= TELLING:
            noticed = "nobody has crashed yet" if self.crashed is None else f"{len(self.unaware)} have not noticed"
            rounds = self.simulation.now // PING_INTERVAL_MS // round_of(size)
            print(f"{size} nodes, {rounds} rounds, {process_time():.0f} s of CPU time: {noticed}", file=sys.stderr)

    def noticed(self) -> Noticed:
        """The whole run."""
        size, quantum = len(self.uuids), PING_INTERVAL_MS
        quanta = round_of(size)
        crash = Instant(round((1 + self.random.random()) * quanta * quantum))
        self.simulation.at(crash, self.crash)
        while self.crashed is None:
            self.quantum(crash)
        while self.unaware:
            assert self.simulation.now < MOST_ROUNDS * quanta * quantum, f"{len(self.unaware)} have not noticed"
            self.quantum()
        lived = self.simulation.now / quantum
        pinged, suspected, buried = ((self.at[what] - self.crashed) / quantum for what in ("pinged", "suspected", "buried"))
        return Noticed(
            pinged,
            suspected,
            buried,
            by_all=(self.simulation.now - self.crashed) / quantum,
            wrongly_suspected=self.wrong[Suspicious],
            wrongly_buried=self.wrong[Dead],
            rounds=lived / quanta,
            datagrams=self.sent / size / lived,
            bytes=self.bytes / size / lived,
        )


def expected_suspicion(size: int) -> float:
    """
    Rounds until the first of the others is expected to suspect a node that has crashed, if nothing is lost.

    Each needs between one round and three, two as likely as any: the time has the density of a triangle. [S-04, S-43, S-45]
    """
    steps = 10_000
    later = (1 - x * x / 2 if x <= 1 else (2 - x) ** 2 / 2 for x in ((2 * step + 1) / steps for step in range(steps)))
    return 1 + sum(chance ** (size - 1) for chance in later) * 2 / steps


def plotted(path: Path, found: dict[int, list[Noticed]]) -> None:
    """What was found and what is expected, in rounds, against the number of nodes."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    sizes = list(found)
    for label, mark, what in (
        ("first suspicion", "o", "suspected"),
        ("first to call it dead", "s", "buried"),
        ("dead to all", "^", "by_all"),
    ):
        points = [(size, getattr(run, what) / round_of(size)) for size, runs in found.items() for run in runs]
        axes.plot(*zip(*points, strict=True), mark, label=label, alpha=0.6)
    axes.plot(sizes, [expected_suspicion(size) for size in sizes], "-", label="first suspicion, expected in rounds")
    axes.axhline(e / (e - 1), linestyle="--", color="grey", label="e/(e-1): first ping, random probing, in periods")
    axes.set(xlabel="nodes", ylabel="rounds after the crash", xscale="log", xticks=sizes, xticklabels=sizes, ylim=(0, None))
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, metadata={"Date": None})


def round_of(size: int) -> int:
    """The quanta of a round. [S-43, SA-24]"""
    return -(-(size - 1) // fanout(size))


def measured(size: int, loss: float, seed: str) -> list[Noticed]:
    """Some runs of one size."""
    return [Cluster(size, loss, f"{seed}/{size}/{number}").noticed() for number in range(max(1, min(RUNS, NODES // size)))]


HEADINGS = (
    "nodes,fanout,round,first ping,suspected,(expected),dead,dead to all,wrongly,,sent,(/fanout),bytes,CPU",
    ",,(quanta),(paper's),(rounds),(rounds),(rounds),(rounds),suspected,dead,,,,(s)",
)


def row_of(size: int, runs: list[Noticed]) -> Iterator[str]:
    """A line of the table."""
    f = fanout(size)
    quanta = round_of(size)
    yield from (str(size), str(f), str(quanta))
    yield f"{median(run.pinged for run in runs):.2f} ({1 / (1 - exp(-f)):.2f})"
    suspected = median(run.suspected for run in runs)
    yield f"{suspected:.1f} ({suspected / quanta:.1f})"
    yield f"{expected_suspicion(size):.1f}"
    for times in ([run.buried for run in runs], [run.by_all for run in runs]):
        yield f"{median(times):.1f} ({median(times) / quanta:.1f})"
    of_each = size * sum(run.rounds for run in runs)
    yield f"{sum(run.wrongly_suspected for run in runs) / of_each:.4f}"
    yield f"{sum(run.wrongly_buried for run in runs) / of_each:.4f}"
    datagrams = median(run.datagrams for run in runs)
    yield from (f"{datagrams:.1f}", f"({datagrams / f:.2f})", f"{median(run.bytes for run in runs):.0f}")


def main() -> None:
    """Prints the table, a line as soon as it is known."""
    arguments = options(__doc__, sizes=[8, 16, 32, 64, 128], loss=0.01, seed="swim", plot=None)
    print(f"{arguments.loss:.1%} of the datagrams are lost. Times after the crash in quanta; e/(e-1) = {e / (e - 1):.2f}")
    print("wrongly: per node and round; sent: datagrams and bytes, by a node in a quantum")
    for heading in HEADINGS:
        print("".join(f"{cell:>12}" for cell in heading.split(",")))
    found = {}
    for size in arguments.sizes:
        begin = process_time()
        found[size] = measured(size, arguments.loss, arguments.seed)
        cells = [*row_of(size, found[size]), f"{process_time() - begin:.1f}"]
        print("".join(f"{cell:>12}" for cell in cells), flush=True)
    if arguments.plot:
        plotted(arguments.plot, found)


if __name__ == "__main__":
    main()
