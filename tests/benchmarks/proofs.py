"""
What all proofs together cost, those of each protocol, and beside it what it costs to import Z3 at all.

    python tests/benchmarks/proofs.py [--rounds 3]

CPU seconds of `peerproof model prove` as a whole process, start and import included, and of `python -c 'import z3'`; the median
of several runs of each, taken in turn. The lines of the protocols are of the first run, without start and import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

from _ratios import command_cpu, options, target

TARGET = 20.0  #: CPU seconds, at most


def main() -> None:
    """Prints a line for each protocol, the sum, and the ratio to the import."""
    count = options(__doc__, rounds=3).rounds
    prove = [sys.executable, "-m", "peerproof.cli.main", "model", "prove", "--format", "json"]
    rounds = [(command_cpu(*prove), command_cpu(sys.executable, "-c", "import z3")) for _ in range(count)]
    seconds, bare = (median(round_[at][0] for round_ in rounds) for at in (0, 1))
    rows = json.loads(rounds[0][0][1])
    for row in rows:
        row["sum"] = row["cpu_seconds"] + row["twin"]["cpu_seconds"]
    for scope in sorted({row["scope"] for row in rows}, reverse=True):
        of_scope = [row for row in rows if row["scope"] == scope]
        for protocol in sorted({row["protocol"] for row in rows}):
            _print_sum(f"{protocol}, {scope}", [row for row in of_scope if row["protocol"] == protocol])
        _print_sum(f"all, {scope}", of_scope)
    slowest = max(rows, key=lambda row: row["sum"])
    paths, claims = (sum(row[name] for row in rows) for name in ("paths", "claims"))
    print(f"{len(rows)} proofs and as many twins; {paths} paths, {claims} claims; median of {count} runs")
    print(f"slowest: {slowest['item']} {slowest['name']}, {slowest['sum']:.2f} CPU-s")
    print(f"peerproof model prove {seconds:6.2f} CPU-s  {target(seconds, most=TARGET)}")
    print(f"peerproof model prove / python -c 'import z3' {seconds / bare:6.1f}  (1 = {bare:.2f} CPU-s)")


def _print_sum(name: str, rows: Sequence[dict[str, Any]]) -> None:
    paths, seconds = (sum(row[member] for row in rows) for member in ("paths", "sum"))
    print(f"{name:26} {len(rows):3} proofs {paths:6} paths {seconds:6.2f} CPU-s")


if __name__ == "__main__":
    main()
