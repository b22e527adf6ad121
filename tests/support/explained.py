"""What a relation says of recorded lines, of which it sees a part."""

from __future__ import annotations

from peerproof.spec.core import NodeId, Send, Specification
from peerproof.spec.traces.relation import Judgement, Observed, Relation
from peerproof.spec.traces.trace import Line, event_of


def observed(specification: Specification, line: Line, way: str) -> Observed:
    """So much of a line: its state, its effects, or its messages alone; never its answers of chance."""
    message = specification.MESSAGE
    sends = [Send(NodeId(e["send"]["to"]), message.value(e["send"]["message"])) for e in line.effects if "send" in e]
    match way:
        case "messages":
            return Observed(sends=tuple(sends))
        case "effects":
            return Observed(None, line.effects, None, None, line.refused)
    return Observed(None, line.effects, None, line.state, line.refused)


def explain_line(specification: Specification, relation: Relation, line: Line, way: str) -> Judgement:
    """What a relation says of a line, of which it sees so much."""
    if line.kind == "start":
        config = specification.CONFIG.value(line.args)
        return relation.start(NodeId(line.node), config, observed(specification, line, way))
    return relation.take(event_of(specification, line), observed(specification, line, way))
