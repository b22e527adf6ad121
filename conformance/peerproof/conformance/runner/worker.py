"""
A lane: one process of the implementation, and the cases that are tried on it one after the other.

Cases of the codec are packed together, and so are those of a model, which are many: the next requests of all of them go out at
once. When the implementation fails to answer in the middle of a pack, each case that is still open is a suspect and is tried by
itself. A case that then crashes is tried once more alone, on a fresh process: if it happens again it is confirmed. If no
suspect does it by itself, the first of them stands for the pack, unconfirmed.

That a case takes too long may be the machine's fault: it is tried once more with more time, the more the longer the process
took to start. If it is answered then, nobody is accused, and the longer time holds for all that the lane asks from then on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose, nothing_to_choose
from peerproof.conformance.adapter.messages import Hello, InvalidReply, NoAnswer, Reply, Request, check, contradicts_hello
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.cases import DIALOGUES
from peerproof.conformance.runner.cutting import cut_to
from peerproof.conformance.runner.exchange import AFTER, JUDGING
from peerproof.conformance.runner.result import Result
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
from peerproof.conformance.vectors.basis import OR, decisions_at
from peerproof.conformance.vectors.matching import Difference
from peerproof.spec.forms.form import Record

Emit = Callable[[Result], None]

#: What a process that must be started again counts as; any other failure leaves it usable.
TROUBLES: Final = ("crashed", "hung", "flooded", "garbled")
TRIALS: Final = 3  #: so often a case over a socket is tried that seems to fail
INTERRUPTED: Final = "interrupted"  #: why a run ends that a person, or whoever speaks for one, ends
ADAPTERS_OWN: Final = ("garbled", "misshapen", "error")  #: failures that say nothing of what the implementation takes a text for
_OF_MANY: Final = ("hung", "flooded")  #: what many small requests may do together, each of which does nothing wrong
_OUTRIGHT: Final = ("crashed", "hung", "flooded")  #: failures that are statuses of their own, whatever the level
#: A case that timed out has so many times as long when it is tried again; the more, the longer it takes to start.
MORE_TIME: Final = 4
MOST_TIME: Final = 20
USUAL_START: Final = 0.5  #: seconds that an implementation takes at most, on a machine with nothing else to do
_FAILURE_OF_ERROR: Final = {"panic": "crashed", "timeout": "hung"}


class Control:
    """What all lanes of a run share: whether to go on, and how often the implementation was started again."""

    def __init__(self, most_restarts: int) -> None:
        self.ended: str | None = None  #: why there is no going on
        self.unusable = False  #: because it can no longer be started
        self._most_restarts = most_restarts
        self._restarts = 0
        self._lock = threading.Lock()

    def end(self, because: str, *, unusable: bool = False) -> None:
        """No further case is begun."""
        with self._lock:
            if self.ended is None or because == INTERRUPTED:  # then processes are killed, which says nothing about them
                self.ended, self.unusable = because, unusable

    def count_restart(self) -> None:
        """The implementation has to be started again because of what it did."""
        with self._lock:
            self._restarts += 1
            spent = self._restarts >= self._most_restarts
        if spent:
            self.end(f"the implementation had to be started again {self._most_restarts} times (--max-restarts)")


class RunningTrial:
    """A trial and its dialogue."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.requests: Sequence[Request] = ()
        self.outcome: Verdict | Failure | Unsupported | None = None  #: None as long as it goes on
        self._dialogue = _closing(trial, DIALOGUES[trial.case.part](trial))
        self.feed(None)

    def feed(self, replies: list[Reply] | None) -> None:
        """The dialogue goes on with the replies to its requests."""
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
        """What is wrong if that is no reply to the request, or the adapter's error."""
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
            return Unsupported(f"the implementation does not support this {op}: {error.get('message', 'it does not say why')}")
        failure = _FAILURE_OF_ERROR.get(error["code"], "error")
        return Failure(failure, Difference(f"reply to {op}", {"ok": True}, {"error": error}))

    def _needed(self) -> set[str]:
        """The members that every configuration has."""
        form: Record = specification(self.trial.vector.protocol).CONFIG
        return set(form.forms) - form.optional


def _closing(trial: Trial, dialogue: Dialogue) -> Generator[Sequence[Request], list[Reply], Verdict | Failure | Unsupported]:
    """A dialogue that ends with the goodbye to every node that it has opened, however it comes out."""
    outcome: Verdict | Failure | Unsupported
    try:
        outcome = yield from dialogue
    except Failure as miss:
        claimed = trial.find_claimed(miss)
        outcome = Verdict(tuple(claimed)) if claimed or trial.goes_past(miss) else miss
    except Unsupported as unsupported:
        outcome = unsupported
    if trial.handles:
        with suppress(Failure, Unsupported):  # an adapter that cannot say goodbye is no mistake of the implementation
            yield [{"op": "close", "handle": handle} for handle in trial.handles]
    return outcome


def more_time(start: float) -> float:
    """
    How many times as long a case has that timed out, if the process took so many seconds to start.

    >>> more_time(0.1), more_time(1.0), more_time(60)
    (4.0, 8.0, 20)
    """
    return min(MOST_TIME, MORE_TIME * max(1.0, start / USUAL_START))


#: The known differences that a result shows, if it shows no other.
Assume: TypeAlias = Callable[[Result], Sequence[str]]


class Worker:
    """One process of the implementation."""

    def __init__(
        self, adapter: Adapter, hello: Hello, seed: str, control: Control, bounds: Bounds = USUAL, assume: Assume | None = None
    ) -> None:
        self._adapter = adapter
        self._assume = assume
        self._bounds = bounds
        self._times = 1.0  #: so many times as long as was said may a request take
        self._took = 0.0  #: seconds of the last start
        self._hello = hello
        self._seed = seed
        self._control = control

    def run(self, pack: Sequence[Case], emit: Emit) -> None:
        """Tries cases, as long as there is any going on."""
        if len(pack) > 1 and all(case.pack for case in pack):
            self._run_pack(pack, emit)
            return
        self._one_by_one(pack, emit)

    def _one_by_one(self, cases: Sequence[Case], emit: Emit) -> None:
        for case in cases:
            if self._control.ended is None:
                self._emit(self.alone(case), emit)

    def alone(self, case: Case) -> Result:
        """Tries a case by itself, and if it crashes, floods or hangs, once more."""
        result, usable = self._steadily(case) if case.over else self.once(case)
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
        return replace(result, confirmed=False, reason=f"{result.reason}; tried again alone: {came_out}")

    def _with_more_time(self, case: Case, hung: Result, usable: bool) -> Result:
        """Tries a case again that timed out; it is accused only if it does so again."""
        if not usable and not self._start():
            return hung
        times = max(self._times, more_time(self._took))
        self._adapter.stretch(times)
        again, usable = self.once(case)
        reason = f"{hung.reason or 'the adapter says that it took too long'}; tried again alone, with {times:.3g} times as long"
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
        return replace(again, reason=again.reason or f"{reason}: answered, so it is slow and not wrong")

    def _steadily(self, case: Case) -> tuple[Result, bool]:
        """The result over a socket, where only what is so each time is so."""
        result, usable = self.once(case)
        for _ in range(TRIALS - 1):
            if not usable or result.failure is None or self._control.ended:
                break
            again, usable = self.once(case)
            if usable and again.failure is None and result.status != "undetermined":
                reason = f"not so when it was tried again ({result.failure}{f': {result.reason}' if result.reason else ''})"
                return replace(result, status="undetermined", reason=reason), True
            if not usable or result.status == "undetermined":
                result = again
        return result, usable

    def once(self, case: Case) -> tuple[Result, bool]:
        """The result of exactly one trial, and whether the process can still be used."""
        begin = time.perf_counter()
        playing = RunningTrial(self._trial(case))
        trial = playing.trial
        try:
            while playing.outcome is None:
                playing.feed(self._adapter.ask(playing.requests, trial.choices.answer))
        except AdapterError as trouble:
            if playing.outcome is None:
                _tell_unanswered(playing, len(trouble.answered))
            return _error_result(trial, trouble, _since(begin)), False
        return result_of(trial, playing.outcome, _since(begin)), True

    def _trial(self, case: Case) -> Trial:
        return Trial(case, self._seed, self._hello, self._bounds, assume=self._known if self._assume else None)

    def _known(self, trial: Trial, miss: Failure) -> Sequence[str]:
        """Which known differences a miss shows, if it shows no other."""
        return self._assume(result_of(trial, miss, 0)) if self._assume else ()

    def _emit(self, result: Result, emit: Emit) -> None:
        if self._control.ended != INTERRUPTED:
            emit(result)

    def _run_pack(self, pack: Sequence[Case], emit: Emit) -> None:
        open_ones = [RunningTrial(self._trial(case)) for case in pack]
        doubtful: list[Case] = []
        trouble: AdapterError | None = None
        while open_ones and trouble is None:
            begin = time.perf_counter()
            replies: Sequence[Reply]
            try:
                requests = [request for playing in open_ones for request in playing.requests]
                choosing = [_chooser(playing) for playing in open_ones for _ in playing.requests]
                replies = self._adapter.ask_at_once(requests, choosing)
            except AdapterError as raised:
                trouble, replies = raised, raised.answered
            position = 0
            for playing in open_ones:
                until = position + len(playing.requests)
                if until <= len(replies):
                    playing.feed(list(replies[position:until]))
                position = until
            milliseconds = _since(begin) / len(open_ones)
            for playing in open_ones:
                if isinstance(playing.outcome, Failure) and (playing.trial.case.over or playing.outcome.failure == "hung"):
                    doubtful.append(playing.trial.case)
                elif playing.outcome is not None:
                    self._emit(result_of(playing.trial, playing.outcome, milliseconds), emit)
            open_ones = [playing for playing in open_ones if playing.outcome is None]
        self._one_by_one(doubtful, emit)
        if trouble:
            self._suspect([playing.trial.case for playing in open_ones], trouble, emit)

    def _suspect(self, cases: Sequence[Case], trouble: AdapterError, emit: Emit) -> None:
        """Re-runs each suspect alone to find which one broke the pack."""
        if self._control.ended or not cases:
            return
        if trouble.kind not in _OF_MANY:
            self._control.count_restart()
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
                blamed = _error_result(self._trial(cases[0]), trouble, 0)
                reason = f"{blamed.reason}; together with {len(cases) - 1} other cases, by itself none of them does it"
                first = replace(blamed, confirmed=False, reason=reason)
            for result in (first, *rest):
                self._emit(result, emit)

    def _start(self) -> bool:
        begin = time.monotonic()
        try:
            self._adapter.start()
        except AdapterUnavailable as error:
            self._control.end(f"the implementation cannot be started again: {error}", unusable=True)
            return False
        self._took = time.monotonic() - begin
        return True


def _chooser(playing: RunningTrial) -> Choose:
    return nothing_to_choose if playing.trial.case.codec else playing.trial.choices.answer


def result_of(trial: Trial, outcome: Verdict | Failure | Unsupported, milliseconds: float) -> Result:
    """The result of a trial that came to its end."""
    if isinstance(outcome, Unsupported):
        return skip_result(trial.case, str(outcome))
    if isinstance(outcome, Verdict):
        if trial.past:
            past = f"goes past what is assumed: {'; '.join(trial.past)}"
            return _result(trial, "known", milliseconds, branches=outcome.branches, reason=past, known={"reason": past})
        status = "tolerated" if outcome.tolerated else "passed"
        return _result(trial, status, milliseconds, branches=outcome.branches, reason=outcome.tolerated)
    if isinstance(outcome, Unanswered):
        return _result(trial, "undetermined", milliseconds, reason=outcome.because)
    failure = outcome.failure
    status, reason = failure if failure in _OUTRIGHT else "failed", None
    decisions = {} if failure in ADAPTERS_OWN else _decisions(trial, outcome)
    if status == "failed" and trial.vector.level != "must":
        status, reason = "tolerated", f"the vector says {trial.vector.level}"
    elif decisions:
        status, reason = "differs", _name_readings(decisions)
    if isinstance(outcome, Flood):
        reason = outcome.because
    if isinstance(outcome, TimingFailure):
        status, reason = "undetermined", outcome.because
    if trial.past:
        reason = "; ".join([*filter(None, [reason]), f"after what is assumed: {', '.join(trial.past)}"])
    about = {"failure": failure, "reason": reason, "difference": outcome.difference, "expected": _expectation(trial)}
    return _result(trial, status, milliseconds, decisions=tuple(decisions), **_evidence(trial), **about)


def _name_readings(decisions: Mapping[str, str | None]) -> str | None:
    """Which other readings an implementation takes, if that is known."""
    named = ((decision, reading.split(OR)) for decision, reading in decisions.items() if reading)
    return "; ".join(f"it takes {decision} as {' or '.join(map(repr, readings))}" for decision, readings in named) or None


def _decisions(trial: Trial, miss: Failure | None) -> dict[str, str | None]:
    """On which decisions it rests what was not met, each with the reading that was taken; None: the implementation ended."""
    vector, place = trial.vector, trial.judged_at
    steps = [(f"steps[{index}]", step) for index, step in enumerate(vector.body.get("steps", ()))]
    later = steps[next((at for at, (name, _) in enumerate(steps) if name == place), len(steps)) :]
    judges = next((name for name, step in later if not step.keys().isdisjoint(JUDGING)), AFTER)
    ended = miss is None or (miss.failure in _OUTRIGHT and miss.failure != "flooded")
    came = None if ended or miss is None else miss.fingerprint
    alone = trial.hello.oracle or "choices.oracle" not in vector.needs
    return decisions_at(vector.clauses, vector.rests_on, (place, judges), came, failure=miss.failure if miss else "", alone=alone)


def _error_result(trial: Trial, trouble: AdapterError, milliseconds: float) -> Result:
    decisions = {} if trouble.kind in ADAPTERS_OWN else _decisions(trial, None)
    return _result(
        trial,
        "differs" if decisions else "failed" if trouble.kind == "garbled" else trouble.kind,
        milliseconds,
        decisions=tuple(decisions),
        failure=trouble.kind,
        reason=f"the implementation {trouble.detail}",
        errors=trouble.errors.decode("utf-8", "backslashreplace"),
        **_evidence(trial),
    )


def _evidence(trial: Trial) -> dict[str, Any]:
    """Of a case that fails: which vector it is, for who has it not at hand, and what happened."""
    vector = trial.vector
    which = {"title": vector.title, "file": vector.file, "line": vector.line}
    return {**which, "story": tuple(trial.story), "judged": trial.judged, "essence": tuple(trial.essence)}


def _expectation(trial: Trial) -> tuple[Arrow | TrialEvent, ...]:
    """All that the expectation wants which was not met."""
    from peerproof.conformance.diagrams import message_graph  # it brings the models along, which a run that passes does not need
    from peerproof.conformance.runner.vector_diagram import of_expectation

    wanted = () if trial.wanted is None else of_expectation(trial.vector, trial.wanted)
    return tuple(
        Arrow(None, part.source, part.target, None, part.label)
        if isinstance(part, message_graph.Arrow)
        else TrialEvent(None, part.node, part.label)
        for part in wanted
    )


def _tell_unanswered(playing: RunningTrial, answered: int) -> None:
    """The story ends with the request that has no answer; if it is a datagram, that is what it all comes down to."""
    if not playing.requests:
        return
    trial, request = playing.trial, playing.requests[min(answered, len(playing.requests) - 1)]
    before = f"after {answered} requests like it that were answered, " if answered else ""
    if request["op"] in ("recv", "decode"):
        trial.essence = [request]
        trial.story.append(TrialEvent(request.get("now_ms"), "", f"{before}{request['op']} {request['bytes'] or '(no bytes)'}"))
    trial.story.append(TrialEvent(request.get("now_ms"), "", f"no answer to {request['op']}"))


def _result(trial: Trial, status: str, milliseconds: float, **members: Any) -> Result:
    vector, seed = trial.vector, None if trial.case.codec else trial.seed
    which = (trial.case.id, status, vector.id, vector.rev, vector.level, vector.clauses)
    return cut_to(Result(*which, seed=seed, milliseconds=milliseconds, **members), trial.bounds.record)


def skip_result(case: Case, reason: str) -> Result:
    """The result of a case that is not tried."""
    vector = case.vector
    return Result(case.id, "skipped", vector.id, vector.rev, vector.level, vector.clauses, reason=reason)


def _since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000
