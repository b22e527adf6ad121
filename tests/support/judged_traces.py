"""What the replay and TLC say of the same traces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

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
