"""
A network of DistKV that is split, changed on both sides, and healed, in virtual time: what it takes until all are one again.

    python tests/benchmarks/distkv_split.py [--side 20] [--changes 10000] [--paths 10000] [--clock 5000] [--seed TEXT]

Two sides of so many nodes each; while they are apart, random nodes of each side make so many changes of random paths, ten in a
clock and node; then they hear each other again. What is sent from then on until every node misses nothing and all have the same
is counted, each message once, whoever hears it, and set beside two minima. Any protocol has to send each entry that one side has
and the other must get, once to everybody. One that gives every change to every node has to send each change once; DistKV, which
keeps no entries that were replaced, says of their changes only that they are known.

CPU seconds of the parts stand beside those that the same number of steps takes before the split, where nothing is wrong.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from time import process_time
from typing import Any

from _ratios import options

from peerproof.reference.protocols.distkv.simulation import Store
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import distkv
from peerproof.spec.core import Duration, Instant, NodeId, Send
from peerproof.spec.distkv import Config, SetValue, State, Update
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.values import value_of
from peerproof.spec.properties import Taken

#: Clocks that nodes get to find each other, at most; that pass before the network is healed; in which it recovers, at most.
STARTING, WAITING, RECOVERING = 200, 10, 400

#: Changes of a node in a clock.
OFTEN = 10


class Split:
    """The network, and what is counted."""

    def __init__(self, side: int, paths: int, clock: int, seed: str) -> None:
        self.simulation = Simulation(distkv, seed)
        self.store = Store(self.simulation)
        self.random = Random(seed)
        self.paths = [path_of([f"path {number}"]) for number in range(paths)]
        self.clock = clock
        self.sides = [[NodeId(f"{name}{number:02}") for number in range(side)] for name in "ab"]
        self.messages: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.made: list[Update] = []
        self.healed_at: Instant | None = None
        self.simulation.observers.append(self._observe)

    def start(self) -> None:
        """All nodes are ready."""
        for place, node in enumerate(node for side in self.sides for node in side):
            root = value_of("root") if place == 0 else None
            self.simulation.start(node, Config(Duration(self.clock), root=root))
        for _ in range(STARTING):
            self.pass_clocks(1)
            if all(state.phase is distkv.Phase.READY for state in self.states()):
                return
        raise SystemExit("not all nodes are ready")

    def pass_clocks(self, clocks: float) -> None:
        """So much time passes."""
        self.simulation.run(Instant(self.simulation.now + int(clocks * self.clock)))

    def change(self, sides: list[list[NodeId]], count: int) -> None:
        """On each of these sides so many changes are made."""
        begin = self.simulation.now
        for side in sides:
            for number in range(count):
                at = Instant(begin + number * self.clock // (OFTEN * len(side)))
                command = SetValue(self.random.choice(self.paths), value_of(f"{side[0]} {number}"))
                self.simulation.at(at, partial(self.simulation.ask, self.random.choice(side), command))
        self.simulation.run(Instant(begin + count * self.clock // (OFTEN * min(map(len, sides)))))

    def recover(self) -> float | None:
        """After how many clocks all is well; None if it is not."""
        self.simulation.network.heal()
        self.healed_at = self.simulation.now
        self.messages.clear()
        self.bytes.clear()
        for _ in range(2 * RECOVERING):
            self.pass_clocks(0.5)
            if self.is_well():
                return (self.simulation.now - self.healed_at) / self.clock
        return None

    def is_well(self) -> bool:
        """Whether nobody misses anything, and all have the same."""
        states = self.states()
        first = states[0].entries
        known = all(state.ticks == states[0].ticks and not state.misses for state in states)
        return known and all(same(first.rows, state.entries.rows) for state in states[1:])

    def states(self) -> list[State]:
        """Of all nodes."""
        return list(self.simulation.states().values())

    def least(self) -> tuple[Counter[str], Counter[str]]:
        """Messages and bytes that any protocol needs: for the entries of the end, and for all changes."""
        kept = {entry.chain.head for entry in self.states()[0].entries.rows.values()}
        needed = [update for update in self.made if update.chain.head in kept]
        messages = Counter({"entries": len(needed), "changes": len(self.made)})
        sizes = [sum(len(payload(update)) for update in updates) for updates in (needed, self.made)]
        return messages, Counter(dict(zip(messages, sizes, strict=True)))

    def _observe(self, node: NodeId, taken: Taken) -> None:
        for effect in taken.effects:
            if isinstance(effect, Send):
                message = effect.message
                name = type(message).__name__.lower()
                if isinstance(message, distkv.Info):
                    name = " ".join([name, *(member for member in ("known", "ticks", "missing") if getattr(message, member))])
                elif isinstance(message, Update) and self.healed_at is None and message.chain.head.node == node:
                    self.made.append(message)
                self.messages[name] += 1
                self.bytes[name] += len(payload(message))


def same(one: Any, other: Any) -> bool:
    """Whether entries are the same, but for the tails of chains."""
    if len(one) != len(other):
        return False
    return all(
        (e.chain.head, e.value, e.tock) == (o.chain.head, o.value, o.tock) for path, e in one.items() for o in [other[path]]
    )


def told(split: Split, clocks: float | None, figures: dict[str, tuple[float, int]]) -> None:
    """Prints what came of it."""
    print(f"recovered after {clocks} clocks" if clocks is not None else "NOT RECOVERED")
    least_messages, least_bytes = split.least()
    for what, spent, least in (("messages", split.messages, least_messages), ("bytes", split.bytes, least_bytes)):
        total = sum(spent.values())
        print(f"{total:,} {what}: {', '.join(f'{name} {count:,}' for name, count in sorted(spent.items()))}")
        for needed, count in least.items():
            print(f"  {total / count:.2f} times the {count:,} that any protocol needs to send these {needed} once")
    (_, (base, base_steps)), *others = figures.items()
    for name, (seconds, steps) in others:
        ratio = seconds / steps / (base / base_steps) if steps else 0
        print(
            f"{name}: {seconds:.1f} CPU s, {steps:,} steps, {ratio:.2f} times the {base / base_steps * 1e6:.0f} µs a step before"
        )


def main() -> None:
    """Prints what is known as soon as it is."""
    arguments = options(__doc__, side=20, changes=10_000, paths=10_000, clock=5_000, seed="distkv")
    split = Split(arguments.side, arguments.paths, arguments.clock, arguments.seed)
    figures: dict[str, tuple[float, int]] = {}

    def measured(name: str, work: Any) -> Any:
        begun, steps = process_time(), split.simulation.steps
        found = work()
        figures[name] = process_time() - begun, split.simulation.steps - steps
        return found

    split.start()
    measured("before", partial(split.change, [split.sides[0] + split.sides[1]], arguments.changes // 20))
    split.pass_clocks(WAITING)
    split.made.clear()
    split.simulation.network.cut(split.sides)
    measured("changes while split", partial(split.change, split.sides, arguments.changes))
    split.pass_clocks(WAITING)
    made = len(split.made)
    print(f"2 x {arguments.side} nodes, {made:,} changes of {arguments.paths:,} paths while split", flush=True)
    clocks = measured("recovery", split.recover)
    told(split, clocks, figures)


if __name__ == "__main__":
    main()
