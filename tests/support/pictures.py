"""A message graph with all that there is to draw."""

from __future__ import annotations

from typing import Final

from peerproof.conformance.diagrams.labels import MARK
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note

#: All that there is to draw, with labels as foreign logs have them.
EVERYTHING: Final = MessageGraph(
    ("a", "b", "node-with-a-name-that-is-long-as-some-are:8119", "[2001:db8::ff00:42:8329]:65535"),
    (
        Note("a", "start"),
        Arrow("a", "b", 'x;y#z <b> & "q" ' + "ff" * 150),
        Arrow("b", "a", "ack", judged=True),
        Arrow("a", "[2001:db8::ff00:42:8329]:65535", "lost", lost=True),
        Note("", "all is well " * 12),
        Arrow("b", "b", "to itself, with a label that has to be broken " * 3),
        Note("[2001:db8::ff00:42:8329]:65535", MARK + "名前はまだない" * 12),
        Note("b", "Ж" * 200),
        Arrow("[2001:db8::ff00:42:8329]:65535", "a", "W" * 300, judged=True, lost=True),
        *(Arrow("a", "b", str(number)) for number in range(30)),
    ),
)
