"""`peerproof run --pcap`: checks the nodes in a capture by their messages."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.cli.command import refuse
from peerproof.cli.console import note
from peerproof.cli.exits import FAILED, NOTHING, OK, Refusal
from peerproof.cli.options import check_protocol
from peerproof.conformance.suite.printable import count_text

if TYPE_CHECKING:
    from peerproof.conformance.captures.passive import Judged, Passive

EXIT_CODES = {"ACCEPTED": OK, "DIFFERS": OK, "REJECTED": FAILED, "EMPTY": NOTHING}


def run_check(args: Namespace) -> int:
    """Reads the capture, checks its nodes, and prints the report. Returns the exit code."""
    from peerproof.conformance.captures import passive as passive_check
    from peerproof.conformance.captures.pcap import NoCapture
    from peerproof.conformance.suite import output

    protocol = _protocol(args)
    try:
        with refuse(passive_check.BadConfiguration, prefix="--config: "):
            passive, verdict = passive_check.check_capture(
                Path(args.pcap), protocol, args.port or (), args.config or {}, args.decisions, is_complete=args.complete
            )
    except NoCapture as error:
        raise Refusal(f"--pcap: {error}", tip="tcpdump -w FILE and Wireshark write captures") from None
    except OSError as error:
        raise Refusal(f"--pcap: cannot read {args.pcap}: {error.strerror}") from None
    text = json.dumps(passive.plain(), indent=1) if args.format == "json" else "\n".join(_lines(passive))
    with refuse(output.CannotWrite, prefix="the report cannot be written: "):
        output.write_whole(args.output, text + "\n")
    if not passive.messages:
        ports = f"; the packets had the ports {', '.join(map(str, passive.ports))}" if passive.ports else ""
        note(f"the capture has no message of {protocol}{ports}")
    return EXIT_CODES[verdict.name]


def _protocol(args: Namespace) -> str:
    from peerproof.reference.protocols.registry import RUNTIMES

    if args.format not in ("text", "json"):
        raise Refusal(f"--pcap has the formats text and json, not {args.format}")
    if args.protocol is None:
        raise Refusal(
            "--pcap needs the protocol of the capture",
            tip=f"peerproof run PROTOCOL --pcap {args.pcap}, with one of {', '.join(RUNTIMES)}",
        )
    check_protocol(args.protocol, RUNTIMES)
    name: str = args.protocol
    return name


def _lines(passive: Passive) -> Iterator[str]:
    for node in passive.nodes:
        yield from _node(node)
    aside = ", ".join(f"{count:,} {reason}" for reason, count in passive.set_aside.items())
    yield f"{passive.packets:,} packets, {passive.messages:,} messages of {passive.protocol}" + (
        f"; {passive.left_out:,} of other ports" if passive.left_out else ""
    )
    if aside:
        yield f"set aside: {aside}; for example"
        yield from (f"  packet {one.number}, byte {one.offset}: {one.reason}: {one.detail}" for one in passive.examples)
    if not passive.nodes:
        return
    counts = ", ".join(f"{count} {verdict}" for verdict, count in passive.counts.items() if count)
    yield f"{count_text(len(passive.nodes), 'node')}: {counts}; accepted means that no message contradicts the rules"


def _node(node: Judged) -> Iterator[str]:
    from peerproof.conformance.traces.findings import violation_text

    verdict = node.verdict
    held = "".join(f"; {name} {', '.join(found)}" for name in ("violates", "differs") if (found := node.clauses(name)))
    yield f"{verdict.verdict:12} {verdict.node}: {verdict.judged:,} messages checked{held}"
    if verdict.remark:
        yield f"  {verdict.remark}"
    for number, rule in enumerate(node.rules):
        row = {**rule.first, "replay": None, "times": rule.times}
        yield from (f"  {line}" for line in violation_text(row, whole=not number).splitlines())
