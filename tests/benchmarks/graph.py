"""
What the comparison of the state graphs costs: `peerproof graph scuttlebutt`, its TLC, its explorer and the reading of dumps.

    python tests/benchmarks/graph.py [small|medium]        (default: small; medium takes minutes)

The named baseline is TLC alone on the same graphs, without a dump. Memory is that of the largest process.
"""

from __future__ import annotations

import resource
import subprocess
import sys

from peerproof.tla.manifest import models, root
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

TARGETS = {"small": 30.0, "medium": 200.0}  #: CPU seconds, at most
MEGABYTES_TARGET = 2000  #: of any process, at most


def children() -> float:
    """CPU seconds of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def tlc_alone(names: list[str]) -> float:
    """CPU seconds that TLC takes to explore these models."""
    before, tools = children(), find()
    for model in models("scuttlebutt"):
        if model.name in names:
            brief = model.size == "small"
            run(tools, Run(module=model.module_path, configuration=model.cfg(checks=False), library=(root(),), brief=brief))
    return children() - before


def main() -> None:
    """Prints the cost beside the target, and beside what TLC takes alone."""
    size = sys.argv[1] if len(sys.argv) > 1 else "small"
    before = children()
    said = subprocess.run(
        [sys.executable, "-m", "peerproof.cli.main", "graph", "scuttlebutt", "--size", size],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    spent = children() - before
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(said, end="")
    alone = tlc_alone([line.split()[0] for line in said.splitlines()])
    print(f"graphs of TLC alone {alone:.1f} CPU-s; all of the comparison {spent:.1f} CPU-s, {spent / alone:.2f} times as much")
    target = TARGETS[size]
    print(f"CPU seconds  {spent:8.1f}  (target at most {target:.0f})  {'ok' if spent <= target else 'MISSED'}")
    reached = "ok" if megabytes <= MEGABYTES_TARGET else "MISSED"
    print(f"megabytes    {megabytes:8.0f}  (target at most {MEGABYTES_TARGET})  {reached}")


if __name__ == "__main__":
    main()
