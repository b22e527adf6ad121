"""
What all proofs together cost, beside what it costs to import Z3 at all.

    python tests/benchmarks/proofs.py [PROTOCOL]

CPU seconds of `peerproof model prove` as a whole process, start and import included, and of `python -c 'import z3'`; the median
of several runs of each, taken in turn.
"""

from __future__ import annotations

import json
import sys
from statistics import median

from _ratios import command_cpu, target

ROUNDS = 3
TARGET = 10.0  #: CPU seconds, at most


def main() -> None:
    """Prints the sum, and the ratio to the import."""
    prove = [sys.executable, "-m", "peerproof.cli.main", "model", "prove", "--format", "json", *sys.argv[1:]]
    rounds = [(command_cpu(*prove), command_cpu(sys.executable, "-c", "import z3")) for _ in range(ROUNDS)]
    seconds, bare = (median(round_[at][0] for round_ in rounds) for at in (0, 1))
    rows = json.loads(rounds[0][0][1])
    slowest = max(rows, key=lambda row: row["cpu_seconds"] + row["twin"]["cpu_seconds"])
    paths, claims = (sum(row[count] for row in rows) for count in ("paths", "claims"))
    print(f"{len(rows)} proofs and as many twins; {paths} paths, {claims} claims; median of {ROUNDS} runs")
    print(f"slowest: {slowest['item']} {slowest['name']}, {slowest['cpu_seconds'] + slowest['twin']['cpu_seconds']:.2f} CPU-s")
    print(f"peerproof model prove {seconds:6.2f} CPU-s  {target(seconds, most=TARGET)}")
    print(f"peerproof model prove / python -c 'import z3' {seconds / bare:6.1f}  (1 = {bare:.2f} CPU-s)")


if __name__ == "__main__":
    main()
