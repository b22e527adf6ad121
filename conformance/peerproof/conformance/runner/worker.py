"""
A worker: one process of the implementation, and the cases that it runs one after the other.

Codec cases are packed, and so are the cases of a model, which are many: the next requests of all of them are sent at once. If
the implementation fails to answer in the middle of a pack, each open case is a suspect and is run again alone. A suspect that
crashes is run once more, on a fresh process: if it crashes again the failure is confirmed. If no suspect fails alone, the
first one is reported for the pack, unconfirmed.

A timeout may be the machine's fault: the case is run again with more time, in proportion to the time that the process took to
start. If it is then answered, it does not fail, and the worker keeps the longer timeout from then on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose
from peerproof.conformance.adapter.choices import nothing_to_choose
from peerproof.conformance.adapter.messages import Hello, InvalidReply, NoAnswer, Reply, Request, check, contradicts_hello
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.cases import DIALOGUES
from peerproof.conformance.runner.cutting import cut_to
from peerproof.conformance.runner.exchange import AFTER, JUDGING
from peerproof.conformance.runner.result import ADAPTERS_OWN, BROKEN, SILENT, Result
from peerproof.conformance.runner.trial import (
    Arrow,
    Case,
    Dialogue,
    Failure,
    Flood,
    TimingFailure,
    Trial,
    TrialEvent,
    Unanswered,
    Unsupported,
    Verdict,
)
from peerproof.conformance.suite.bounds import USUAL, Bounds
from peerproof.conformance.vectors.basis import Resting, decisions_at
from peerproof.conformance.vectors.matching import Difference
from peerproof.spec.forms.form import Record

Emit = Callable[[Result], None]

#: Failures after which the process must be started again; any other failure leaves it usable.
TROUBLES: Final = ("crashed", "hung", "flooded", "garbled")
TRIALS: Final = 3  #: the most runs of a socket case that seems to fail
INTERRUPTED: Final = "interrupted"  #: why a run ends that the user or a signal ends
_OF_MANY: Final = ("hung", "flooded")  #: failures that many small requests may cause together, although each one alone is correct
#: Timeout factor of the second run of a case that timed out; it grows with the start time.
MORE_TIME: Final = 4
MOST_TIME: Final = 20
USUAL_START: Final = 0.5  #: seconds that an implementation takes at most to start on an idle machine
_FAILURE_OF_ERROR: Final = {"panic": "crashed", "timeout": "hung"}


class Control:
    """State that all workers of a run share: whether to go on, and the number of restarts."""

    def __init__(self, most_restarts: int) -> None:
        self.ended: str | None = None  #: why the run ends; None while it goes on
        self.unusable = False  #: the implementation can no longer be started
        self.asked: set[str] = set()  #: the protocols in which it asked for a choice
        self.lingers = False  #: a process did not answer `bye` and exit
        self._most_restarts = most_restarts
        self._restarts = 0
        self._lock = threading.Lock()

    def end(self, because: str, *, unusable: bool = False) -> None:
        """Stops the run: no further case is started."""
        with self._lock:
            if self.ended is None or because == INTERRUPTED:  # an interrupt kills processes, and their failures are not theirs
                self.ended, self.unusable = because, unusable

    def stop(self, adapter: Adapter) -> None:
        """Stops a process that is no longer needed."""
        if not adapter.stop():
            self.lingers = True

    def count_restart(self) -> None:
        """Counts a restart that the implementation made necessary."""
        with self._lock:
            self._restarts += 1
            spent = self._restarts >= self._most_restarts
        if spent:
            self.end(f"the implementation had to be started again {self._most_restarts} times (--max-restarts)")


class RunningTrial:
    """A trial and its dialogue, that of its case if no other is given."""

    def __init__(self, trial: Trial, dialogue: Dialogue | None = None) -> None:
        self.trial = trial
        self.requests: Sequence[Request] = ()
        self.outcome: Verdict | Failure | Unsupported | None = None  #: None while it runs
        self._dialogue = _closing(trial, dialogue or DIALOGUES[trial.case.part](trial))
        self.feed(None)

    def feed(self, replies: list[Reply] | None) -> None:
        """Continues the dialogue with the replies to its requests."""
        try:
            if replies is None:
                self.requests = next(self._dialogue)
            elif wrong := next(filter(None, map(self._misfit, self.requests, replies)), None):
                self.requests = self._dialogue.throw(wrong)
            else:
                self.requests = self._dialogue.send(replies)
        except StopIteration as end:
            self.outcome = end.value

    def _misfit(self, request: Request, reply: Reply) -> Failure | Unsupported | None:
        """The failure if the reply is invalid or is the adapter's error; None if it is a proper reply."""
        op = request["op"]
        if isinstance(reply, NoAnswer):
            return Unanswered(op, reply.because)
        try:
            check(request, reply)
        except InvalidReply as unlike:
            return Failure("misshapen", Difference(f"reply to {op}", str(unlike), reply))
        error = reply.get("error")
        if error is None:
            return None
        if error["code"] == "unsupported" and not contradicts_hello(request, self.trial.offered, self._needed()):
            return Unsupported(f"the implementation does not support this {op}: {error.get('message', 'no reason given')}")
        if op == "decode":  # perhaps one of many malformed messages
            self.trial.essence = [request]
        failure = _FAILURE_OF_ERROR.get(error["code"], "error")
        return Failure(failure, Difference(f"reply to {op}", {"ok": True}, {"error": error}))

    def _needed(self) -> set[str]:
        """The members that every configuration must have."""
        form: Record = specification(self.trial.vector.protocol).CONFIG
        return set(form.forms) - form.optional


def _closing(trial: Trial, dialogue: Dialogue) -> Generator[Sequence[Request], list[Reply], Verdict | Failure | Unsupported]:
    """Runs a dialogue, then closes every node that it has opened, whatever the outcome."""
    outcome: Verdict | Failure | Unsupported
    try:
        outcome = yield from dialogue
    except Failure as miss:
        claimed = trial.find_claimed(miss)
        outcome = Verdict(tuple(claimed)) if claimed or trial.goes_past(miss) else miss
    except Unsupported as unsupported:
        outcome = unsupported
    if trial.handles:
        with suppress(Failure, Unsupported):  # an adapter that fails to close is no fault of the implementation
            yield [{"op": "close", "handle": handle} for handle in trial.handles]
    return outcome


def more_time(start: float) -> float:
    """
    The timeout factor for a case that timed out, if the process took so many seconds to start.

    >>> more_time(0.1), more_time(1.0), more_time(60)
    (4.0, 8.0, 20)
    """
    return min(MOST_TIME, MORE_TIME * max(1.0, start / USUAL_START))


#: Returns the known differences that a result shows, if it shows no other.
Assume: TypeAlias = Callable[[Result], Sequence[str]]


class Worker:
    """One process of the implementation."""

    def __init__(
        self, adapter: Adapter, hello: Hello, seed: str, control: Control, bounds: Bounds = USUAL, assume: Assume | None = None
    ) -> None:
        self._adapter = adapter
        self._assume = assume
        self._bounds = bounds
        self._times = 1.0  #: timeout factor of a request
        self._took = 0.0  #: seconds of the last start
        self._hello = hello
        self._seed = seed
        self._control = control
        self._answered = ""  #: the case to which this process replied last

    def run(self, pack: Sequence[Case], emit: Emit) -> None:
        """Runs cases until the run ends."""
        if len(pack) > 1 and all(case.pack for case in pack):
            self._run_pack(pack, emit)
            return
        self._one_by_one(pack, emit)

    def _one_by_one(self, cases: Sequence[Case], emit: Emit) -> None:
        for case in cases:
            if self._control.ended is None:
                self._emit(self.alone(case), emit)

    def alone(self, case: Case) -> Result:
        """Runs a case alone; if it crashes, floods or hangs, runs it once more."""
        before = self._answered
        result, usable = self._steadily(case) if case.over else self.once(case)
        ended_after = before if self._answered != case.id else ""
        if result.failure == "hung" and not self._control.ended:
            return self._with_more_time(case, result, usable)
        if usable or self._control.ended:
            return result
        self._control.count_restart()
        if not self._start():
            return result
        again, usable = self.once(case)
        if not usable:
            self._start()
        if again.failure == result.failure:
            return replace(result, confirmed=True)
        came_out = f"{again.status} ({again.failure})" if again.failure else again.status
        when = f" between requests, after its replies to {ended_after}" if result.failure == "crashed" and ended_after else ""
        return replace(result, confirmed=False, reason=f"{result.reason}{when}; run again alone: {came_out}")

    def _with_more_time(self, case: Case, hung: Result, usable: bool) -> Result:
        """Runs a case that timed out again with more time; it fails only if it times out again."""
        if not usable and not self._start():
            return hung
        times = max(self._times, more_time(self._took))
        self._adapter.stretch(times)
        again, usable = self.once(case)
        reason = f"{hung.reason or 'the adapter says that it took too long'}; run again alone, with {times:.3g} times the timeout"
        if again.failure != "hung":
            self._times = times
        self._adapter.stretch(self._times)
        if not usable:
            self._control.count_restart()
            self._start()
        if again.failure == "hung":
            return replace(again, confirmed=True, reason=f"{reason}: {again.reason}")
        if not usable:
            return replace(again, confirmed=False, reason=f"{reason}: {again.reason}")
        return replace(again, reason=again.reason or f"{reason}: it answered, so it is slow and not wrong")

    def _steadily(self, case: Case) -> tuple[Result, bool]:
        """Runs a socket case up to TRIALS times; only a failure of every run counts."""
        result, usable = self.once(case)
        for _ in range(TRIALS - 1):
            if not usable or result.failure is None or self._control.ended:
                break
            again, usable = self.once(case)
            if usable and again.failure is None and result.status != "undetermined":
                reason = f"did not fail when run again ({result.failure}{f': {result.reason}' if result.reason else ''})"
                return replace(result, status="undetermined", reason=reason), True
            if not usable or result.status == "undetermined":
                result = again
        return result, usable

    def once(self, case: Case) -> tuple[Result, bool]:
        """Runs a case exactly once; returns its result and whether the process is still usable."""
        begin = time.perf_counter()
        playing = RunningTrial(self._trial(case))
        trial = playing.trial
        try:
            while playing.outcome is None:
                playing.feed(self._adapter.ask(playing.requests, self._chooser(trial)))
                self._answered = case.id
        except AdapterError as trouble:
            self._answered = case.id if trouble.answered else self._answered
            if playing.outcome is None:
                _tell_unanswered(playing, len(trouble.answered))
            return error_result(trial, trouble, _since(begin)), False
        result = result_of(trial, playing.outcome, _since(begin))
        if result.failure == "crashed":  # the adapter reported it, and the process goes on
            result = replace(result, errors=self._adapter.take_errors().decode("utf-8", "backslashreplace"))
        return result, True

    def _chooser(self, trial: Trial) -> Choose:
        def answer(question: dict[str, Any]) -> list[int]:
            self._control.asked.add(trial.vector.protocol)
            return trial.choices.answer(question)

        return nothing_to_choose if trial.case.codec else answer

    def _trial(self, case: Case) -> Trial:
        return Trial(case, self._seed, self._hello, self._bounds, assume=self._known if self._assume else None)

    def _known(self, trial: Trial, miss: Failure) -> Sequence[str]:
        """The known differences that a failure shows, if it shows no other."""
        return self._assume(result_of(trial, miss, 0)) if self._assume else ()

    def _emit(self, result: Result, emit: Emit) -> None:
        if self._control.ended != INTERRUPTED:
            emit(result)

    def _run_pack(self, pack: Sequence[Case], emit: Emit) -> None:
        open_ones = [RunningTrial(self._trial(case)) for case in pack]
        doubtful: list[Case] = []
        reported: list[tuple[Case, Result]] = []  #: crashes that the adapter reported
        trouble: AdapterError | None = None
        while open_ones and trouble is None:
            begin = time.perf_counter()
            replies: Sequence[Reply]
            try:
                requests = [request for playing in open_ones for request in playing.requests]
                choosing = [self._chooser(playing.trial) for playing in open_ones for _ in playing.requests]
                replies = self._adapter.ask_at_once(requests, choosing)
            except AdapterError as raised:
                trouble, replies = raised, raised.answered
            position = 0
            for playing in open_ones:
                until = position + len(playing.requests)
                if until <= len(replies):
                    playing.feed(list(replies[position:until]))
                    self._answered = playing.trial.case.id
                position = until
            milliseconds = _since(begin) / len(open_ones)
            for playing in open_ones:
                if isinstance(playing.outcome, Failure) and (playing.trial.case.over or playing.outcome.failure == "hung"):
                    doubtful.append(playing.trial.case)
                elif isinstance(playing.outcome, Failure) and playing.outcome.failure == "crashed":
                    reported.append((playing.trial.case, result_of(playing.trial, playing.outcome, milliseconds)))
                elif playing.outcome is not None:
                    self._emit(result_of(playing.trial, playing.outcome, milliseconds), emit)
            open_ones = [playing for playing in open_ones if playing.outcome is None]
        self._one_by_one(doubtful, emit)
        if trouble:
            self._suspect([playing.trial.case for playing in open_ones], trouble, emit)
        for case, result in reported:
            self._emit(self._confirm(case, result), emit)

    def _confirm(self, case: Case, result: Result) -> Result:
        """Runs a case whose crash the adapter reported in a pack again alone, for its own standard error."""
        if self._control.ended:
            return result
        self._adapter.take_errors()
        again = self.alone(case)
        if again.status in SILENT:
            return result
        if again.failure != "crashed":
            reason = f"run again alone: {again.outcome}"
            return replace(result, confirmed=False, reason=f"{result.reason}; {reason}" if result.reason else reason)
        return replace(again, confirmed=again.confirmed is not False)

    def _suspect(self, cases: Sequence[Case], trouble: AdapterError, emit: Emit) -> None:
        """Re-runs each suspect alone to find which one broke the pack."""
        if self._control.ended or not cases:
            return
        if trouble.kind not in _OF_MANY:
            self._control.count_restart()
        before = self._answered
        if not self._start():
            return
        first = self.alone(cases[0])
        found = first.failure in TROUBLES
        rest: list[Result] = []
        try:
            for case in cases[1:]:
                if self._control.ended:
                    break
                rest.append(self.alone(case))
                found = found or rest[-1].failure in TROUBLES
        finally:
            if not found and trouble.kind not in _OF_MANY:
                blamed = error_result(self._trial(cases[0]), trouble, 0)
                first = replace(blamed, confirmed=False, reason=f"{blamed.reason}{_circumstances(trouble, before, len(cases))}")
            for result in (first, *rest):
                self._emit(result, emit)

    def _start(self) -> bool:
        self._answered = ""
        begin = time.monotonic()
        try:
            self._adapter.start()
        except AdapterUnavailable as error:
            self._control.end(f"the implementation cannot be started again: {error}", unusable=True)
            return False
        self._took = time.monotonic() - begin
        return True


def _circumstances(trouble: AdapterError, before: str, cases: int) -> str:
    """When a process failed that none of so many cases makes fail alone; `before` is the case to which it replied last."""
    alone = "this case does not fail alone" if cases == 1 else f"none of {cases} cases that were open fails this way alone"
    if trouble.kind == "crashed" and before:
        return f", perhaps between requests: its last replies were to {before} and cases sent with it; {alone}"
    return f"; {alone}"


def result_of(trial: Trial, outcome: Verdict | Failure | Unsupported, milliseconds: float) -> Result:
    """Returns the result of a finished trial."""
    if isinstance(outcome, Unsupported):
        return skip_result(trial.case, str(outcome))
    if isinstance(outcome, Verdict):
        if trial.past:
            past = f"continued after assumed differences: {'; '.join(trial.past)}"
            return _result(trial, "known", milliseconds, branches=outcome.branches, reason=past, known={"reason": past})
        status = "tolerated" if outcome.tolerated else "passed"
        return _result(trial, status, milliseconds, branches=outcome.branches, reason=outcome.tolerated)
    if isinstance(outcome, Unanswered):
        return _result(trial, "undetermined", milliseconds, reason=outcome.because)
    failure = outcome.failure
    status, reason = failure if failure in BROKEN else "failed", None
    owes = trial.owes_answer(failure)
    resting = Resting() if owes or failure in ADAPTERS_OWN else _decisions(trial, outcome)
    if status == "failed" and trial.vector.level != "must" and not owes:
        status, reason = "tolerated", f"the vector says {trial.vector.level}"
    elif resting.decisions:
        status, reason = "differs", resting.text()
    if isinstance(outcome, Flood):
        reason = outcome.because
    if isinstance(outcome, TimingFailure):
        status, reason = "undetermined", outcome.because
    if trial.past:
        reason = "; ".join([*filter(None, [reason]), f"after assumed differences: {', '.join(trial.past)}"])
    about = {"failure": failure, "reason": reason, "difference": outcome.difference, "expected": _expectation(trial)}
    return _result(trial, status, milliseconds, decisions=resting.decisions, **_evidence(trial), **about)


def _decisions(trial: Trial, miss: Failure | None) -> Resting:
    """The decisions behind the failed expectation; None for miss: the implementation ended."""
    vector, place = trial.vector, trial.checked_at
    steps = [(f"steps[{index}]", step) for index, step in enumerate(vector.body.get("steps", ()))]
    later = steps[next((at for at, (name, _) in enumerate(steps) if name == place), len(steps)) :]
    judges = next((name for name, step in later if not step.keys().isdisjoint(JUDGING)), AFTER)
    ended = miss is None or (miss.failure in BROKEN and miss.failure != "flooded")
    came = None if ended or miss is None else miss.fingerprint
    alone = trial.hello.is_oracle(vector.protocol) or "choices.oracle" not in vector.needs
    return decisions_at(vector.clauses, vector.rests_on, (place, judges), came, failure=miss.failure if miss else "", alone=alone)


def error_result(trial: Trial, trouble: AdapterError, milliseconds: float) -> Result:
    """Returns the result of a trial in which the implementation gave no answer."""
    is_violation = trouble.kind in ADAPTERS_OWN or trial.owes_answer(trouble.kind)
    decisions = () if is_violation else _decisions(trial, None).decisions
    return _result(
        trial,
        "differs" if decisions else "failed" if trouble.kind == "garbled" else trouble.kind,
        milliseconds,
        decisions=decisions,
        failure=trouble.kind,
        reason=f"the implementation {trouble.detail}",
        errors=trouble.errors.decode("utf-8", "backslashreplace"),
        **_evidence(trial),
    )


def _evidence(trial: Trial) -> dict[str, Any]:
    """The evidence of a failed case: which vector it is, and what happened."""
    vector = trial.vector
    which = {"title": vector.title, "file": vector.file, "line": vector.line}
    return {**which, "story": tuple(trial.story), "judged": trial.judged, "essence": tuple(trial.essence)}


def _expectation(trial: Trial) -> tuple[Arrow | TrialEvent, ...]:
    """The messages and events of the expectation that was not met."""
    from peerproof.conformance.diagrams import message_graph  # imports the models, which a passing run does not need
    from peerproof.conformance.runner.vector_diagram import of_expectation

    wanted = () if trial.wanted is None else of_expectation(trial.vector, trial.wanted)
    return tuple(
        Arrow(None, part.source, part.target, None, part.label)
        if isinstance(part, message_graph.Arrow)
        else TrialEvent(None, part.node, part.label)
        for part in wanted
    )


def _tell_unanswered(playing: RunningTrial, answered: int) -> None:
    """Ends the story with the unanswered request; a datagram alone becomes the essence."""
    if not playing.requests:
        return
    trial, request = playing.trial, playing.requests[min(answered, len(playing.requests) - 1)]
    before = f"after {answered} such requests were answered, " if answered else ""
    if request["op"] in ("recv", "decode"):
        trial.essence = [request]
        trial.story.append(TrialEvent(request.get("now_ms"), "", f"{before}{request['op']} {request['bytes'] or '(no bytes)'}"))
    trial.story.append(TrialEvent(request.get("now_ms"), "", f"no answer to {request['op']}"))


def _result(trial: Trial, status: str, milliseconds: float, **members: Any) -> Result:
    vector, seed = trial.vector, None if trial.case.codec else trial.seed
    which = (trial.case.id, status, vector.id, vector.rev, vector.level, vector.clauses)
    return cut_to(Result(*which, seed=seed, milliseconds=round(milliseconds, 3), **members), trial.bounds.record)


def skip_result(case: Case, reason: str) -> Result:
    """Returns the result of a case that does not run."""
    vector = case.vector
    return Result(case.id, "skipped", vector.id, vector.rev, vector.level, vector.clauses, reason=reason)


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000
