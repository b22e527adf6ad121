"""
Checks the nodes in a capture by their messages alone, in one process and without Spark.

The messages are read as in the pipeline, and each node is checked against its protocol's rules for messages by the same code. An
accepted node has done nothing that contradicts the rules; its state is never seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from peerproof.conformance.captures.pcap import frames
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.captures.tcp_streams import framing_of
from peerproof.conformance.captures.traffic import Message, Traffic
from peerproof.conformance.suite.source import Source
from peerproof.conformance.traces import node_check
from peerproof.conformance.traces.events import Event, EventRows, column_text
from peerproof.conformance.traces.findings import DIFFERS, SEVERITIES, VIOLATES
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS

#: Number of events of one node that are checked at once.
LOT: Final = 512

#: Number of refused pieces that are reported as examples.
MOST: Final = 3

#: Number of ports that are reported.
MOST_PORTS: Final = 8

RUN: Final = "capture"

#: How to treat findings that rest on a decision of this project.
Decisions: TypeAlias = Literal["report", "strict", "ignore"]


class Broken(NamedTuple):
    """A rule that one node breaks, and how often."""

    severity: str
    rule: str | None  #: None for rules that are counted together
    clauses: str  #: with commas between them
    times: int
    first: Mapping[str, Any]  #: a row of `violations`

    def shown(self) -> dict[str, Any]:
        """Returns the first violation, without unknown members."""
        return {name: self.first[name] for name in _FIRST if self.first[name] is not None}

    def plain(self) -> dict[str, Any]:
        """Returns the rule as JSON data."""
        named = {"property": self.rule, "severity": self.severity, "clauses": self.clauses.split(", ") if self.clauses else []}
        return {**named, "times": self.times, "first": {"seq": self.first["seq"], "src_off": self.first["src_off"]}}


class Judged(NamedTuple):
    """The verdict on one node, and its findings."""

    verdict: node_check.Verdict
    findings: Sequence[Mapping[str, Any]]  #: rows of `violations`

    @property
    def rules(self) -> list[Broken]:
        """The broken rules: first those that violate the document, then in the order of the capture."""
        broken: dict[tuple[str, str | None, str], Broken] = {}
        for row in self.findings:
            key = row["severity"], row["property"], row["clause"] or ""
            known = broken.get(key)
            broken[key] = known._replace(times=known.times + row["times"]) if known else Broken(*key, row["times"], row)
        return sorted(broken.values(), key=lambda rule: SEVERITIES.index(rule.severity))

    def clauses(self, severity: str = VIOLATES) -> list[str]:
        """Returns the clauses of all rules with findings of this severity."""
        return sorted(
            {clause for rule in self.rules if rule.severity == severity for clause in rule.clauses.split(", ") if clause}
        )

    def plain(self) -> dict[str, Any]:
        """Returns the node as JSON data."""
        verdict, rules = self.verdict, self.rules
        return (
            {"node": verdict.node, "verdict": verdict.verdict, "events": verdict.n_events, "judged": verdict.judged}
            | {"clauses": self.clauses(), "differs": self.clauses(DIFFERS), "findings": [rule.plain() for rule in rules]}
            | ({"first": rules[0].shown()} if rules else {})
            | ({"remark": verdict.remark} if verdict.remark else {})
        )


_FIRST: Final = ("property", "clause", "severity", "message", "expected", "actual", "seq", "src_off")


@dataclass(frozen=True)
class Passive:
    """The results for a whole capture."""

    path: Path
    protocol: str
    packets: int
    messages: int
    left_out: int  #: packets of other ports and protocols
    set_aside: Mapping[str, int]  #: reason -> number of refused pieces
    examples: Sequence[Refusal]  #: the first pieces that were refused
    nodes: Sequence[Judged]
    ports: Sequence[int] = ()  #: the most frequent ports of its packets

    @property
    def counts(self) -> dict[str, int]:
        """The number of nodes by verdict."""
        counted = Counter(node.verdict.verdict for node in self.nodes)
        return {verdict: counted[verdict] for verdict in node_check.VERDICTS}

    def plain(self) -> dict[str, Any]:
        """Returns the results as JSON data."""
        return (
            {"capture": str(self.path), "protocol": self.protocol, "packets": self.packets, "messages": self.messages}
            | {"left_out": self.left_out, "set_aside": dict(self.set_aside), "counts": self.counts}
            | {"nodes": [node.plain() for node in self.nodes]}
        )


def check_messages(
    path: Path,
    protocol: str,
    ports: Sequence[int],
    config: Mapping[str, Plain],
    *,
    is_complete: bool = False,
    see: Callable[[Message], None] = lambda _: None,
) -> Passive:
    """Reads a capture to its end and checks its nodes; `see` gets each message. Raises NoCapture, OSError."""
    specification = node_check.specification_of(protocol)
    refusals: list[Refusal] = []
    reasons: Counter[str] = Counter()

    def set_aside(refusal: Refusal) -> None:
        reasons[refusal.reason] += 1
        if len(refusals) < MOST:
            refusals.append(refusal)

    nodes = _Nodes(protocol, column_text(path.name), node_check.Options(str(path), config, complete=is_complete))
    count = 0
    traffic = Traffic(specification, ports, set_aside, framing_of(specification))
    with Source(path) as source:
        for message in traffic.messages(frames(source, set_aside)):
            nodes.take(message)
            see(message)
            count += 1
    left_out = sum(traffic.left_out.values())
    ports = [port for port, _ in traffic.ports.most_common(MOST_PORTS)]
    return Passive(path, protocol, traffic.packets, count, left_out, dict(reasons), refusals, list(nodes.end()), ports)


class _Nodes:
    """Makes each message an event of its sender and one of its receiver, and checks the nodes."""

    def __init__(self, protocol: str, file: str, options: node_check.Options) -> None:
        self._protocol = protocol
        self._file = file
        self._options = options
        self._replays = node_check.Replays()
        self._waiting: dict[str, list[Event]] = {}
        self._seqs: Counter[str] = Counter()
        self._checks: dict[str, node_check.NodeCheck] = {}
        self._latest = 0

    def take(self, message: Message) -> None:
        """Takes the next message of the capture; a clock that is set back does not change the order."""
        self._latest = max(self._latest, message.t_us)
        self._event(message, message.source, "send", message.target)
        self._event(message, message.target, "recv", message.source)

    def end(self) -> Iterator[Judged]:
        """Finishes after the last message and yields the results of the nodes."""
        for node in sorted(self._waiting):
            self._check(node)
            check = self._checks[node]
            yield Judged(check.end(), [row._asdict() for row in check.findings.rows()])

    def _event(self, message: Message, node: str, kind: str, peer: str) -> None:
        shown = RUN, self._protocol, "unknown", node, self._seqs[node], self._latest, kind, peer, message.msg_type
        nothing = None, None, None, None, None
        event = Event(*shown, len(message.payload), message.payload, *nothing, self._file, message.offset)
        self._seqs[node] += 1
        waiting = self._waiting.setdefault(node, [])
        waiting.append(event)
        if len(waiting) >= LOT:
            self._check(node)

    def _check(self, node: str) -> None:
        events = self._waiting[node]
        if not events:
            return
        rows = EventRows(events)
        if node not in self._checks:
            self._checks[node] = node_check.NodeCheck(rows, self._replays, self._options)
        self._checks[node].take(rows)
        self._waiting[node] = []


class CaptureVerdict(Enum):
    """The verdict on the nodes of a capture."""

    ACCEPTED = "accepted"  #: no message contradicts the rules
    REJECTED = "rejected"  #: a node sent what the document forbids
    DIFFERS = "differs"  #: no violation, but a node sent what only a decision of this project forbids
    EMPTY = "empty"  #: there is no message of the protocol


class BadConfiguration(ValueError):
    """A configuration that no node of the protocol can have."""


def check_capture(
    path: Path,
    protocol: str,
    ports: Sequence[int] = (),
    config: Mapping[str, Plain] | None = None,
    decisions: Decisions = "report",
    *,
    is_complete: bool = False,
    see: Callable[[Message], None] = lambda _: None,
) -> tuple[Passive, CaptureVerdict]:
    """
    Reads a capture, pcap or pcapng, to its end, and checks the messages of each node against the protocol's rules.

    `ports` are the only ports whose packets count (default: all). `config` is the configuration of all nodes in plain form, as
    far as it is not the default. `decisions` says how to treat findings that rest on a decision of this project and not on the
    document: as differences (report, the default), as violations (strict), or not at all (ignore). `is_complete` says that the
    capture has every message of its nodes in the order of sending; otherwise a finding that a missing message would explain is
    undetermined. `see` gets each message as it is read. Raises BadConfiguration, OSError, and NoCapture if the file is not a
    capture.
    """
    config = config or {}
    try:
        PROTOCOLS[protocol].runtime.load().build_config(config, NodeId("127.0.0.1:1"), [])
    except ValueError as error:
        raise BadConfiguration(str(getattr(error, "detail", None) or error)) from None
    passive = check_messages(path, protocol, ports, config, is_complete=is_complete, see=see)
    if decisions == "ignore":
        passive = replace(passive, nodes=[_without_decisions(node) for node in passive.nodes])
    if not passive.messages:
        return passive, CaptureVerdict.EMPTY
    has_differences = any(node.clauses(DIFFERS) for node in passive.nodes)
    if passive.counts[node_check.REJECTED] or (has_differences and decisions == "strict"):
        return passive, CaptureVerdict.REJECTED
    return passive, CaptureVerdict.DIFFERS if has_differences else CaptureVerdict.ACCEPTED


def _without_decisions(node: Judged) -> Judged:
    findings = [row for row in node.findings if row["severity"] != DIFFERS]
    divergences = sum(row["times"] for row in findings if row["severity"] == VIOLATES)
    verdict = node_check.ACCEPTED if node.verdict.verdict == node_check.DIFFERS else node.verdict.verdict
    return Judged(node.verdict._replace(verdict=verdict, divergences=divergences), findings)
