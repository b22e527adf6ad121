"""A capture as a run: each message, marked where it contradicts a rule of the protocol. Nothing is known of states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from peerproof.conformance.captures.passive import check_capture
from peerproof.conformance.captures.refusals import REASONS
from peerproof.conformance.captures.traffic import Message
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.labels import message_text
from peerproof.conformance.diagrams.message_graph import Arrow
from peerproof.conformance.explorer.recorded_run import Moment, Problem, Run


def run_capture(
    path: Path,
    protocol: str,
    ports: Collection[int] = (),
    most: int = 20_000,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Run:
    """
    Reads a capture once and checks the messages of its nodes; shows the first `most` messages.

    `progress` gets the number of messages shown and of those to be shown. Raises NoCapture, OSError, and ImportError if a package
    for reading captures is missing.
    """
    messages: list[Message] = []

    def see(message: Message) -> None:
        if len(messages) < most:
            messages.append(message)

    passive, verdict = check_capture(path, protocol, tuple(ports), see=see)
    rows = {(node.verdict.node, row["seq"]): row for node in passive.nodes for row in node.findings if row["seq"] is not None}
    spec = specification(protocol)
    run = Run(protocol, f"{path.name}: {passive.messages:,} messages of {protocol}", verdict=verdict.value)
    seqs: Counter[str] = Counter()
    for message in messages:
        progress(len(run.moments), len(messages))
        found = None
        for node in (message.source, message.target):
            found = found or rows.get((node, seqs[node]))
            seqs[node] += 1
        text = message_text(spec.MESSAGE.plain(spec.MESSAGE.decode(message.payload)))
        arrow = Arrow(message.source, message.target, text)
        at, what = (message.t_us - messages[0].t_us) // 1000, f"from {message.source}: {text}"
        run.moments.append(Moment(at, message.target, what, (arrow,), problem=_problem(found) if found else None))
    remarks = [f"{count:,} packets or parts of streams: {REASONS[reason]}" for reason, count in sorted(passive.set_aside.items())]
    if passive.messages > len(run.moments):
        remarks.append(f"only the first {most:,} messages are shown")
    run.about = "; ".join(remarks)
    run.commands = (("check", f"peerproof run {protocol} --pcap {path}"),)
    return run


def _problem(row: Mapping[str, Any]) -> Problem:
    clauses = tuple(str(row["clause"]).split(", ")) if row["clause"] else ()
    expected, actual = (str(row[side]) if row[side] is not None else "" for side in ("expected", "actual"))
    what = ": ".join(str(row[name]) for name in ("property", "message") if row[name])
    return Problem(what, f"message {row['seq']} of {row['node']}", expected, actual, clauses, row["severity"])
