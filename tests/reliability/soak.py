"""
Runs five real nodes of each protocol for an hour, with losses, kills and hostile peers: is memory flat, and is the state right?

    python -m tests.reliability.soak [--minutes 60] [--only swim] [--seed 1]

Each protocol has five processes, `peerproof node start`, beside each other. Datagrams get lost and are repeated; what is sent on
connections arrives late and in pieces; agents of Serf stop for some seconds. Every 40 seconds one node other than the first is
killed, and a new one takes its place. Each second strangers send a burst of what the specification rejects.
Between kills the state must become right: it is looked at until it is. In the end the traces of all nodes are replayed.
Prints, per protocol, the memory of the first node, which is never killed, after a tenth of the time and at the end.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import threading
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from random import Random
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any, ClassVar

from tests.reference.agents import AgentProcess, free_port
from tests.reference.conftest import COMMAND, NodeProcess
from tests.reference.node.test_peter_nodes import TOPIC, PeterNode
from tests.reference.node.test_swim_nodes import SwimNode
from tests.reference.node.test_wendy_nodes import WendyNode
from tests.reference.stores import FIRST, StoreProcess
from tests.reliability.disturbed_network import Address, Connections, Datagrams, Strangers
from tests.support.waiting import until

from peerproof.spec import distkv, peter, scuttlebutt, swim, wendy
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.replay import Replay
from peerproof.spec.wendy.framing import Inbound

NODES = 5
KILL_EVERY = 40.0
BURST = 20  #: of malformed messages, each second
LOSS, REPETITION, DELAY = 0.1, 0.05, 0.02
PATIENT = ("--network-timeout", "10000", "--heartbeat", "2000")  #: a node that was killed refuses at once


@dataclass
class Figures:
    """What a soak of one protocol has seen."""

    protocol: str
    kills: int = 0
    checks: int = 0  #: how often the state was found right
    slowest: float = 0.0  #: seconds until it was, at most
    memory: list[tuple[float, int]] = field(default_factory=list)  #: of the first node: seconds, kB
    problem: str = ""


def resident(process: subprocess.Popen[str]) -> int:
    """Returns the resident memory of a process in kB."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(encoding="ascii"))[0])


class Soak:
    """Five nodes of one protocol. A subclass says how they start, and when their state is right."""

    protocol: ClassVar[str]
    specification: ClassVar[Any]

    def __init__(self, folder: Path, seed: str, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.random = Random(f"{self.protocol}-{seed}")
        self.figures = Figures(self.protocol)
        self.lives = 0
        self.traces: list[Path] = []
        self.nodes: list[Any] = []
        self.strangers = Strangers(self.random, self.read)

    def read(self, data: bytes) -> object:
        """Reads a message as a node does. Raises MalformedMessage."""
        return self.specification.MESSAGE.decode(data)

    def launch(self, number: int) -> Any:
        """Starts the node in a place, in its first life or a later one."""
        raise NotImplementedError

    def is_right(self) -> bool:
        """Whether every node has the state that it must come to."""
        raise NotImplementedError

    def disturb(self) -> None:
        """Sends a burst from strangers to some node."""
        raise NotImplementedError

    def summary(self) -> str:
        """Says what the network did."""
        raise NotImplementedError

    def started(self, number: int) -> Any:
        """Starts a node that does not outlive the soak."""
        self.lives += 1
        node = self.launch(number)
        self.stack.callback(node.close)
        return node

    def trace(self) -> list[str]:
        """Returns the options that record the next node's steps."""
        path = self.folder / f"{self.protocol}-{self.lives}.jsonl"
        self.traces.append(path)
        return ["--trace", str(path), "--run", self.protocol]

    def run(self, seconds: float) -> None:
        """Runs it for so long; what goes wrong is kept in the figures."""
        try:
            self._run(seconds)
        except Exception as problem:  # noqa: BLE001  # the others go on
            self.figures.problem = f"{type(problem).__name__}: {problem}"

    def _run(self, seconds: float) -> None:
        for number in range(NODES):
            self.nodes.append(self.started(number))
        begun = time.monotonic()
        next_kill = begun + KILL_EVERY
        self.settle()
        while (now := time.monotonic()) < begun + seconds:
            self.figures.memory.append((now - begun, resident(self.nodes[0].process)))
            self.disturb()
            if now >= next_kill:
                next_kill = now + KILL_EVERY
                self.settle()
                number = self.random.randrange(1, NODES)
                self.nodes[number].end(SIGKILL)
                self.figures.kills += 1
                time.sleep(self.random.random() * 5)
                self.nodes[number] = self.started(number)
            time.sleep(1)
        self.settle()
        self.figures.memory.append((time.monotonic() - begun, resident(self.nodes[0].process)))

    def settle(self) -> None:
        """Waits until the state is right. Strangers go on."""
        begun = time.monotonic()

        def is_right() -> bool:
            self.disturb()
            return self.is_right()

        until(is_right, f"{self.protocol}: the state is right")
        self.figures.checks += 1
        self.figures.slowest = max(self.figures.slowest, time.monotonic() - begun)

    def replayed(self) -> tuple[int, int]:
        """Replays the traces of all lives: the number of events, and of those that are no steps of the specification."""
        events = wrong = 0
        for path in self.traces:
            replay = Replay(self.specification)
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):  # a kill may leave half of one
                        events += 1
                        wrong += replay.text(line) is not None
        return events, wrong


def refresh(node: NodeProcess) -> None:
    """Has a node print its view, and takes the last one printed."""
    node.type("view")
    node.next_view()
    with suppress(Empty):
        while True:
            line = node._views.get_nowait()
            if isinstance(node, WendyNode) and "own" not in line:
                node.told.append(line)
            else:
                node.latest = line


class DatagramSoak(Soak):
    """Nodes that send datagrams."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.network = Datagrams(self.random, LOSS, REPETITION)
        self.binds: list[Address] = [("127.0.0.1", free_port()) for _ in range(NODES)]
        self.places = [self.network.place(bind) for bind in self.binds]

    def where(self, number: int) -> list[str]:
        """Returns the options that say where others reach a node, and whom it contacts."""
        contact = [] if number == 0 else ["--peer", "{}:{}".format(*self.places[0])]
        return ["--advertise", "{}:{}".format(*self.places[number]), *contact, *self.trace()]

    def disturb(self) -> None:
        """As of any soak."""
        self.strangers.send_datagrams(self.random.choice(self.places), self.network.seen, BURST)
        self.strangers.send_datagrams(self.random.choice(self.binds), self.network.seen, BURST)

    def summary(self) -> str:
        """As of any soak."""
        sent = self.network
        return f"{sent.sent:,} datagrams, {sent.lost:,} lost, {sent.repeated:,} repeated"


class GossipNode(NodeProcess):
    """A node of Scuttlebutt with five rounds a second."""

    command: ClassVar = [*COMMAND, "--interval", "200", "--detector-window", "20", "--detector-bootstrap", "400"]


class ScuttlebuttSoak(DatagramSoak):
    """Each node has a pair that says its life; all others come to know it, and that it is up."""

    protocol: ClassVar = "scuttlebutt"
    specification: ClassVar = scuttlebutt

    def launch(self, number: int) -> GossipNode:
        """As of any soak."""
        # A node that comes back starts with version 0, and is heard once its version is above that of its last life [BX-03].
        changes = [part for life in range(2 * self.lives) for part in ("--set", f"life={life}")]
        node = GossipNode(*self.where(number), *changes, "--set", f"life={self.lives}", bind="{}:{}".format(*self.binds[number]))
        node.life = str(self.lives)  # type: ignore[attr-defined]  # a note of ours
        return node

    def is_right(self) -> bool:
        """What the class says."""
        for node in self.nodes:
            refresh(node)
        wanted = {node.addr: {"life": node.life} for node in self.nodes}
        return all(
            node.pairs() == wanted and all(node.status().get(addr) == "up" for addr in wanted if addr != node.addr)
            for node in self.nodes
        )


class SwimSoak(DatagramSoak):
    """Each node knows each other one as normal, in its present life and with its payload."""

    protocol: ClassVar = "swim"
    specification: ClassVar = swim

    def launch(self, number: int) -> SwimNode:
        """As of any soak."""
        counter = ["--restart-counter", str(self.lives), "--set", f"life={self.lives}", "--interval", "200"]
        node = SwimNode(*self.where(number), *counter, bind="{}:{}".format(*self.binds[number]))
        node.life = str(self.lives)  # type: ignore[attr-defined]
        return node

    def is_right(self) -> bool:
        """What the class says."""
        for node in self.nodes:
            refresh(node)
        facts: dict[str, Any] = {}
        for node in self.nodes:
            for other in self.nodes:
                if other is not node:
                    row = node.row(other)
                    facts[node.addr + other.addr] = (
                        row["status"] == "normal" and row["restart"] == other.life and row.get("payload") == {"life": other.life}
                    )
        return all(facts.values())


class RingSoak(Soak):
    """Nodes that are connected. One that was killed does not come back; another one joins at the same place."""

    kind: ClassVar[type[WendyNode]]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.network = Connections(self.random, DELAY)
        self.binds: dict[int, Address] = {}
        self.ids: dict[int, str] = {}

    def read(self, data: bytes) -> object:
        """What arrives on a connection is framed."""
        framed = Inbound().feed(data)
        if framed is None:
            raise MalformedMessage("truncated", len(data), "not whole")
        return super().read(framed)

    def launch(self, number: int) -> WendyNode:
        """As of any soak."""
        self.binds[number] = "127.0.0.1", free_port()
        place = "{}:{}".format(*self.network.place(self.binds[number]))
        self.ids[number] = f"{self.random.getrandbits(128):032x}"
        contact = ["--peer", self.nodes[0].addr] if number else []
        where = ["--advertise", place, "--id", self.ids[number], *contact, *self.trace()]
        return self.kind(*where, bind="{}:{}".format(*self.binds[number]))

    def is_right(self) -> bool:
        """What the class says."""
        for node in self.nodes:
            refresh(node)
        return all(
            node.leaves == {other for at, other in self.ids.items() if at != number} for number, node in enumerate(self.nodes)
        )

    def disturb(self) -> None:
        """As of any soak."""
        for bind in self.random.choices(list(self.binds.values()), k=BURST // 4):
            self.strangers.connect(bind, self.network.seen)

    def summary(self) -> str:
        """As of any soak."""
        return f"{self.network.sent:,} connections, in pieces and late"


class PatientWendyNode(WendyNode):
    """A node that takes no one for dead who is only busy."""

    command: ClassVar = [*COMMAND[:-1], "wendy", *PATIENT]


class PatientPeterNode(PeterNode):
    """A node that takes no one for dead who is only busy."""

    command: ClassVar = [*COMMAND[:-1], "peter", *PATIENT]


class WendySoak(RingSoak):
    """Every leaf set has all other nodes, and what is routed is delivered at the node that is closest to its key."""

    protocol: ClassVar = "wendy"
    specification: ClassVar = wendy
    kind: ClassVar = PatientWendyNode

    def is_right(self) -> bool:
        """What the class says."""
        if not super().is_right():
            return False
        key, word = self.random.getrandbits(128), f"word-{self.random.getrandbits(64)}"
        self.random.choice(self.nodes).type(f"route {key:032x} {word}")
        distance = {number: min((int(own, 16) - key) % 2**128, (key - int(own, 16)) % 2**128) for number, own in self.ids.items()}
        owner = self.nodes[min(distance, key=lambda number: distance[number])]
        arrived = delivered_within(owner, word)
        assert not any(word in node.payloads for node in self.nodes if node is not owner)
        return arrived


class PeterSoak(RingSoak):
    """Every leaf set has all other nodes, and what is published is told once to each node."""

    protocol: ClassVar = "peter"
    specification: ClassVar = peter
    kind: ClassVar = PatientPeterNode

    def launch(self, number: int) -> WendyNode:
        """As of any soak."""
        node = super().launch(number)
        node.type(f'subscribe "{TOPIC}"')
        return node

    def is_right(self) -> bool:
        """What the class says."""
        if not super().is_right():
            return False
        word = f"word-{self.random.getrandbits(64)}"
        self.random.choice(self.nodes).type(f'publish "{TOPIC}" {word}')
        arrived = all(delivered_within(node, word) for node in self.nodes)
        assert all(node.payloads.count(word) <= 1 for node in self.nodes)
        return arrived


def delivered_within(node: WendyNode, word: str, seconds: float = 3.0) -> bool:
    """Whether a node is told a word soon enough; what is under way while tables are repaired may be lost."""
    deadline = time.monotonic() + seconds
    while word not in node.payloads:
        if time.monotonic() > deadline:
            return False
        refresh(node)
        time.sleep(0.05)
    return True


class DistkvSoak(Soak):
    """Nodes over real agents of Serf, which stop for some seconds: all have the same entries, with nothing missing."""

    protocol: ClassVar = "distkv"
    specification: ClassVar = distkv

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.agents: list[AgentProcess] = []
        for number in range(NODES):
            agent = AgentProcess(f"soak{number}", self.folder)
            self.stack.callback(agent.kill)
            self.agents.append(agent)
            if number:
                agent.join(self.agents[0])
        self.pauses = self.changes = 0
        self.wanted: dict[str, Any] = {"[]": "root"}

    def launch(self, number: int) -> StoreProcess:
        """As of any soak."""
        first = FIRST if self.lives == 1 else ()
        state = ["--state", str(self.folder / f"store{number}.state"), *self.trace()]
        node = StoreProcess(f"n{number}", "-v", "--serf", self.agents[number].rpc, *state, *first, clock=1000)
        node.ready()
        return node

    def is_right(self) -> bool:
        """What the class says."""
        number = self.random.randrange(NODES)
        path = ["soak", self.random.randrange(10)]
        self.nodes[number].set(path, self.changes)
        self.wanted[json.dumps(path)] = self.changes
        self.changes += 1
        for node in self.nodes:
            node.has(self.wanted)
            del node.lines[:-20]
        return True

    def disturb(self) -> None:
        """As of any soak."""
        if self.random.random() < 0.05:
            agent = self.random.choice(self.agents)
            agent.send(SIGSTOP)
            time.sleep(self.random.random() * 3)
            agent.send(SIGCONT)
            self.pauses += 1
        name = self.random.choice(["distkv", "distkvu", "distkv-x", "other"])
        text = "".join(chr(self.random.randrange(33, 127)) for _ in range(self.random.randrange(1, 60)))
        with suppress(AssertionError):  # an agent that stands still
            self.random.choice(self.agents).serf("event", "-coalesce=false", name, text)
            self.strangers.sent += 1

    def summary(self) -> str:
        """As of any soak."""
        return f"{self.changes:,} changes, {self.pauses:,} pauses of agents"


SOAKS: tuple[type[Soak], ...] = (ScuttlebuttSoak, SwimSoak, WendySoak, PeterSoak, DistkvSoak)


def flatness(memory: list[tuple[float, int]]) -> tuple[int, int]:
    """Returns the highest memory in the second tenth of the time, and in the last, in kB."""
    end = memory[-1][0]
    early = [size for at, size in memory if 0.1 * end <= at <= 0.2 * end]
    late = [size for at, size in memory if at >= 0.9 * end]
    return max(early or [memory[0][1]]), max(late)


def show(soak: Soak) -> bool:
    """Prints the figures of one protocol, and returns whether all is well."""
    figures = soak.figures
    events, wrong = soak.replayed()
    print(f"{figures.protocol}")
    print(f"  {figures.kills} kills; {soak.strangers.sent:,} malformed messages; {soak.summary()}")
    print(f"  the state was right {figures.checks} times, after {figures.slowest:.1f} s at most")
    if figures.memory:
        before, after = flatness(figures.memory)
        print(f"  memory of the node that lives longest: {before:,} kB, at the end {after:,} kB ({after / before - 1:+.1%})")
    print(f"  {events:,} events of {soak.lives} lives replayed: {wrong} differ from the specification")
    if figures.problem:
        print(f"  PROBLEM: {figures.problem}")
    return not wrong and not figures.problem


@contextmanager
def all_running(kinds: list[type[Soak]], folder: Path, seed: str, seconds: float) -> Iterator[list[Soak]]:
    """Runs these soaks beside each other, to their ends."""
    with ExitStack() as stack:
        soaks = [kind(folder, seed, stack) for kind in kinds]
        threads = [threading.Thread(target=soak.run, args=(seconds,)) for soak in soaks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield soaks


def main() -> int:
    """Prints the figures; the exit code is 1 if a state did not become right, or a step is none of the specification."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long")
    parser.add_argument("--only", type=str, default="", help="only this protocol")
    parser.add_argument("--seed", type=str, default="1", help="of everything that is random")
    arguments = parser.parse_args()
    kinds = [kind for kind in SOAKS if arguments.only in ("", kind.protocol)]
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        print(f"{arguments.minutes:g} minutes, {NODES} nodes of each protocol")
        with all_running(kinds, Path(folder), arguments.seed, 60 * arguments.minutes) as soaks:
            pass
        are_well = [show(soak) for soak in soaks]
    return 0 if all(are_well) else 1


if __name__ == "__main__":
    raise SystemExit(main())
