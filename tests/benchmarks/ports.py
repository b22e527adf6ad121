"""
The ports in Rust beside the reference in this process: how fast the suite runs against them, and how fast their codecs are.

    python tests/benchmarks/ports.py

The suite: every tenth case of a protocol, with the CPU time of the runner and of the implementation, start and end included.
The port is a program behind a pipe, which has its requests in packs; the reference needs no pipe, but its nodes are in Python.

Codecs: the requests to decode and to encode of these cases, many times over, from one line of JSON to another, as every adapter
has to answer them. So both sides also read and write JSON; no request of the adapter protocol measures a codec alone.

The reference in process is the baseline: a ratio of 4 means that it takes four times the CPU time that the port takes. Medians of
a few rounds, both sides in turn. Cargo builds the ports with optimizations; without Cargo there is nothing to compare.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import process_time

from _ratios import children_cpu, cpu, ratio, target

from peerproof.conformance.adapter.adapter import Watch
from peerproof.conformance.adapter.choices import nothing_to_choose
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import PACK
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.worker import Control, Worker
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import load
from peerproof.reference.harness.harness import Harness

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "build/rust-ports"
REFERENCE = "py:peerproof.reference.harness.harness:Harness"
PROTOCOLS = ("scuttlebutt", "swim")
ROUNDS = 3
LINES = 10_000  #: requests of a round of a codec


def run_cpu(tried: Sequence[Case], implementation: str, watch: Watch | None = None) -> float:
    """Seconds of CPU of the suite and an implementation, which passes all cases."""
    results: list[Result] = []

    def run() -> None:
        adapter = create_adapter(implementation, "1", Timeouts(), watch)
        worker = Worker(adapter, adapter.start(), "0", Control(1))
        for start in range(0, len(tried), PACK):
            worker.run(tried[start : start + PACK], results.append)
        adapter.stop()

    before = process_time()
    children, _ = children_cpu(run)
    assert {result.status for result in results} == {"passed"}
    return process_time() - before + children


def requests_of(tried: Sequence[Case]) -> list[str]:
    """The requests that the suite makes in these cases, as lines."""
    lines: list[str] = []
    run_cpu(tried, REFERENCE, lambda direction, line: lines.append(line) if direction == ">" else None)
    return lines


def answer_here(lines: Sequence[str]) -> None:
    """Answers requests with the reference, as its adapter does."""
    harness = Harness()
    for line in lines:
        json.dumps(harness.handle(json.loads(line), nothing_to_choose))


def answer_there(program: Path, lines: Sequence[str]) -> float:
    """Seconds of CPU of a program that answers requests."""
    text = "\n".join(lines) + "\n"
    run = partial(subprocess.run, [program], input=text, stdout=subprocess.PIPE, text=True, check=True)
    seconds, done = children_cpu(run)
    assert done.stdout.count('"ok":true') == len(lines)
    return seconds


def compare(protocol: str) -> None:
    """Prints a line about the suite, and one about each half of the codec."""
    suite, program = load(), TARGET / f"release/{protocol}-adapter"
    tried = cases(suite, [vector for vector in suite.vectors if vector.protocol == protocol])[::10]
    lines = requests_of(tried)
    found, there = ratio(partial(run_cpu, tried, REFERENCE), partial(run_cpu, tried, f"'{program}'"), ROUNDS)
    rates = f"{len(lines) / there / found:7,.0f} and {len(lines) / there:7,.0f} op/s"
    print(f"{protocol + ', suite: reference in process / Rust':52} {found:6.2f}  {rates}  {target(found)}")
    for op in ("decode", "encode"):
        asked = [line for line in lines if f'"op":"{op}"' in line]
        many = (asked * (LINES // len(asked) + 1))[:LINES]
        found, there = ratio(lambda: cpu(partial(answer_here, many)), partial(answer_there, program, many), ROUNDS)  # noqa: B023
        rates = f"{LINES / there / found:7,.0f} and {LINES / there:7,.0f} op/s"
        print(f"{f'{protocol}, {op} a line: reference in process / Rust':52} {found:6.2f}  {rates}  {target(found, least=2.0)}")


def main() -> None:
    """Prints three lines for each port."""
    cargo = shutil.which("cargo")
    if cargo is None:
        print("the ports in Rust are not measured: there is no cargo (https://rustup.rs)")
        return
    manifest = str(ROOT / "conformance/adapters/rust/Cargo.toml")
    command = [cargo, "build", "--quiet", "--release", "--manifest-path", manifest, "--target-dir", str(TARGET)]
    subprocess.run(command, check=True)
    print(f"CPU time, median of {ROUNDS} rounds")
    for protocol in PROTOCOLS:
        compare(protocol)


if __name__ == "__main__":
    main()
