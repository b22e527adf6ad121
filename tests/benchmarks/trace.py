"""
How fast traces are checked: by the replay, beside `json.loads` of the same lines, and by TLC.

    python tests/benchmarks/trace.py [--events 20000] [--no-tlc]

The lines are those of simulated clusters of 3, 5 and 20 nodes with their default configuration, some loss and duplication, and
20 pairs that each node sets, so that failure detectors have windows of 100 intervals and states are thousands of characters.
Each figure is CPU time: for Python the least of three rounds, for TLC that of its whole Java machine, start and all. What the
replay does for each line, as JSON or not: read it, take the step, compare its effects, and hash what has changed of the state.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from _ratios import children_cpu, cpu, options, target

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.traces.replay import replay
from peerproof.spec.traces.trace import parse
from peerproof.tla.tools.installation import Tools, ToolsUnusable, find
from peerproof.tla.traces.trace_check import Opinion, check_with_tlc
from peerproof.tla.traces.trace_data import TraceData

ROUNDS = 3
NODES = (3, 5, 20)
TARGET, TLC_TARGET = 100_000, 4_000

PROTOCOL = RUNTIMES["scuttlebutt"]
SPEC = PROTOCOL.specification()


def recorded(nodes: int, events: int) -> list[str]:
    """The lines of a simulated cluster, about so many."""
    lines: list[str] = []
    plan = Campaign(PROTOCOL, {}, nodes, events // (3 * nodes), f"benchmark-{nodes}", 20, Faults(loss=0.02, duplication=0.01))
    campaign.run(plan, lines.append)
    return lines


def least(work: Callable[[], object]) -> float:
    """CPU seconds, the least of some rounds."""
    return min(cpu(work) for _ in range(ROUNDS))


def replayed(lines: list[str]) -> None:
    """A replay of all lines, which must agree."""
    assert replay(lines, SPEC)


def loaded(lines: list[str]) -> None:
    """The baseline: the standard library reads the same lines, and no more."""
    for line in lines:
        json.loads(line)


def by_tlc(tools: Tools, lines: list[str]) -> float:
    """Seconds of CPU that Java takes for all lines."""
    data = TraceData(SPEC, len(lines))
    for line in lines:
        data.add(parse(line))
    seconds, judgements = children_cpu(lambda: check_with_tlc(tools, PROTOCOL.name, data))
    assert {judgement.opinion for judgement in judgements} == {Opinion.ACCEPTED}
    return seconds


def main() -> None:
    """Prints the figures of each cluster."""
    arguments = options(__doc__, events=20_000, no_tlc=False)
    tools = None
    if not arguments.no_tlc:
        try:
            tools = find()
        except ToolsUnusable as problem:
            print(f"TLC is not run: {problem}")
    every: list[str] = []
    for nodes in NODES:
        lines = recorded(nodes, arguments.events)
        every += lines
        told(nodes, lines)
    if tools:
        java = by_tlc(tools, every)
        speed = len(every) / java
        print(
            f"TLC, one Java machine for all {len(every):,} events: {speed:,.0f} events/CPU-s  {target(speed, least=TLC_TARGET)}"
        )


def told(nodes: int, lines: list[str]) -> None:
    """Prints the figures of one cluster."""
    baseline, took = least(lambda: loaded(lines)), least(lambda: replayed(lines))
    speed, size = len(lines) / took, sum(map(len, lines)) / len(lines)
    print(f"{nodes} nodes, {len(lines):,} events, {size:.0f} characters a line")
    print(f"  replay      {speed:9,.0f} events/CPU-s, {took / len(lines) * 1e6:.1f} µs each  {target(speed, least=TARGET)}")
    print(f"  json.loads  {len(lines) / baseline:9,.0f} lines/CPU-s; replay / json.loads: {took / baseline:.1f} times the time")


if __name__ == "__main__":
    main()
