"""How a run of TLC has ended: with a verdict, or without one and for which reason."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from peerproof.tla.output import tlc_messages
from peerproof.tla.output.counterexample import Counterexample, read_initial_state, read_state


class Verdict(Enum):
    """What TLC says of the model."""

    SUCCESS = "success"
    ASSUMPTION = "assumption"
    DEADLOCK = "deadlock"
    INVARIANT = "invariant"
    ACTION_PROPERTY = "action property"
    TEMPORAL_PROPERTY = "temporal property"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. `depth` counts states on a path, the initial one included."""

    depth: int
    generated: int
    distinct: int
    queue: int
    per_minute: int


@dataclass(frozen=True, slots=True)
class ActionCount:
    """What an action has done: steps, and those among them that led to a new state."""

    generated: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Result:
    """A verdict, and what it rests on."""

    verdict: Verdict
    violated: str | None  #: the name of the property, where TLC gives one
    counterexample: Counterexample | None
    initial: int
    generated: int
    distinct: int
    queue: int
    depth: int
    actions: Mapping[str, ActionCount]  #: empty without coverage
    exit_code: int

    @property
    def edges(self) -> int:
        """Steps between states, those with equal labels and ends included."""
        return self.generated - self.initial


@dataclass(frozen=True, slots=True)
class Simulated:
    """What random walks have come to. The same seed makes the same walks, with the same TLC."""

    verdict: Verdict
    violated: str | None
    counterexample: Counterexample | None
    states: int  #: generated, on all walks together


class RunFailed(Exception):
    """TLC has no verdict; the message says why, and what to do."""


class TimedOut(RunFailed):
    """The time given was not enough."""


class Killed(RunFailed):
    """Somebody or the system has ended the Java machine."""


class OutOfMemory(RunFailed):
    """The memory given was not enough."""


class BadModule(RunFailed):
    """A module does not parse, or names what does not exist."""

    def __init__(self, module: str, line: int | None, column: int | None, problem: str) -> None:
        place = ":".join(str(part) for part in (f"{module}.tla" if module else "module", line, column) if part is not None)
        super().__init__(f"{place}: {problem}")
        self.module, self.line, self.column, self.problem = module, line, column, problem


class BadConfiguration(RunFailed):
    """The configuration does not parse, or names what the module does not define."""


class EvaluationFailed(RunFailed):
    """An expression of the model has no value in some state."""


#: exit code -> verdict; the same code stands for both kinds of property.
_EXIT_CODES: Final = {
    0: (Verdict.SUCCESS,),
    10: (Verdict.ASSUMPTION,),
    11: (Verdict.DEADLOCK,),
    12: (Verdict.INVARIANT,),
    13: (Verdict.ACTION_PROPERTY, Verdict.TEMPORAL_PROPERTY),
}
#: message code -> verdict.
_VIOLATIONS: Final = {
    2104: Verdict.ASSUMPTION,
    2107: Verdict.INVARIANT,  # in an initial state
    2108: Verdict.INVARIANT,  # a property that is an invariant, in an initial state
    2110: Verdict.INVARIANT,
    2112: Verdict.ACTION_PROPERTY,
    2114: Verdict.DEADLOCK,
    2116: Verdict.TEMPORAL_PROPERTY,
}
_INITIAL_VIOLATIONS: Final = frozenset({2107, 2108})
_CONFIGURATION_CODES: Final = frozenset({2222, 2223, 2224, 2225, 2226, 2227, 2228, 2229, 2230, 2231, *range(5001, 5010)})
_SIGNALS_SEEN_BY_SHELLS: Final = 128
#: Exit codes above 128 that stand for these signals are none of TLC's own.
_KILLING: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
_NAMED: Final = re.compile(r"(?:Invariant|Action property|Property|Temporal property) (\w+) is (?:violated|false)")
_ASSUMED: Final = re.compile(r"Assumption (line \d+, col \d+ to line \d+, col \d+ of module \w+) is false")
_PROGRESS: Final = re.compile(
    r"Progress\((\d+)\).*?: ([\d,]+) states generated(?: \(([\d,]+) s/min\))?, ([\d,]+) distinct states found.*?, ([\d,]+) states"
)
_GENERATED: Final = re.compile(r"([\d,]+) states (?:generated|checked)")
_STATISTICS: Final = re.compile(r"([\d,]+) states generated, ([\d,]+) distinct states found, ([\d,]+) states left on queue")
_INITIAL: Final = re.compile(
    r"Finished computing initial states: ([\d,]+)(?: distinct)? states? generated(?:, with ([\d,]+) of them distinct)?"
)
_DEPTH: Final = re.compile(r"depth of the complete state graph search is (\d+)")
_ACTION: Final = re.compile(r"<(\w+) line .*>: (\d+):(\d+)$")
_BACK: Final = re.compile(r"(\d+): ")
_AT: Final = re.compile(r"at line (\d+), column (\d+)")
_POSITION: Final = re.compile(r"\d+\. Line (\d+), column (\d+) to line \d+, column \d+ in (\w+)")
_LINE: Final = re.compile(r"line (\d+), col (\d+) to line \d+, col \d+ of module (\w+)\s+(.*?)(?:\n\s*\n|$)", re.DOTALL)
_IN_MODULE: Final = re.compile(r"(?:In module |in file |for module )(\w+)")


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def progress(text: str) -> Progress:
    """How far a run is, as message 2200 has it."""
    found = _PROGRESS.search(text)
    if found is None:
        raise RunFailed(f"TLC reports its progress in words that are not understood: {text!r}")
    depth, generated, per_minute, distinct, queue = (_number(part or "0") for part in found.groups())
    return Progress(depth, generated, distinct, queue, per_minute)


def states_generated(text: str) -> int:
    """How far random walks are, as message 2209 has it."""
    found = _GENERATED.search(text)
    if found is None:
        raise RunFailed(f"TLC reports its progress in words that are not understood: {text!r}")
    return _number(found[1])


@dataclass(frozen=True, slots=True)
class Report:
    """All that TLC has said, and its exit code."""

    said: tuple[tlc_messages.Message, ...]
    exit_code: int

    def result(self) -> Result:
        """The verdict, if all parts of the report agree on it; else raises the `RunFailed` that fits."""
        self._fail_without_verdict()
        verdict, violated = self._verdict()
        statistics = _STATISTICS.search(self._text(tlc_messages.STATISTICS))
        initial = _INITIAL.search(self._text(tlc_messages.INITIAL_STATES))
        depth = _DEPTH.search(self._text(tlc_messages.DEPTH))
        if verdict is Verdict.SUCCESS and not (self._text(tlc_messages.SUCCESS) and statistics and initial and depth):
            raise RunFailed("TLC exited with 0, but without the statistics of a finished run")
        generated, distinct, queue = map(_number, statistics.groups()) if statistics else (0, 0, 0)
        if verdict is Verdict.SUCCESS and queue:
            raise RunFailed(f"TLC says that it has finished, with {queue} states left on its queue")
        return Result(
            verdict,
            violated,
            self._counterexample(),
            _number(initial[2] or initial[1]) if initial else 0,
            generated,
            distinct,
            queue,
            int(depth[1]) if depth else 0,
            self._actions(),
            self.exit_code,
        )

    def simulation_result(self) -> Simulated:
        """The same of random walks, which have no counts but of the states generated."""
        self._fail_without_verdict()
        verdict, violated = self._verdict()
        told = self._text(tlc_messages.SIMULATION_PROGRESS)
        is_finished = told and self._text(tlc_messages.FINISHED)
        has_error = any(message.severity == tlc_messages.ERROR for message in self.said)
        if verdict is Verdict.SUCCESS and (not is_finished or has_error):
            raise RunFailed("TLC exited with 0, but did not say that the walks are at an end")
        return Simulated(verdict, violated, self._counterexample(), states_generated(told) if told else 0)

    def _fail_without_verdict(self) -> None:
        everything = "\n".join(message.text for message in self.said)
        if any(message.code == tlc_messages.OUT_OF_MEMORY for message in self.said) or "java.lang.OutOfMemoryError" in everything:
            raise OutOfMemory("the Java machine ran out of memory; give it more heap, or take a smaller model")
        number = -self.exit_code if self.exit_code < 0 else self.exit_code - _SIGNALS_SEEN_BY_SHELLS
        if self.exit_code < 0 or number in _KILLING:
            raise Killed(f"the Java machine was killed by {signal.Signals(number).name}; nothing is known of the model")
        if self.exit_code in _EXIT_CODES:
            return
        if any(message.code == tlc_messages.STACK_OVERFLOW for message in self.said) or "StackOverflowError" in everything:
            raise EvaluationFailed(
                "an expression recurses too deeply; give the Java machine a larger stack, or look for recursion without end"
            )
        if "Fatal errors while parsing" in everything or "Semantic errors:" in everything or "***Parse Error***" in everything:
            raise bad_module("\n".join(message.text for message in self.said if message.code == 0))
        for message in self.said:
            if message.code in _CONFIGURATION_CODES:
                raise BadConfiguration(" ".join(message.text.split()))
        problems = [message.text for message in self.said if message.severity == tlc_messages.ERROR and message.text]
        why = "\n".join(problems) or everything.strip()[-2000:] or "it said nothing"
        places = _POSITION.findall(why)
        place = f"{places[-1][2]}.tla:{places[-1][0]}:{places[-1][1]}: " if places else ""  # the innermost expression
        raise EvaluationFailed(f"{place}TLC gave up with exit code {self.exit_code}: {why}")

    def _verdict(self) -> tuple[Verdict, str | None]:
        found = [(message, _VIOLATIONS[message.code]) for message in self.said if message.code in _VIOLATIONS]
        expected = _EXIT_CODES[self.exit_code]
        if not found:
            if expected == (Verdict.SUCCESS,):
                return Verdict.SUCCESS, None
            raise RunFailed(f"TLC exited with {self.exit_code}, which stands for a violation, but reports none")
        message, verdict = found[0]
        if verdict not in expected:
            raise RunFailed(f"TLC exited with {self.exit_code}, but reports: {message.text}")
        named = _NAMED.search(message.text) or _ASSUMED.search(message.text)
        return verdict, named[1] if named else None

    def _counterexample(self) -> Counterexample | None:
        states = tuple(read_state(message.text) for message in self.said if message.code == tlc_messages.STATE)
        if not states:
            broken = (read_initial_state(message.text) for message in self.said if message.code in _INITIAL_VIOLATIONS)
            initial = next((state for state in broken if state is not None), None)
            return Counterexample((initial,)) if initial is not None else None
        back = _BACK.match(self._text(tlc_messages.BACK_TO_STATE))
        stutters = any(message.code == tlc_messages.STUTTERING for message in self.said)
        return Counterexample(states, int(back[1]) - 1 if back else None, stutters)

    def _actions(self) -> dict[str, ActionCount]:
        generated: Counter[str] = Counter()
        distinct: Counter[str] = Counter()
        codes = [message.code for message in self.said]
        last = max((at for at, code in enumerate(codes) if code == tlc_messages.COVERAGE_BEGINS), default=len(codes))
        for message in self.said[last:]:  # with long runs there is a table of counts each minute
            if message.code != tlc_messages.ACTION_COVERAGE:
                continue
            found = _ACTION.search(message.text)
            if found is None:
                raise RunFailed(f"TLC reports coverage in words that are not understood: {message.text!r}")
            distinct[found[1]] += int(found[2])
            generated[found[1]] += int(found[3])
        return {name: ActionCount(generated[name], distinct[name]) for name in generated}

    def _text(self, code: int) -> str:
        """The last message of this code, as counts grow."""
        return next((message.text for message in reversed(self.said) if message.code == code), "")


def bad_module(said: str) -> BadModule:
    """What is wrong with which module, and where, from the parser's words."""
    semantic = _LINE.search(said)
    if semantic is not None:
        return BadModule(semantic[3], int(semantic[1]), int(semantic[2]), " ".join(semantic[4].split()))
    module = _IN_MODULE.search(said)
    syntax = _AT.search(said)
    if syntax is not None:
        first = next(line for line in said.splitlines() if _AT.search(line))
        return BadModule(module[1] if module else "", int(syntax[1]), int(syntax[2]), first.strip())
    complaint = next(
        (line.strip() for line in said.splitlines() if "Cannot find" in line or "not exist" in line), said.strip()[-500:]
    )
    return BadModule(module[1] if module else "", None, None, complaint)
