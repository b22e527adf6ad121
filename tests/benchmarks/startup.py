"""
How soon `peerproof --help` is there, against the time that Python itself takes to start.

    python tests/benchmarks/startup.py

Runs the console script and `python -c pass` in turn and prints the ratio of the CPU time of the two child processes, the
median of several rounds, and says so if it misses its target.
"""

from __future__ import annotations

import sys
from pathlib import Path

from _ratios import command_cpu, ratio, target

ROUNDS = 21
TARGET = 4.0


def main() -> int:
    """Prints the ratio."""
    script = Path(sys.executable).with_name("peerproof")
    if not script.exists():
        print(f"no console script beside {sys.executable}: install the package first (pip install -e .)", file=sys.stderr)
        return 2
    command_cpu(str(script), "--help")  # compiles what is not compiled yet
    found, seconds = ratio(
        lambda: command_cpu(str(script), "--help")[0], lambda: command_cpu(sys.executable, "-c", "pass")[0], ROUNDS
    )
    print(f"peerproof --help / python -c pass {found:7.2f}  {target(found, most=TARGET)}")
    print(f"1 = {seconds * 1000:.1f} ms of CPU; median of {ROUNDS} rounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
