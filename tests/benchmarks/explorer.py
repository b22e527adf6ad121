"""
How fast the explorer is, against TLC with one worker on the same configuration.

    python tests/benchmarks/explorer.py [MODEL]        (default: small-a; medium takes minutes)

TLC's CPU time includes its start; it checks no property and dumps no graph. The explorer runs in a process of its own, so that
its memory is its own. Both must find the same number of states.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from peerproof.tla.manifest import Model, models, root
from peerproof.tla.tlc import Run, run
from peerproof.tla.tools import find

TARGET = 1.0  #: of TLC's speed, at least
BYTES_TARGET = 500  #: a state, at most

#: Prints states, edges, and by how many KiB the exploration has made the process larger.
EXPLORE = """\
import resource, sys
from peerproof.spec.explore import explore
from peerproof.spec.scuttlebutt.world import Model
from peerproof.tla.manifest import configurations
model = Model(configurations("scuttlebutt")[sys.argv[1]].constants)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = explore(model)
print(len(found.depths), sum(found.edges.values()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def children() -> float:
    """CPU seconds of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tlc(model: Model) -> tuple[int, float]:
    """States, and CPU seconds."""
    before = children()
    text = "\n".join(line for line in model.cfg().splitlines() if not line.startswith(("INVARIANT", "PROPERTY"))) + "\n"
    result = run(find(), Run(module=model.module_path, configuration=text, library=(root(),)))
    return result.distinct, children() - before


def explorer(name: str) -> tuple[int, int, int, float]:
    """States, edges, KiB, and CPU seconds."""
    before = children()
    said = subprocess.run([sys.executable, "-c", EXPLORE, name], capture_output=True, text=True, check=True).stdout
    states, edges, kib = map(int, said.split())
    return states, edges, kib, children() - before


def main() -> None:
    """Prints the ratio, and what a state takes."""
    name = sys.argv[1] if len(sys.argv) > 1 else "small-a"
    model = next(model for model in models("scuttlebutt") if model.name == name)
    tlc_states, tlc_seconds = tlc(model)
    states, edges, kib, seconds = explorer(name)
    assert states == tlc_states, f"{states} states in Python, {tlc_states} in TLC"
    ratio, size = tlc_seconds / seconds, kib * 1024 / states
    print(f"{name}: {states:,} states, {edges:,} edges; explorer {seconds:.1f} CPU-s, TLC {tlc_seconds:.1f} CPU-s")
    print(f"explorer's speed / TLC's {ratio:8.2f}  (target at least {TARGET})  {'ok' if ratio >= TARGET else 'MISSED'}")
    print(f"bytes a state            {size:8.0f}  (target at most {BYTES_TARGET})  {'ok' if size <= BYTES_TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
