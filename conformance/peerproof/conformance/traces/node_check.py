"""
One node from its first event to its verdict: the order of its log, its clock and timers, and its behaviour.

Events come in batches and are not kept. Memory holds a state, a few events, and the reported findings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from peerproof.conformance.traces.events import Ref, Rows, json_text
from peerproof.conformance.traces.fair_replay import FairReplay
from peerproof.conformance.traces.findings import (
    AFTER,
    BEFORE,
    VIOLATES,
    Finding,
    Findings,
    Violation,
    replay_command,
)
from peerproof.conformance.traces.judges import Judge, MonitorJudge, RelationJudge, ReplayJudge
from peerproof.conformance.traces.node_log import Fault, Item, LogOrder, Timing
from peerproof.conformance.traces.other_readings import Taken, declared_readings, specification_by
from peerproof.spec.core import Specification
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.relation import Bounds

#: Verdicts on a node. One that differs contradicts some decision of this project, but nothing in the document.
ACCEPTED, REJECTED, DIFFERS, UNDETERMINED = VERDICTS = ("accepted", "rejected", "differs", "undetermined")

#: Why events of lines that are ignored are not checked.
IGNORED_LINES: Final = "in lines whose number is in the log twice"

#: Number of nodes whose states are in memory at once: a replay keeps the states of all nodes it has seen.
NODES: Final = 256


@dataclass(frozen=True)
class Options:
    """Options of the check."""

    place: str  #: where the events are, for the command that reproduces a finding
    config: Mapping[str, Plain] = field(default_factory=dict)  #: configuration of all nodes, where their logs do not contain it
    states: int = 256
    tries: int = 20_000
    readings: tuple[str, ...] = ()  #: that the nodes take, as CLAUSE=NAME
    complete: bool = False  #: no message of a node that is checked by its messages is missing or out of order

    @property
    def arguments(self) -> tuple[str, ...]:
        """Returns the options as command-line arguments."""
        given = ["--config", json.dumps(self.config, sort_keys=True)] if self.config else []
        given += ["--states", str(self.states)] if self.states != Options.states else []
        given += ["--tries", str(self.tries)] if self.tries != Options.tries else []
        given += [argument for reading in self.readings for argument in ("--reading", reading)]
        given += ["--complete"] if self.complete else []
        return tuple(given)


class Verdict(NamedTuple):
    """A row of `verdicts`."""

    run_id: str
    protocol: str
    node: str
    way: str
    verdict: str
    n_events: int
    judged: int
    divergences: int
    log_faults: int
    remark: str | None
    unchecked: str | None = None  #: in JSON: reasons why events were not checked -> number of events


class Replays:
    """Replays that nodes share, one for each protocol, so that cached messages serve all of them."""

    def __init__(self) -> None:
        self._replays: dict[tuple[str, Taken], FairReplay] = {}

    def of(self, specification: Specification, declared: Taken = ()) -> FairReplay:
        """Returns a replay by these readings with room for another node."""
        key = specification.NAME, declared
        replay = self._replays.get(key)
        if replay is None or len(replay.nodes) >= NODES:
            replay = self._replays[key] = FairReplay(specification, declared)
        return replay


class NodeCheck:
    """A check of one node."""

    def __init__(self, rows: Rows, replays: Replays, options: Options) -> None:
        """`rows` are the first events of the node; they must still be passed to `take`."""
        self.run_id: Final = rows.run_id
        self.node: Final = rows.node
        self.protocol: Final = rows.protocol
        self.until: int | None = None  #: the first event from which its state is unknown, or another than the specification's
        self.suspect: int | None = None  #: that event, if it is a receipt, which a wrong message in the log would explain
        specification = specification_of(rows.protocol)
        command = replay_command(options.place, rows.run_id, rows.node, options.arguments)
        self.findings: Final = Findings(specification, rows.run_id, rows.node, command)
        self.judge: Final = _select_judge(rows, specification, replays, options)
        self._order: Final = LogOrder()
        self._timing: Final = Timing()
        self._count = 0

    def take(self, rows: Rows) -> None:
        """Checks the next events."""
        self._count += len(rows)
        if self._order.is_clean(rows):
            self._order.take_clean(rows)
            self._check_rows(rows, 0, len(rows))
            return
        for index in range(len(rows)):
            self._items(self._order.take(Ref(rows, index)))

    def end(self) -> Verdict:
        """Finishes after the last event and returns the verdict."""
        self._items(self._order.end())
        for finding in self.judge.end():
            self.findings.add(finding)
        findings, judge = self.findings, self.judge
        verdict = verdict_of(findings, is_whole=not judge.remark)
        divergences = findings.count("violates") + findings.count("differs")
        found = divergences, findings.count("log"), "; ".join(filter(None, (judge.remark, judge.note))) or None
        unchecked = dict(judge.unchecked.most_common())
        if ignored := self._count - judge.judged - judge.unchecked.total():
            unchecked[IGNORED_LINES] = ignored
        reasons = json_text(unchecked) if unchecked else None
        return Verdict(self.run_id, self.protocol, self.node, judge.way, verdict, self._count, judge.judged, *found, reasons)

    def _items(self, items: Iterator[Item]) -> None:
        for item in items:
            if isinstance(item, Fault):
                self.findings.add(Finding("log", item.name, item.message, item.ref))
                if item.lost:
                    self.judge.lose(item.message)
                    self._timing.lose()
                    self._mark_lost(item.ref.event.seq)
            else:
                self._check_rows(item.rows, item.at, item.at + 1)

    def _check_rows(self, rows: Rows, begin: int, end: int) -> None:
        for finding in self._timing.take(rows, begin, end):
            self.findings.add(finding)
        while begin < end:
            until, found = self.judge.advance(rows, begin, min(begin + AFTER, end) if self.findings.awaits else end)
            first = begin if self.findings.awaits else max(begin, until - BEFORE - AFTER)
            self.findings.observe(Ref(rows, index) for index in range(first, until))
            for finding in found:
                self.findings.add(finding)
                if self.judge.is_lost or finding.severity == DIFFERS:
                    if self.until is None and finding.severity == VIOLATES and rows.kinds[until - 1] == "recv":
                        self.suspect = rows.seqs[until - 1]
                    self._mark_lost(rows.seqs[until - 1])
            begin = until

    def _mark_lost(self, seq: int) -> None:
        self.until = seq if self.until is None else min(self.until, seq)


def excuse(suspect: int, rows: Sequence[Violation], verdict: Verdict) -> tuple[list[Violation], Verdict]:
    """
    Returns the findings and the verdict of a node for the case that no node has sent what it receives at an event.

    The log of the event is wrong then, and what the node did shows nothing.
    """
    excused = [
        row._replace(severity="undetermined", message=f"{row.message}; but no node has sent what it receives here: see NeverSent")
        if (row.seq, row.severity) == (suspect, VIOLATES)
        else row
        for row in rows
    ]
    is_rejected = any(row.severity == VIOLATES for row in excused)
    return excused, verdict._replace(verdict=REJECTED if is_rejected else UNDETERMINED, divergences=verdict.divergences - 1)


def verdict_of(findings: Findings, *, is_whole: bool) -> str:
    """Returns the verdict for the findings; `is_whole` is False if some events could not be checked."""
    if findings.count("violates"):
        return REJECTED
    if findings.count("undetermined") or not is_whole:
        return UNDETERMINED
    return DIFFERS if findings.count("differs") else ACCEPTED


def _select_judge(rows: Rows, specification: Specification, replays: Replays, options: Options) -> Judge:
    """Chooses the way to check a node by how much of it is logged."""
    declared = declared_readings(options.readings).get(specification.NAME, ())
    if not (rows.is_null("picks") or rows.is_null("effects")):
        return ReplayJudge(replays.of(specification, declared), rows)
    if "start" in rows.kinds:
        return RelationJudge(specification, Bounds(options.states, options.tries), declared)
    runtime = PROTOCOLS[specification.NAME].runtime
    configured = lambda node: runtime.load().build_config(options.config, node, [])  # noqa: E731
    return MonitorJudge(specification, rows.node, configured, is_complete=options.complete)


def specification_of(protocol: str, readings: Sequence[str] = ()) -> Specification:
    """Returns the specification of a protocol named in `traces`, with these readings."""
    return specification_by(protocol, declared_readings(readings).get(protocol, ()))
