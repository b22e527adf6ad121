"""
The simulator: node-steps per second, the share of them that is the protocol's own `step`, and memory over time.

    python tests/benchmarks/simulator.py [--nodes 100] [--rounds 1000]

Memory is what Python holds after a collection, once after a tenth of the run and once at the end; the last line is the
ratio of the two. The windows of the failure detectors are short, so that they are full after a tenth: with the default of
100 intervals, of which two of 100 nodes see one in about 30 rounds, they would still be filling up at the end.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from time import process_time
from typing import Any

from _ratios import options

from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Instant, NodeId, Pick, Specification, Step


class Timed:
    """A specification that adds up the time spent in its `step`."""

    def __init__(self, specification: Specification) -> None:
        self.inside = 0.0
        self._specification = specification

    def __getattr__(self, name: str) -> Any:
        return getattr(self._specification, name)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """The step, by the watch."""
        begin = process_time()
        step = self._specification.step(state, event, pick)
        self.inside += process_time() - begin
        return step


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def cluster(specification: Any, nodes: int, rounds: int) -> Simulation:
    """Nodes that all have one pair, a lossy network, and one update in each round."""
    simulation = Simulation(specification, "benchmark", Faults(loss=0.05, duplication=0.01, reordering=0.01))
    ids = [NodeId(f"n{number}:1") for number in range(nodes)]
    config = scuttlebutt.Config(seeds=(ids[0],), detector=scuttlebutt.Detector(window=3))
    for node in ids:
        simulation.start(node, config)
        simulation.ask(node, scuttlebutt.UpdateLocal("name", node))

    def update(number: int) -> None:
        simulation.ask(ids[number % nodes], scuttlebutt.UpdateLocal("round", str(number)))
        if number < rounds:
            simulation.at(Instant((number + 1) * 1000), lambda: update(number + 1))

    simulation.at(Instant(1000), lambda: update(1))
    return simulation


def main() -> int:
    """Prints the figures. Exits with 1 if memory has grown by more than a tenth."""
    arguments = options(__doc__, nodes=100, rounds=1000)
    specification = Timed(scuttlebutt)
    simulation = cluster(specification, arguments.nodes, arguments.rounds)
    held: list[tuple[int, int]] = []
    begin = process_time()
    for until in (arguments.rounds // 10, arguments.rounds):
        simulation.run(Instant(until * 1000))
        gc.collect()
        held.append((sys.getallocatedblocks(), resident()))
    took = process_time() - begin
    print(f"nodes                {arguments.nodes}")
    print(f"rounds of each       {arguments.rounds}")
    print(f"node-steps           {simulation.steps}")
    print(f"node-steps/s of CPU  {simulation.steps / took:.0f}")
    print(f"share inside step    {specification.inside / took:.2f}")
    for when, (blocks, size) in zip(("at a tenth", "at the end"), held, strict=True):
        print(f"memory {when}    {blocks} blocks, {size / 2**20:.1f} MiB resident")
    growth = held[1][0] / held[0][0]
    print(f"end / tenth          {growth:.2f}")
    return int(growth > 1.1)  # the update keeps two pairs a node, the rest is noise


if __name__ == "__main__":
    sys.exit(main())
