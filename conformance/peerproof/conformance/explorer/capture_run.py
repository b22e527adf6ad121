"""A capture as a run: each message, marked where it contradicts a rule of the protocol. Nothing is known of states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from peerproof.conformance.captures.byte_source import Source
from peerproof.conformance.captures.passive import check_capture
from peerproof.conformance.captures.pcap import frames
from peerproof.conformance.captures.refusals import REASONS, Refusal
from peerproof.conformance.captures.tcp_streams import framing_of
from peerproof.conformance.captures.traffic import Traffic
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
    Reads a capture and checks the messages of its nodes; shows the first `most` messages.

    `progress` gets the number of messages read and of all. Raises NoCapture, OSError, and ImportError if a package for reading
    captures is missing.
    """
    passive, verdict = check_capture(path, protocol, tuple(ports))
    rows = {(node.verdict.node, row["seq"]): row for node in passive.nodes for row in node.findings if row["seq"] is not None}
    spec = specification(protocol)
    refused: Counter[str] = Counter()

    def set_aside(refusal: Refusal) -> None:
        refused[refusal.reason] += 1

    traffic = Traffic(spec, ports, set_aside, framing_of(spec))
    run = Run(protocol, f"{path.name}: {passive.messages:,} messages of {protocol}", verdict=verdict.value)
    seqs: Counter[str] = Counter()
    first: int | None = None
    with Source(path) as source:
        for message in traffic.messages(frames(source, set_aside)):
            if len(run.moments) >= most:
                break
            progress(len(run.moments), passive.messages)
            first = message.t_us if first is None else first
            found = None
            for node in (message.source, message.target):
                found = found or rows.get((node, seqs[node]))
                seqs[node] += 1
            text = message_text(spec.MESSAGE.plain(spec.MESSAGE.decode(message.payload)))
            arrow = Arrow(message.source, message.target, text)
            what = f"from {message.source}: {text}"
            run.moments.append(
                Moment((message.t_us - first) // 1000, message.target, what, (arrow,), problem=_problem(found) if found else None)
            )
    remarks = [f"{count:,} packets or parts of streams: {REASONS[reason]}" for reason, count in sorted(refused.items())]
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
