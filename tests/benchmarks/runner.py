"""
What the runner costs: through a subprocess adapter, in process, and until the first verdict.

    python tests/benchmarks/runner.py

Through a subprocess: operations per second of whole cases (requests made, replies checked, judged, results made), against a
bare echo of JSON lines: a loop that encodes the very same requests, writes them to the very same program, reads a line for
each and decodes it. Both follow the same rule: one request on its way at a time, or a pack of them written at once before
the answers are read. The program parses each line and answers it with a few members of JSON. In a batch, many requests are
one line; that is shown beside it.

In process: decode and encode vectors per second with the reference. First verdict: CPU seconds of `peerproof run -k ID`,
its children included. Medians of several rounds, both sides in turn, and where a target is missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from _ratios import command_cpu, ratio, target

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter, program
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import PACK
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.worker import Control, Worker
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Suite, Vector, load

ROUNDS = 7
OPERATIONS = 8 * PACK
STEPS = 16  #: operations of an exchange
CASE = "scuttlebutt/codec/digest-request-of-one"

#: Answers each line with a few members of JSON. Without an argument it knows no batch.
PROGRAM = """\
import json, sys
ANSWERS = {
    "hello": {"protocol": 1, "name": "constant", "version": "1", "choices": "oracle",
              "protocols": {"scuttlebutt": {"capabilities": ["codec", "exchange"]}}},
    "open": {"handle": 1, "effects": [], "next_timer_ms": None},
    "recv": {"effects": [], "next_timer_ms": None},
}
def answer(request):
    if request["op"] == "decode":
        entry = {"addr": "n1:1", "version": str(int(request["bytes"][12:], 16))}
        return {"ok": True, "value": {"type": "digest_request", "entries": [entry]}}
    if request["op"] == "batch":
        if len(sys.argv) < 2:
            return {"error": {"code": "unknown_op"}}
        return {"ok": True, "results": [answer(item) for item in request["items"]]}
    return {"ok": True, **ANSWERS.get(request["op"], {})}
for line in sys.stdin.buffer:
    request = json.loads(line)
    sys.stdout.write(json.dumps({"id": request["id"], **answer(request)}) + "\\n")
    sys.stdout.flush()
"""


def suite_of(bodies: Sequence[dict[str, Any]]) -> Suite:
    """A suite of vectors."""
    vectors = tuple(
        Vector(str(body["id"]), 1, "", "scuttlebutt", str(body["id"]).split("/")[1], "must", (), (), (), body, "", 1)
        for body in bodies
    )
    return Suite(vectors, "", "1", {}, {}, {}, Path())


def codec_cases() -> list[Case]:
    """Decode cases, each of another vector."""
    bodies = [
        {
            "id": f"scuttlebutt/codec/{number}",
            "message": {"type": "digest_request", "entries": [{"addr": "n1:1", "version": number}]},
            "bytes": f"01046e313a31{number:016x}",
            "checks": ["decode"],
        }
        for number in range(OPERATIONS)
    ]
    suite = suite_of(bodies)
    return cases(suite, suite.vectors)


def node_cases() -> list[Case]:
    """Exchanges in which a node is sent one datagram after the other."""
    steps = [{"at": at, "send": {"from": "peer", "to": "node", "bytes": "01"}} for at in range(STEPS - 2)]  # open, close
    nodes = {"node": {"addr": "b:1"}, "peer": {"addr": "a:1", "role": "scripted"}}
    bodies = [{"id": f"scuttlebutt/exchange/{number}", "nodes": nodes, "steps": steps} for number in range(OPERATIONS // STEPS)]
    suite = suite_of(bodies)
    return cases(suite, suite.vectors)


def passed_per_second(lane: Worker, tried: Sequence[Case]) -> float:
    """Cases per second, all of which must pass."""
    results: list[Result] = []
    begin = time.perf_counter()
    for start in range(0, len(tried), PACK):
        lane.run(tried[start : start + PACK], results.append)
    seconds = time.perf_counter() - begin
    assert {result.status for result in results} == {"passed"}, results[0]
    return len(results) / seconds


class Through:
    """Cases through the program: the runner's own way, and a bare loop with the same requests."""

    def __init__(self, command: Sequence[str], tried: Sequence[Case], window: int) -> None:
        self.command = command
        self.tried = tried
        self.window = window
        self.lines: list[bytes] = []
        self.operations = 0
        self.runner(watch=self._note)
        self.lines = [line for line in self.lines if b'"op":"batch"' not in line]

    def _note(self, direction: str, line: str) -> None:
        if direction == ">":
            self.lines.append(line.encode() + b"\n")

    def runner(self, watch: Callable[[str, str], None] | None = None) -> float:
        """Operations per second of the runner."""
        adapter: Adapter = program(self.command, Timeouts(), "1", watch)
        lane = Worker(adapter, adapter.start(), "0", Control(1))
        rate = passed_per_second(lane, self.tried) * OPERATIONS / len(self.tried)
        adapter.kill()
        return rate

    def bare(self) -> float:
        """Operations per second of a loop that does nothing with what it reads."""
        child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert child.stdin is not None
        assert child.stdout is not None
        answers = open(child.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115  # closed with the child
        hello, *lines = self.lines
        child.stdin.write(hello)
        answers.readline()
        requests = [json.loads(line) for line in lines]
        begin = time.perf_counter()
        for start in range(0, len(requests), self.window):
            pack = [json.dumps(request) + "\n" for request in requests[start : start + self.window]]
            child.stdin.write("".join(pack).encode())
            for _ in pack:
                json.loads(answers.readline())
        seconds = time.perf_counter() - begin
        child.kill()
        child.communicate()
        return len(lines) / seconds


def in_process() -> float:
    """Codec cases per second, with the reference in this process."""
    suite = load()
    tried = [case for case in cases(suite, suite.vectors) if case.part in ("decode", "encode")]
    tried = (tried * (5000 // len(tried) + 1))[:5000]
    adapter = create_adapter("py:peerproof.reference.harness.harness:Harness", "1", Timeouts())
    hello: Hello = adapter.start()
    lane = Worker(adapter, hello, "0", Control(1))
    rate = passed_per_second(lane, tried)
    adapter.stop()
    return rate


def first_verdict() -> float:
    """CPU seconds of one case from the command line."""
    return command_cpu(sys.executable, "-m", "peerproof.cli.main", "run", "-k", f"{CASE}#decode")[0]


def compared(what: str, through: Through, least: float | None) -> None:
    """Prints how the runner compares with the bare echo of the same requests."""
    of_bare, bare = ratio(through.runner, through.bare, ROUNDS)
    print(f"{what:50} {of_bare:5.2f}, about {of_bare * bare:7,.0f} op/s  {target(of_bare, least=least)}")


def main() -> None:
    """Prints a line for each target."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "constant.py"
        script.write_text(PROGRAM)
        command = [sys.executable, str(script)]
        for what, through in (
            ("one at a time (node cases)", Through(command, node_cases(), 1)),
            (f"packs of {PACK} (codec cases)", Through(command, codec_cases(), PACK)),
        ):
            compared(f"runner / bare echo, {what}", through, 0.5)
        batched = Through([*command, "batch"], codec_cases(), PACK)
        batched.lines = through.lines
        compared("  the same packs as batches", batched, None)
    rate = median(in_process() for _ in range(ROUNDS))
    print(f"codec vectors in process {rate:,.0f}/s  {target(rate, least=5000)}")
    first_verdict()
    seconds = median(first_verdict() for _ in range(ROUNDS))
    print(f"first verdict, CPU {seconds:.2f} s  {target(seconds, most=1)}")


if __name__ == "__main__":
    main()
