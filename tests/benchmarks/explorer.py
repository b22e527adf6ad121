"""
How fast the explorer is: against TLC with one worker, and in two processes against one.

    python tests/benchmarks/explorer.py [MODEL]        (default: small-a, and medium for the processes; medium takes minutes)

TLC's CPU time includes its start; it checks no property and dumps no graph. The explorer runs in a process of its own, so that
its memory is its own. All must find the same number of states. Two processes are compared by the clock on the wall, so that
whatever else runs on the machine counts against them; of several turns the best of each counts.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from _ratios import children_cpu, command_cpu, target

from peerproof.tla.manifest import Model, models, root
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

TARGET = 1.0  #: of TLC's speed, at least
BYTES_TARGET = 500  #: a state, at most, all processes together
PROCESSES_TARGET = 1.7  #: times one process, at least, two of them
TURNS = 3

#: Prints states, edges, seconds on the wall, and by how many KiB the exploration has made the processes larger.
EXPLORE = """\
import resource, sys, time
from peerproof.spec.model.explorer import explore
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.tla.manifest import configurations
model, processes = Model(configurations("scuttlebutt")[sys.argv[1]].constants), int(sys.argv[2])
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
found = explore(model, processes=processes)
seconds = time.perf_counter() - begun
here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
# Of all children the largest is known; they are about equal, as each owns its share of the worlds.
there = processes * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before) if processes > 1 else 0
print(len(found.depths), sum(found.edges.values()), seconds, here + there)
"""


class Explored(NamedTuple):
    """What an exploration found, and what it took."""

    states: int
    edges: int
    wall: float
    kib: int
    cpu: float


def tlc(model: Model) -> tuple[int, float]:
    """States, and CPU seconds."""
    what = Run(module=model.module_path, configuration=model.cfg(checks=False), library=(root(),), brief=model.size == "small")
    seconds, result = children_cpu(lambda: run(find(), what))
    return result.distinct, seconds


def explorer(name: str, processes: int = 1) -> Explored:
    """One run in a process of its own."""
    cpu, said = command_cpu(sys.executable, "-c", EXPLORE, name, str(processes))
    states, edges, wall, kib = said.split()
    return Explored(int(states), int(edges), float(wall), int(kib), cpu)


def print_figure(about: str, found: float, **bound: float) -> None:
    """Prints one line."""
    print(f"{about:44} {found:8.2f}  {target(found, **bound)}", flush=True)


def main() -> None:
    """Prints the ratios, and what a state takes."""
    name = sys.argv[1] if len(sys.argv) > 1 else "small-a"
    model = next(model for model in models("scuttlebutt") if model.name == name)
    tlc_states, tlc_seconds = tlc(model)
    found = explorer(name)
    assert found.states == tlc_states, f"{found.states} states in Python, {tlc_states} in TLC"
    print(f"{name}: {found.states:,} states, {found.edges:,} edges; explorer {found.cpu:.1f} CPU-s, TLC {tlc_seconds:.1f} CPU-s")
    print_figure("explorer's speed / TLC's", tlc_seconds / found.cpu, least=TARGET)
    print_figure("bytes a state", found.kib * 1024 / found.states, most=BYTES_TARGET)
    one, two = zip(*((explorer("medium"), explorer("medium", 2)) for _ in range(TURNS)), strict=True)
    assert one[0].states == two[0].states
    alone, together = min(run.wall for run in one), min(run.wall for run in two)
    print(f"medium: one process {alone:.1f} s, two {together:.1f} s on the wall; {one[0].cpu:.1f} and {two[0].cpu:.1f} CPU-s")
    print(
        f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: above 2, the clock also counts what others do"
    )
    print_figure("speed of two processes / of one, on the wall", alone / together, least=PROCESSES_TARGET)
    print_figure("bytes a state, in two processes", two[0].kib * 1024 / two[0].states, most=BYTES_TARGET)


if __name__ == "__main__":
    main()
