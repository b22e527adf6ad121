"""
Runs the suite against an adapter that leaks, floods, forks, hangs and dies at random: every case must have an outcome.

    python -m tests.reliability.hostile [--rate 200] [--seed 1] [--only swim]

One request in `--rate` is a misdeed (`hostile_adapter.py`). Prints how many cases ended how, the most memory that the runner had,
and how many processes of the adapter are left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from pathlib import Path

ADAPTER = "tests.reliability.hostile_adapter"


def left() -> list[int]:
    """Returns the processes of adapters that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if ADAPTER.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue  # it has just ended
    return found


def peak(pid: int, so_far: int) -> int:
    """Returns the resident memory of a process in kB, or what it was so far if that is more."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return so_far
    sizes = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
    return max(so_far, *sizes) if sizes else so_far


def main() -> int:
    """Prints the figures; the exit code is 1 if a case has no outcome, or more than one, or a process is left."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=200, help="one request in so many is a misdeed")
    parser.add_argument("--only", type=str, default="", help="only this protocol")
    parser.add_argument("--seed", type=str, default="1", help="of what is random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        adapter = f"{sys.executable} -m {ADAPTER} {arguments.seed} {arguments.rate}"
        command = [
            sys.executable,
            "-m",
            "peerproof.cli.main",
            "run",
            *([arguments.only] if arguments.only else []),
            "--impl",
            adapter,
        ]
        command += [
            "-j",
            "2",
            "--op-timeout",
            "2",
            "--max-restarts",
            "1000000",
            "--record",
            str(record),
            "--quiet",
            "--no-progress",
        ]
        begun, memory = time.monotonic(), 0
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as runner:
            while runner.poll() is None:
                memory = peak(runner.pid, memory)
                time.sleep(0.5)
            said = runner.stderr.read() if runner.stderr else ""
        lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    cases = Counter(line["case"]["id"] for line in lines if "case" in line)
    statuses = Counter(line["case"]["status"] for line in lines if "case" in line)
    missing, twice = lines[0]["header"]["selected"] - len(cases), sum(count > 1 for count in cases.values())
    print(f"{len(cases):,} cases, a misdeed in one request of {arguments.rate}, {time.monotonic() - begun:.0f} s")
    print("  " + ", ".join(f"{count:,} {status}" for status, count in statuses.most_common()))
    print(f"  without an outcome: {missing}; with more than one: {twice}; exit code {runner.returncode}")
    time.sleep(1)
    processes = left()
    print(f"  most memory of the runner: {memory:,} kB; processes of the adapter that are left: {len(processes)}")
    if runner.returncode not in (0, 1):
        print(said)
    return 1 if missing or twice or processes or runner.returncode not in (0, 1) else 0


if __name__ == "__main__":
    raise SystemExit(main())
