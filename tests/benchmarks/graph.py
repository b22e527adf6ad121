"""
What the comparison of the state graphs costs: `peerproof model graph PROTOCOL`, its TLC, its explorer and the reading of
dumps.

    python tests/benchmarks/graph.py [small|medium] [PROTOCOL]        (default: small scuttlebutt; medium takes minutes)

The named baseline is TLC alone on the same graphs, without a dump. Memory is that of the largest process.
"""

from __future__ import annotations

import resource
import sys

from _ratios import children_cpu, command_cpu, target

from peerproof.tla.manifest import models, root
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run

TARGET = 2.0  #: times what TLC takes alone, at most
MEGABYTES_TARGET = 2000  #: of any process, at most


def explore_with_tlc(protocol: str, names: list[str]) -> None:
    """These models, by TLC alone."""
    tools = find()
    for model in models(protocol):
        if model.name in names:
            what = Run(module=model.module_path, configuration=model.cfg(checks=False), library=(root(),), brief=model.is_brief)
            run(tools, what)


def main() -> None:
    """Prints the cost beside the target, and beside what TLC takes alone."""
    size, protocol = [*sys.argv[1:], *("small", "scuttlebutt")[len(sys.argv) - 1 :]]
    spent, said = command_cpu(sys.executable, "-m", "peerproof.cli.main", "model", "graph", protocol, "--size", size)
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(said, end="")
    alone, _ = children_cpu(lambda: explore_with_tlc(protocol, [line.split()[0] for line in said.splitlines()]))
    print(f"graphs of TLC alone {alone:.1f} CPU-s; all of the comparison {spent:.1f} CPU-s")
    print(f"times TLC    {spent / alone:8.2f}  {target(spent / alone, most=TARGET)}")
    print(f"megabytes    {megabytes:8.0f}  {target(megabytes, most=MEGABYTES_TARGET)}")


if __name__ == "__main__":
    main()
