"""
How soon `peerproof --help` is there, against the time that Python itself takes to start.

    python tests/benchmarks/startup.py

Runs the console script and `python -c pass` in turn and prints the ratio of the CPU time of the two child processes, the
median of several rounds, and says so if it misses its target.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

ROUNDS = 21
TARGET = 4.0


def cpu(command: list[str]) -> float:
    """Seconds of CPU, user and system, that a command takes as a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Prints the ratio."""
    script = Path(sys.executable).with_name("peerproof")
    if not script.exists():
        print(f"no console script beside {sys.executable}: install the package first (pip install -e .)", file=sys.stderr)
        return 2
    started, bare = [str(script), "--help"], [sys.executable, "-c", "pass"]
    cpu(started), cpu(bare)  # compiles what is not compiled yet
    rounds = [(cpu(started), cpu(bare)) for _ in range(ROUNDS)]
    found, seconds = median(top / bottom for top, bottom in rounds), median(bottom for _, bottom in rounds)
    fine = found <= TARGET
    print(
        f"peerproof --help / python -c pass {found:7.2f}  (target at most {TARGET}; 1 = {seconds * 1000:.1f} ms of CPU; "
        f"median of {ROUNDS} rounds)  {'ok' if fine else 'MISSED'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
