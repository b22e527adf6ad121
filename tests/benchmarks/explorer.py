"""
How fast the explorer is: against TLC with one worker, and in two processes against one.

    python tests/benchmarks/explorer.py [MODEL]        (default: small-a, and medium for the processes; medium takes minutes)

TLC's CPU time includes its start; it checks no property and dumps no graph. The explorer runs in a process of its own, so that
its memory is its own. All must find the same number of states. Two processes are compared by the clock on the wall, so that
whatever else runs on the machine counts against them; of several turns the best of each counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import NamedTuple

from peerproof.tla.manifest import Model, models, root
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

TARGET = 1.0  #: of TLC's speed, at least
BYTES_TARGET = 500  #: a state, at most, all processes together
PROCESSES_TARGET = 1.6  #: times one process, at least, two of them
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


def children() -> float:
    """CPU seconds of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tlc(model: Model) -> tuple[int, float]:
    """States, and CPU seconds."""
    before = children()
    what = Run(module=model.module_path, configuration=model.cfg(checks=False), library=(root(),), brief=model.size == "small")
    result = run(find(), what)
    return result.distinct, children() - before


def explorer(name: str, processes: int = 1) -> Explored:
    """One run in a process of its own."""
    before = children()
    line = [sys.executable, "-c", EXPLORE, name, str(processes)]
    said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    states, edges, wall, kib = said.split()
    return Explored(int(states), int(edges), float(wall), int(kib), children() - before)


def verdict(about: str, found: float, target: float, *, most: bool = False) -> None:
    """One line."""
    reached = found <= target if most else found >= target
    bound = "at most" if most else "at least"
    print(f"{about:44} {found:8.2f}  (target {bound} {target})  {'ok' if reached else 'MISSED'}", flush=True)


def main() -> None:
    """Prints the ratios, and what a state takes."""
    name = sys.argv[1] if len(sys.argv) > 1 else "small-a"
    model = next(model for model in models("scuttlebutt") if model.name == name)
    tlc_states, tlc_seconds = tlc(model)
    found = explorer(name)
    assert found.states == tlc_states, f"{found.states} states in Python, {tlc_states} in TLC"
    print(f"{name}: {found.states:,} states, {found.edges:,} edges; explorer {found.cpu:.1f} CPU-s, TLC {tlc_seconds:.1f} CPU-s")
    verdict("explorer's speed / TLC's", tlc_seconds / found.cpu, TARGET)
    verdict("bytes a state", found.kib * 1024 / found.states, BYTES_TARGET, most=True)
    one, two = [], []
    for _ in range(TURNS):
        one.append(explorer("medium"))
        two.append(explorer("medium", 2))
    assert one[0].states == two[0].states
    alone, together = min(run.wall for run in one), min(run.wall for run in two)
    print(f"medium: one process {alone:.1f} s, two {together:.1f} s on the wall; {one[0].cpu:.1f} and {two[0].cpu:.1f} CPU-s")
    print(
        f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: above 2, the clock also counts what others do"
    )
    verdict("speed of two processes / of one, on the wall", alone / together, PROCESSES_TARGET)
    verdict("bytes a state, in two processes", two[0].kib * 1024 / two[0].states, BYTES_TARGET, most=True)


if __name__ == "__main__":
    main()
