"""
Three ways to check a node, depending on how much of it is logged.

`replay`: the log has every random choice and every effect; the specification, given the same choices, must do the same. Where
  another reading of a decision explains a difference, the node is judged by this reading from there on.
`relation`: the log has the inputs of the node from its start on, but not the random choices; some outcome must explain each step.
`monitor`: there are only messages.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, Final

from peerproof.conformance.diagrams.labels import message_text
from peerproof.conformance.traces.event_text import instant_text
from peerproof.conformance.traces.events import Event, Ref, Rows, line_of, text_of
from peerproof.conformance.traces.fair_relation import FairJudgement, FairRelation
from peerproof.conformance.traces.findings import DIFFERS, Finding, Severity, finding_of, no_event, severity_of, step_clauses
from peerproof.conformance.traces.node_log import EARLY
from peerproof.conformance.traces.other_readings import Explanations, Taken, explanation_clauses, explanation_text
from peerproof.spec.core import TCP, NodeId, Send, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Monitor, RuleViolation, Seen
from peerproof.spec.traces.relation import Bounds, Judgement, Observed, Opinion, Relation
from peerproof.spec.traces.replay import Replay
from peerproof.spec.traces.trace import Line, event_of

NO_START: Final = "NoStart"
NO_ANSWERS: Final = "NoAnswers"
NO_TIMER: Final = "NoTimer"

#: Why events are not checked, as the reports count them.
BEFORE_START: Final = "before the first start in the log"
AFTER_DIVERGENCE: Final = "after a divergence, up to the next start"
AFTER_DIFFERENCE: Final = "after a difference that leaves the state unknown, up to the next start"
AFTER_FAULT: Final = "after a fault of the log, up to the next start"
AFTER_NO_ANSWERS: Final = "after an event without random choices or effects, up to the next start"
AFTER_NO_TIMER: Final = "after a timer without a line, up to the next start"
AFTER_BOUND: Final = "after a step with too many possible states (--states, --tries), up to the next start"
AFTER_NO_OUTCOME: Final = "after a step that depends on deliveries without a line, up to the next start"
NO_MESSAGE: Final = "neither sent nor received, and without a start only messages are checked"
NO_RULES: Final = "messages of a protocol without rules for messages alone"

_MILLISECOND: Final = 1000


class Judge(ABC):
    """Checks the events of one node, in order."""

    way: str

    def __init__(self) -> None:
        self.judged = 0  #: number of events checked
        self.remark = ""  #: why not all events were checked
        self.note = ""  #: further information for readers of the verdict
        self.is_lost = True  #: the state of the node is unknown until its next start
        self.unchecked: Counter[str] = Counter()  #: events that were not checked, by reason
        self._reason = BEFORE_START

    @abstractmethod
    def advance(self, rows: Rows, begin: int, end: int) -> tuple[int, list[Finding]]:
        """Checks events up to `end`, or up to the first with a finding. Returns the index reached and the findings."""

    def lose(self, why: str, reason: str = AFTER_FAULT) -> None:
        """Takes note that the state is not known any more."""
        self.is_lost, self.remark, self._reason = True, self.remark or why, reason

    def _skip(self, events: int = 1, reason: str | None = None) -> None:
        """Counts events that are not checked."""
        self.unchecked[reason or self._reason] += events

    def end(self) -> list[Finding]:
        """Finishes after the last event and returns the remaining findings."""
        return []


class ReplayJudge(Judge):
    """Checks by replay. `replay` may be shared with other nodes."""

    way = "replay"

    def __init__(self, replay: Replay, rows: Rows) -> None:
        super().__init__()
        self._replay: Final = replay
        self._key: Final = text_of(rows.run_id), text_of(rows.node)
        self._has_reported_no_start = False
        self.lose("", BEFORE_START)  # the replay may hold the state of an earlier log of the same name

    def advance(self, rows: Rows, begin: int, end: int) -> tuple[int, list[Finding]]:
        """See `Judge`. Agreeing events take the fast path; all others take the slow path, which decides."""
        refused = rows.column("refused") if rows.is_set("refused") else None
        at = begin
        while at < end:
            if self.is_lost and rows.kinds[at] != "start":
                self._skip()
                if not self._has_reported_no_start and not self.remark:
                    self._has_reported_no_start = True
                    return at + 1, [self._no_start(Ref(rows, at))]
                at += 1
                continue
            if refused is None and not self.is_lost:
                at = self._agreeing(rows, at, end)
            if at < end:
                if finding := self._slowly(Ref(rows, at)):
                    return at + 1, [finding]
                at += 1
        return end, []

    def _agreeing(self, rows: Rows, begin: int, end: int) -> int:
        """Returns the index of the first event that the fast path does not accept."""
        agrees, at = self._replay.agrees, begin
        for row in islice(rows.members, begin, end):
            if not agrees(row):
                break
            at += 1
        self.judged += at - begin
        return at

    def lose(self, why: str, reason: str = AFTER_FAULT) -> None:
        """See `Judge`."""
        super().lose(why, reason)
        if known := self._replay.nodes.get(self._key):
            known.course.is_lost = True

    def _slowly(self, ref: Ref) -> Finding | None:
        known = self._replay.nodes.get(self._key)
        before = known.course.state if known else None
        event = ref.event
        if event.args is None or event.picks is None or event.effects is None:
            self.lose(f"event {event.seq} has no random choices or no effects, unlike others", AFTER_NO_ANSWERS)
            self._skip()
            return Finding("log", NO_ANSWERS, f"{self.remark}; nothing is checked from there to the next start", ref)
        self.judged += 1
        divergence = self._replay.line(line_of(event))
        self.is_lost = self._replay.nodes[self._key].course.is_lost
        if divergence is None:
            return None
        finding = finding_of(self._replay.spec, before, ref, divergence)
        if self.is_lost:
            what, reason = ("fault of the log", AFTER_FAULT) if finding.severity == "log" else ("divergence", AFTER_DIVERGENCE)
            self.lose(f"nothing is checked from the {what} at event {event.seq} to the next start", reason)
        return finding

    def _no_start(self, ref: Ref) -> Finding:
        self.remark = _no_start(ref.event)
        return Finding("log", NO_START, f"{self.remark}: nothing can be checked up to the next start", ref)


class RelationJudge(Judge):
    """Searches for an outcome that explains each step: an event, and the messages sent before the next event."""

    way = "relation"

    def __init__(self, specification: Specification, bounds: Bounds, declared: Taken = ()) -> None:
        super().__init__()
        self._specification: Final = specification
        reference = PROTOCOLS[specification.NAME].relation
        module = reference.load() if reference else None
        narrowed, unfolded = (getattr(module, name, None) for name in ("narrow", "unfold"))
        self._relation: Final = FairRelation(specification.NAME, Relation(specification, narrowed, bounds, unfolded), declared)
        self._held: Ref | None = None
        self._sends: list[Send[Any]] = []
        self._due: dict[Any, int] = {}  #: timers that the specification has set, with the microsecond at which they expire
        self._has_begun = False  #: the first event was taken
        self._until = 0  #: microsecond of the last line of the held step
        self._sees_sends = False  #: the log contains sent messages; unknown before the first one
        self._sees_outcomes = specification.TRANSPORT != TCP  #: the log contains delivery outcomes, where the node learns them

    def advance(self, rows: Rows, begin: int, end: int) -> tuple[int, list[Finding]]:
        """See `Judge`. A finding is about an earlier event, whose step is over."""
        for at in range(begin, end):
            ref = Ref(rows, at)
            if found := self._take(ref, ref.event):
                return at + 1, [found]
        return end, []

    def lose(self, why: str, reason: str = AFTER_FAULT) -> None:
        """See `Judge`."""
        super().lose(why, reason)
        if self._held is not None:
            self._skip(1 + len(self._sends))
            self._held = None

    def end(self) -> list[Finding]:
        """See `Judge`."""
        found = self._explain_step()
        return [found] if found else []

    def _take(self, ref: Ref, event: Event) -> Finding | None:
        begins, self._has_begun = not self._has_begun, True
        if begins and event.kind != "start":
            self.lose(_no_start(event), BEFORE_START)
            self._skip()
            return Finding("log", NO_START, f"{self.remark}: nothing can be checked up to the next start", ref)
        if event.kind == "send":
            self._sees_sends = True
            if self._held is not None:
                self._until = event.t_us
                self._sends.append(Send(NodeId(text_of(event.peer or "")), message_of(self._specification, event)))
                return None
            if self.is_lost:
                self._skip()
                return None
            self.lose(f"event {event.seq} sends a message without a cause", AFTER_DIVERGENCE)
            self._skip()
            return Finding("violates", "Messages", self.remark, ref, actual=event.msg_type)
        found = self._explain_step(event)
        self._sees_outcomes = self._sees_outcomes or event.kind == "sent"
        if not self.is_lost or event.kind == "start":
            self._held, self._sends, self._until = ref, [], event.t_us
        else:
            self._skip()
        return found

    def _explain_step(self, following: Event | None = None) -> Finding | None:
        """Returns the finding of the held step, now that it is over, before the following event; None if it is explained."""
        ref, self._held = self._held, None
        if ref is None:
            return None
        if self.is_lost and ref.event.kind != "start":
            self._skip(1 + len(self._sends))
            return None
        event = ref.event
        self.judged += 1 + len(self._sends)
        try:
            judgement, explanations, is_known = self._judgement(event)
            self._set_timers(event)
        except (MalformedMessage, ValueError) as error:
            self.lose(f"event {event.seq} is no event of the protocol")
            return no_event(ref, str(error))
        if judgement.opinion is Opinion.ACCEPTED:
            self.is_lost = False
            return None
        if explanations:
            return self._make_difference(ref, event, judgement, explanations, is_known=is_known)
        if judgement.opinion is Opinion.REJECTED and (missing := self._missing_timer(following)):
            self.lose(missing, AFTER_NO_TIMER)
            message = f"{_step_name(event)}: no outcome explains what follows; {missing}"
            return Finding("undetermined", NO_TIMER, message, ref, (), list(judgement.allowed), self._observations(event))
        return self._make_finding(ref, event, judgement)

    def _set_timers(self, event: Event) -> None:
        """Takes note of the timers that are running after a step."""
        if event.kind == "start":
            self._due = {}
        if event.kind == "timer":
            self._due.pop(self._timer_of(event), None)
        for timer, after in self._relation.timers.items() if event.kind != "state" else ():
            if after is None:
                self._due.pop(timer, None)
            else:
                self._due[timer] = event.t_us + after * _MILLISECOND

    def _missing_timer(self, following: Event | None) -> str:
        """Describes the first timer that expired before the end of a step and has no line; empty if there is none."""
        logged = self._timer_of(following) if following is not None and following.kind == "timer" else None
        due = {timer: at for timer, at in self._due.items() if timer != logged and at - EARLY <= self._until}
        if not due:
            return ""
        timer = min(due, key=due.__getitem__)
        name = message_text(self._specification.TIMER.plain(timer))
        return f"a timer ({name}) was due at {instant_text(due[timer])}, and the log has no line for it"

    def _timer_of(self, event: Event) -> Any:
        try:
            return self._specification.TIMER.value(json.loads(event.args or "null"))
        except MalformedMessage:
            return None

    def _judgement(self, event: Event) -> FairJudgement:
        specification, relation = self._specification, self._relation
        args = None if event.args is None else json.loads(event.args)
        if event.kind == "state":
            return relation.keep(lambda state: _fits(specification, state, args))
        sends = tuple(self._sends) if self._sees_sends else None
        see = partial(self._observations, event)
        if event.picks is not None and event.effects is not None:
            line = line_of(event)
            observed = Observed(line.picks, line.effects, None, line.state, line.refused)
        else:
            effects = None if event.effects is None else tuple(json.loads(event.effects))
            state = None if event.state_hash is None else text_of(event.state_hash)
            refused = None if event.refused is None else text_of(event.refused)
            observed = Observed(None, effects, sends, state, refused)
        if event.kind == "start":
            return relation.start(NodeId(text_of(event.node)), specification.CONFIG.value(args), observed, see)
        return relation.take(event_of(specification, _happening(specification, event, args)), observed, see)

    def _make_difference(
        self, ref: Ref, event: Event, judgement: Judgement, explanations: Explanations, *, is_known: bool
    ) -> Finding:
        self.is_lost = False
        if not is_known:
            self.lose(f"nothing is checked from the difference at event {event.seq} to the next start", AFTER_DIFFERENCE)
        message = f"{_step_name(event)}: {explanation_text(explanations)}"
        clauses = explanation_clauses(explanations)
        return Finding(DIFFERS, "Step", message, ref, clauses, list(judgement.allowed), self._observations(event))

    def _make_finding(self, ref: Ref, event: Event, judgement: Judgement) -> Finding:
        what = _step_name(event)
        if judgement.opinion is Opinion.UNDETERMINED:
            why = f"event {event.seq} was explained by none of the states that were tried, but there are {judgement.why}"
            self.lose(why, AFTER_BOUND)
            message = f"{what}: {self.remark}"
            return Finding("undetermined", "Bound", message, ref, (), list(judgement.allowed), self._observations(event))
        if not self._sees_outcomes:
            why = f"no outcome explains event {event.seq}, but the log lacks the delivery of messages (kind sent)"
            self.lose(why, AFTER_NO_OUTCOME)
            return Finding("undetermined", "Outcomes", f"{what}: {self.remark}", ref, (), [], self._observations(event))
        why = f": {judgement.why}" if judgement.why else ""
        self.lose(f"nothing is checked from the divergence at event {event.seq} to the next start", AFTER_DIVERGENCE)
        happening = _happening(self._specification, event, None if event.args is None else json.loads(event.args))
        clauses = step_clauses(self._specification.NAME, happening)
        message = f"{what}: no outcome of the specification explains the observations{why}"
        return Finding(severity_of(clauses), "Step", message, ref, clauses, list(judgement.allowed), self._observations(event))

    def _observations(self, event: Event) -> dict[str, Plain]:
        seen: dict[str, Plain] = {}
        if event.effects is not None:
            seen["effects"] = json.loads(event.effects)
        elif self._sees_sends:
            plain = self._specification.MESSAGE.plain
            seen["messages"] = [{"send": {"to": send.to, "message": plain(send.message)}} for send in self._sends]
        seen |= {name: value for name, value in (("state", event.state_hash), ("refused", event.refused)) if value is not None}
        return seen


class MonitorJudge(Judge):
    """Checks messages alone."""

    way = "monitor"

    def __init__(
        self, specification: Specification, node: str, configured: Callable[[NodeId], Any], *, is_complete: bool
    ) -> None:
        super().__init__()
        self.is_lost = False
        self._is_complete: Final = is_complete
        self._specification: Final = specification
        monitors = PROTOCOLS[specification.NAME].monitors
        make: Callable[[NodeId, Any], Monitor] | None = monitors.load().monitor if monitors else None
        name = NodeId(text_of(node))
        self._monitor: Final = make(name, configured(name)) if make else None
        self._lives = 1
        if make is None:
            self.remark = f"{specification.NAME} has no rules for messages alone"

    def advance(self, rows: Rows, begin: int, end: int) -> tuple[int, list[Finding]]:
        """See `Judge`."""
        if self._monitor is None:
            self._skip(end - begin, NO_RULES)
            return end, []
        decode = self._specification.MESSAGE.decode
        kinds, peers, payloads, sizes = rows.kinds, rows.peers, rows.column("payload"), rows.column("bytes")
        for at in range(begin, end):
            if kinds[at] not in ("send", "recv"):
                self._skip(reason=NO_MESSAGE)
                if not self.remark:
                    self.remark = f"{_no_start(rows.event(at))}: only its messages are checked"
                    return at + 1, [Finding("log", NO_START, self.remark, Ref(rows, at))]
                continue
            payload, size = payloads[at], sizes[at]
            message = message_of(self._specification, rows.event(at)) if payload is None else decode(payload)
            if size is None:
                size = len(self._specification.MESSAGE.encode(message))
            self.judged += 1
            seen = Seen(kinds[at] == "send", NodeId(peers[at] or ""), message, size, rows.times[at])
            violations = list(self._monitor.see(seen))
            if (lives := getattr(self._monitor, "lives", 1)) != self._lives:
                self._lives = lives
                self.note = self.note or f"event {rows.seqs[at]} begins another life of the node, which has lost its state"
            if violations:
                return at + 1, [self._finding(Ref(rows, at), violation) for violation in violations]
        return end, []

    def _finding(self, ref: Ref, violation: RuleViolation) -> Finding:
        rule = violation.rule
        severity: Severity = "differs" if rule.is_decision else "violates"
        message = f"{rule.about}: violated here"
        if rule.needs_all and not self._is_complete:
            severity, message = "undetermined", f"{message}, or a message is missing or out of order (--complete: none is)"
        return Finding(severity, rule.name, message, ref, rule.clauses, violation.expected, violation.actual)

    def lose(self, why: str, reason: str = AFTER_FAULT) -> None:
        """Does nothing: a message missing from the log may also have been lost on the way."""

    def end(self) -> list[Finding]:
        """See `Judge`."""
        if not self.judged and not self.remark:
            self.remark = "the log has neither starts nor messages"
        return []


def _no_start(event: Event) -> str:
    return f"the log begins with event {event.seq}, which is not a start"


def _step_name(event: Event) -> str:
    return f"{event.kind} {event.msg_type}" if event.msg_type else event.kind


def message_of(specification: Specification, event: Event) -> Any:
    """Returns the message of an event."""
    if event.payload is not None:
        return specification.MESSAGE.decode(event.payload)
    return specification.MESSAGE.value(json.loads(event.args or "null"))


def _happening(specification: Specification, event: Event, args: Plain) -> Any:
    if args is None and event.payload is not None:
        args = specification.MESSAGE.plain(specification.MESSAGE.decode(event.payload))
    peer = None if event.peer is None else text_of(event.peer)
    kind: Any = event.kind
    return Line("", specification.NAME, "", text_of(event.node), event.seq, event.t_us, kind, peer, args, (), (), None)


def _fits(specification: Specification, state: Any, args: Plain) -> bool:
    """Returns True if a logged state can be true; a value that is not a state of the specification is accepted."""
    shown = specification.STATE.plain(state)
    is_state = isinstance(args, dict) and isinstance(shown, dict) and args.keys() == shown.keys()
    return not is_state or args == shown
