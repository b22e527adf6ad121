"""The events around a divergence as a message graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from peerproof.conformance.diagrams.labels import MARK, message_text, plain_text
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note


def around(context: str, seq: int | None) -> MessageGraph | None:
    """Returns the events around a divergence, from the column `context`; None if they are not trace lines."""
    try:
        lines = json.loads(context)
        happenings = tuple(happening for line in lines for happening in _happenings(line, diverges=line.get("seq") == seq))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    names: dict[str, None] = {}
    for happening in happenings:
        match happening:
            case Arrow(source, target):
                names |= dict.fromkeys((source, target))
            case Note(node):
                names[node] = None
    return MessageGraph(tuple(names), happenings)


def _happenings(line: Mapping[str, Any], *, diverges: bool) -> Iterator[Arrow | Note]:
    node, args = plain_text(line["node"]), line.get("args")
    number = f"{MARK if diverges else ''}{line.get('seq', '')}."
    match line["kind"]:
        case "recv":
            yield Arrow(plain_text(line["peer"]), node, f"{number} {message_text(args)}")
        case "send":
            yield Arrow(node, plain_text(line["peer"]), f"{number} {message_text(args)}")
        case "sent" if isinstance(args, dict):
            outcome = "not arrived" if args["took"] is None else f"arrived after {args['took']} us"
            yield Note(node, f"{number} {outcome}: {message_text(args['message'])} to {plain_text(line['peer'])}")
        case "start":
            yield Note(node, f"{number} start")
        case kind:
            yield Note(node, f"{number} {kind} {message_text(args)}")
    if line.get("refused"):
        yield Note(node, f"refused: {plain_text(line['refused'])}")
    for effect in line.get("effects") or ():
        if "send" in effect:
            yield Arrow(node, plain_text(effect["send"]["to"]), message_text(effect["send"]["message"]))
        elif "notify" in effect:
            yield Note(node, f"tells {message_text(effect['notify'])}")
