"""A message graph as SVG, and the events around a divergence as a message graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from peerproof.conformance.message_graph import Arrow, MessageGraph, Note, plain_text, shortened

COLUMN: Final = 400  #: from one participant's line to the next
ROW: Final = 34
MARGIN: Final = 120
HEAD: Final = 46

#: Characters of a label, which has the width of about a column; the whole of it is in the text below the picture.
LABEL: Final = 48

#: Stands before what diverges.
MARK: Final = "✗ "


def shown(text: str) -> str:
    """A text from a foreign log: whatever would not be seen, or would change how the rest is seen, is written out."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\u{{{ord(c):x}}}" for c in text)


def around(context: str, seq: int | None) -> MessageGraph | None:
    """The events around a divergence, from the column `context`; None if they are no trace lines."""
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
            yield Arrow(plain_text(line["peer"]), node, f"{number} {shortened(args)}")
        case "send":
            yield Arrow(node, plain_text(line["peer"]), f"{number} {shortened(args)}")
        case "sent" if isinstance(args, dict):
            outcome = "not arrived" if args["took"] is None else f"arrived after {args['took']} us"
            yield Note(node, f"{number} {outcome}: {shortened(args['message'])} to {plain_text(line['peer'])}")
        case "start":
            yield Note(node, f"{number} start")
        case kind:
            yield Note(node, f"{number} {kind} {shortened(args)}")
    if line.get("refused"):
        yield Note(node, f"refused: {plain_text(line['refused'])}")
    for effect in line.get("effects") or ():
        if "send" in effect:
            yield Arrow(node, plain_text(effect["send"]["to"]), shortened(effect["send"]["message"]))
        elif "notify" in effect:
            yield Note(node, f"tells {shortened(effect['notify'])}")


def svg(graph: MessageGraph, name: str, title: str) -> str:
    """The picture; `name` is an id that the page has once. What it shows is said by `graph.text()`."""
    columns = {participant: MARGIN + COLUMN * number for number, participant in enumerate(graph.participants)}
    width = MARGIN + COLUMN * max(1, len(columns))
    height = HEAD + ROW * (len(graph.happenings) + 1)
    parts = [
        f'<svg class="graph" role="img" aria-labelledby="{name}" width="{width}" height="{height}">',
        f'<title id="{name}">{escape(shown(title))}</title>',
    ]
    for participant, x in columns.items():
        parts.append(f'<line class="life" x1="{x}" y1="{HEAD - 14}" x2="{x}" y2="{height - 8}"/>')
        parts.append(f'<text class="name" x="{x}" y="{HEAD - 22}">{_cut(participant, 30)}</text>')
    for row, happening in enumerate(graph.happenings):
        y = HEAD + ROW * row + 20
        mark = " wrong" if happening.label.startswith(MARK) else ""
        match happening:
            case Arrow(source, target, label):
                parts += _arrow(columns[source], columns[target], y, label, mark)
            case Note(node, label):
                x = columns.get(node, MARGIN)
                parts.append(f'<circle class="note{mark}" cx="{x}" cy="{y - 4}" r="4"/>')
                parts.append(f'<text class="label{mark}" x="{x + 9}" y="{y}">{_cut(label, LABEL)}</text>')
    return "\n".join((*parts, "</svg>"))


def _arrow(start: int, end: int, y: int, label: str, mark: str) -> Iterator[str]:
    if start == end:
        yield f'<path class="arrow{mark}" d="M {start} {y} h 30 v 8 h -24"/>'
        yield f'<path class="tip{mark}" d="M {start} {y + 8} l 9 -4 v 8 z"/>'
        yield f'<text class="label{mark}" x="{start + 36}" y="{y + 6}">{_cut(label, LABEL)}</text>'
        return
    back = -9 if end > start else 9
    yield f'<line class="arrow{mark}" x1="{start}" y1="{y}" x2="{end + back}" y2="{y}"/>'
    yield f'<path class="tip{mark}" d="M {end} {y} l {back} -4 v 8 z"/>'
    x = (start + end) // 2
    yield f'<text class="label middle{mark}" x="{x}" y="{y - 5}">{_cut(label, LABEL)}</text>'


def _cut(text: str, most: int) -> str:
    text = shown(" ".join(text.split()))
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")
