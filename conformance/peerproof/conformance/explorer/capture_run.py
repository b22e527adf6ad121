"""A capture as a run: each message, marked where it contradicts a rule of the protocol. Nothing is known of states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.captures.passive import check_capture
from peerproof.conformance.captures.refusals import REASONS
from peerproof.conformance.captures.traffic import Message
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.compact import render_whole, select_renderer
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt
from peerproof.conformance.explorer.recorded_run import Moment, Problem, Run

#: Messages that are shown unless the caller says otherwise.
MOST_MESSAGES: Final = 20_000


def run_capture(
    path: Path,
    protocol: str,
    ports: Collection[int] = (),
    excerpt: Excerpt | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Run:
    """
    Reads a capture once and checks the messages of its nodes; shows an excerpt, of up to `excerpt.most` messages.

    `progress` gets the number of messages shown and of those to be shown. Raises NoCapture, OSError, and ImportError if a package
    for reading captures is missing.
    """
    excerpt = excerpt or Excerpt(most=MOST_MESSAGES)
    messages: list[tuple[int, Message, list[tuple[str, int]]]] = []  # time, message, and its number at each of its nodes
    seqs: Counter[str] = Counter()
    first: int | None = None
    selected = 0

    def see(message: Message) -> None:
        nonlocal first, selected
        first = message.t_us if first is None else first
        ends, at = (message.source, message.target), (message.t_us - first) // 1000
        numbers = []
        for node in ends:
            numbers.append((node, seqs[node]))
            seqs[node] += 1
        if excerpt.takes(at, (Arrow(*ends, ""),)):
            selected += 1
            if len(messages) < excerpt.most:
                messages.append((at, message, numbers))

    passive, verdict = check_capture(path, protocol, tuple(ports), see=see)
    rows = {(node.verdict.node, row["seq"]): row for node in passive.nodes for row in node.findings if row["seq"] is not None}
    spec, render = specification(protocol), select_renderer(protocol)
    run = Run(protocol, f"{path.name}: {passive.messages:,} messages of {protocol}", verdict=verdict.value)
    for at, message, numbers in messages:
        progress(len(run.moments), len(messages))
        found = next((row for row in map(rows.get, numbers) if row), None)
        plain = spec.MESSAGE.plain(spec.MESSAGE.decode(message.payload))
        what, exact = (f"from {message.source}: {text('recv', plain)}" for text in (render, render_whole))
        arrow = Arrow(message.source, message.target, render("recv", plain))
        problem = _problem(found) if found else None
        run.moments.append(Moment(at, message.target, what, (arrow,), problem=problem, exact=exact))
    remarks = [f"{count:,} packets or parts of streams: {REASONS[reason]}" for reason, count in sorted(passive.set_aside.items())]
    if selected > len(messages):
        remarks.append(
            f"only the first {excerpt.most:,} messages are shown: continue with --from {messages[-1][0]}, or raise --most"
        )
    run.about = "; ".join(remarks)
    run.commands = (("check", f"peerproof run {protocol} --pcap {path}"),)
    return run


def _problem(row: Mapping[str, Any]) -> Problem:
    clauses = tuple(str(row["clause"]).split(", ")) if row["clause"] else ()
    expected, actual = (str(row[side]) if row[side] is not None else "" for side in ("expected", "actual"))
    what = ": ".join(str(row[name]) for name in ("property", "message") if row[name])
    return Problem(what, f"message {row['seq']} of {row['node']}", expected, actual, clauses, row["severity"])
