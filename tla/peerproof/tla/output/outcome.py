"""The outcome of a run of TLC: a verdict, or the reason why there is none."""

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
    """TLC's verdict on a model."""

    SUCCESS = "success"
    ASSUMPTION = "assumption"
    DEADLOCK = "deadlock"
    INVARIANT = "invariant"
    ACTION_PROPERTY = "action property"
    TEMPORAL_PROPERTY = "temporal property"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run. `depth` counts states on a path, including the initial one."""

    depth: int
    generated: int
    distinct: int
    queue: int
    per_minute: int


@dataclass(frozen=True, slots=True)
class ActionCount:
    """The number of an action's steps, and of those that led to a new state."""

    generated: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Result:
    """A verdict, with counterexample and counts."""

    verdict: Verdict
    violated: str | None  #: the name of the property, if TLC reports it
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
        """The number of steps between states, including parallel ones with the same label."""
        return self.generated - self.initial


@dataclass(frozen=True, slots=True)
class Simulated:
    """The outcome of random walks. The same seed gives the same walks, with the same version of TLC."""

    verdict: Verdict
    violated: str | None
    counterexample: Counterexample | None
    states: int  #: generated, on all walks together


class RunFailed(Exception):
    """TLC gave no verdict; the message says why, and what to do."""


class TimedOut(RunFailed):
    """The time limit was exceeded."""


class Killed(RunFailed):
    """The Java process was killed."""


class OutOfMemory(RunFailed):
    """Java ran out of memory."""


class BadModule(RunFailed):
    """A module does not parse, or uses an undefined name."""

    def __init__(self, module: str, line: int | None, column: int | None, problem: str) -> None:
        place = ":".join(str(part) for part in (f"{module}.tla" if module else "module", line, column) if part is not None)
        super().__init__(f"{place}: {problem}")
        self.module, self.line, self.column, self.problem = module, line, column, problem


class BadConfiguration(RunFailed):
    """The configuration does not parse, or uses a name that the module does not define."""


class EvaluationFailed(RunFailed):
    """An expression of the model cannot be evaluated in some state."""


#: Exit code -> verdicts; one code stands for two kinds of properties.
_EXIT_CODES: Final = {
    0: (Verdict.SUCCESS,),
    10: (Verdict.ASSUMPTION,),
    11: (Verdict.DEADLOCK,),
    12: (Verdict.INVARIANT,),
    13: (Verdict.ACTION_PROPERTY, Verdict.TEMPORAL_PROPERTY),
}
#: Message code -> verdict.
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
#: Signals whose exit codes above 128 are not TLC's own.
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
_PARSING: Final = re.compile(r"Parsing file .*?(\w+)\.tla$", re.MULTILINE)
_IN_MODULE: Final = re.compile(r"(?:for module \w+ imported in module |In module |for module )(\w+)")
_IN_FILE: Final = re.compile(r"in file (\w+)")  # the root module, whichever has the error


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def progress(text: str) -> Progress:
    """Parses the progress in message 2200."""
    found = _PROGRESS.search(text)
    if found is None:
        raise RunFailed(f"cannot parse TLC's progress: {text!r}")
    depth, generated, per_minute, distinct, queue = (_number(part or "0") for part in found.groups())
    return Progress(depth, generated, distinct, queue, per_minute)


def states_generated(text: str) -> int:
    """Parses the progress of random walks in message 2209."""
    found = _GENERATED.search(text)
    if found is None:
        raise RunFailed(f"cannot parse TLC's progress: {text!r}")
    return _number(found[1])


@dataclass(frozen=True, slots=True)
class Report:
    """The messages of TLC, and its exit code."""

    said: tuple[tlc_messages.Message, ...]
    exit_code: int

    def result(self) -> Result:
        """Returns the verdict if all parts of the report agree on it. Raises RunFailed otherwise."""
        self._fail_without_verdict()
        verdict, violated = self._verdict()
        statistics = _STATISTICS.search(self._text(tlc_messages.STATISTICS))
        initial = _INITIAL.search(self._text(tlc_messages.INITIAL_STATES))
        depth = _DEPTH.search(self._text(tlc_messages.DEPTH))
        if verdict is Verdict.SUCCESS and not (self._text(tlc_messages.SUCCESS) and statistics and initial and depth):
            raise RunFailed("TLC exited with 0, but without the statistics of a finished run")
        generated, distinct, queue = map(_number, statistics.groups()) if statistics else (0, 0, 0)
        if verdict is Verdict.SUCCESS and queue:
            raise RunFailed(f"TLC reports that it has finished, with {queue} states left on its queue")
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
        """Like `result`, for random walks, which only count generated states."""
        self._fail_without_verdict()
        verdict, violated = self._verdict()
        progress_text = self._text(tlc_messages.SIMULATION_PROGRESS)
        is_finished = progress_text and self._text(tlc_messages.FINISHED)
        has_error = any(message.severity == tlc_messages.ERROR for message in self.said)
        if verdict is Verdict.SUCCESS and (not is_finished or has_error):
            raise RunFailed("TLC exited with 0, but did not report that the walks are finished")
        return Simulated(verdict, violated, self._counterexample(), states_generated(progress_text) if progress_text else 0)

    def _fail_without_verdict(self) -> None:
        everything = "\n".join(message.text for message in self.said)
        if any(message.code == tlc_messages.OUT_OF_MEMORY for message in self.said) or "java.lang.OutOfMemoryError" in everything:
            raise OutOfMemory("Java ran out of memory; give it more heap, or use a smaller model")
        number = -self.exit_code if self.exit_code < 0 else self.exit_code - _SIGNALS_SEEN_BY_SHELLS
        if self.exit_code < 0 or number in _KILLING:
            raise Killed(f"Java was killed by {signal.Signals(number).name}; there is no verdict on the model")
        if self.exit_code in _EXIT_CODES:
            return
        if any(message.code == tlc_messages.STACK_OVERFLOW for message in self.said) or "StackOverflowError" in everything:
            raise EvaluationFailed("an expression recurses too deeply; give Java a larger stack, or look for infinite recursion")
        if "Fatal errors while parsing" in everything or "Semantic errors:" in everything or "***Parse Error***" in everything:
            raise bad_module("\n".join(message.text for message in self.said if message.code == 0))
        for message in self.said:
            if message.code in _CONFIGURATION_CODES:
                raise BadConfiguration(" ".join(message.text.split()))
        problems = [message.text for message in self.said if message.severity == tlc_messages.ERROR and message.text]
        why = "\n".join(problems) or everything.strip()[-2000:] or "no output"
        places = _POSITION.findall(why)
        place = f"{places[-1][2]}.tla:{places[-1][0]}:{places[-1][1]}: " if places else ""  # the innermost expression
        raise EvaluationFailed(f"{place}TLC failed with exit code {self.exit_code}: {why}")

    def _verdict(self) -> tuple[Verdict, str | None]:
        found = [(message, _VIOLATIONS[message.code]) for message in self.said if message.code in _VIOLATIONS]
        expected = _EXIT_CODES[self.exit_code]
        if not found:
            if expected == (Verdict.SUCCESS,):
                return Verdict.SUCCESS, None
            raise RunFailed(f"TLC exited with {self.exit_code}, which means a violation, but reports none")
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
        for message in self.said[last:]:  # long runs print a table every minute
            if message.code != tlc_messages.ACTION_COVERAGE:
                continue
            found = _ACTION.search(message.text)
            if found is None:
                raise RunFailed(f"cannot parse TLC's coverage: {message.text!r}")
            distinct[found[1]] += int(found[2])
            generated[found[1]] += int(found[3])
        return {name: ActionCount(generated[name], distinct[name]) for name in generated}

    def _text(self, code: int) -> str:
        """Returns the text of the last message with this code, which has the final counts."""
        return next((message.text for message in reversed(self.said) if message.code == code), "")


def bad_module(said: str) -> BadModule:
    """Finds module, position and problem in the parser's output."""
    semantic = _LINE.search(said)
    if semantic is not None:
        return BadModule(semantic[3], int(semantic[1]), int(semantic[2]), " ".join(semantic[4].split()))
    syntax = _AT.search(said)
    parsed = _PARSING.findall(said, 0, syntax.start()) if syntax is not None else []
    named = _IN_MODULE.search(said) or _IN_FILE.search(said)
    module = parsed[-1] if parsed else named[1] if named else ""
    if syntax is not None:
        first = next(line for line in said.splitlines() if _AT.search(line))
        return BadModule(module, int(syntax[1]), int(syntax[2]), first.strip())
    complaints = (line.strip() for each in ("Cannot find", "not exist") for line in said.splitlines() if each in line)
    return BadModule(module, None, None, next(complaints, said.strip()[-500:]))
