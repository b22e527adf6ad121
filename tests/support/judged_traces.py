"""What the replay and TLC say of the same traces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from random import Random

from tests.support.changed_traces import Change

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.replay import Replay
from peerproof.spec.traces.trace import Divergence, parse
from peerproof.tla.tools.installation import Tools
from peerproof.tla.traces.trace_check import Comparison, Judgement, check_with_tlc, compare, view
from peerproof.tla.traces.trace_data import TraceData

MOST = 10**6


@dataclass(frozen=True)
class Judged:
    """What the two say of one trace."""

    judgement: Judgement
    divergence: Divergence | None  #: the first that the replay finds
    comparison: Comparison


def judged(tools: Tools, protocol: str, lines: Iterable[str], *, with_states: bool = True) -> list[Judged]:
    """
    Judges all traces in one Java machine. Lines that cannot be read are passed over.

    Without fingerprints of states, which TLC does not compare, what is wrong shows in what a node does.
    """
    specification = PROTOCOLS[protocol].specification.load()
    data, replay = TraceData(specification, MOST), Replay(specification)
    found: dict[tuple[str, str], tuple[Divergence, int]] = {}
    for text in lines:
        try:
            line = parse(text)
        except MalformedMessage:
            continue  # the last line of a file that was cut
        line = line if with_states else replace(line, state=None)
        divergence, owner = replay.line(line), (line.run, line.node)
        data.add(line)
        if divergence is not None:
            found.setdefault(owner, (divergence, replay.nodes[owner].events))
    result = []
    for judgement in check_with_tlc(tools, protocol, data):
        divergence, event = found.get((judgement.run, judgement.node), (None, None))
        result.append(Judged(judgement, divergence, compare(divergence, event, judgement, view(protocol))))
    return result


def judged_after(
    tools: Tools, protocol: str, changes: Collection[tuple[str, Change]], simulated: Callable[[int], list[str]]
) -> dict[str, list[Judged]]:
    """
    By the name of the change: what is said of the traces that were changed so.

    `simulated`: the lines of a cluster by a number; each is a run of its own.
    """
    names, lines = dict[str, str](), list[str]()
    for number, (name, change) in enumerate(changes):
        cluster = simulated(number)
        names[parse(cluster[0]).run] = name
        lines += change(cluster, Random(number))
    assert len(names) == len(changes), "each has a run of its own"
    result: dict[str, list[Judged]] = {name: [] for name in names.values()}
    for each in judged(tools, protocol, lines):
        result[names[each.judgement.run]].append(each)
    return result
