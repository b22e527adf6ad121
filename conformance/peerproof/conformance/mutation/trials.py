"""
Runs each mutant on the vectors that reach the place of its fault, until one detects it.

A mutant runs in its own process, forked from this one: an endless loop ends at its limit, and no state is left behind. The
vectors that reach each line are found before, by running all of them on the unchanged specification.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import selectors
import signal
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil
from types import FrameType, MappingProxyType
from typing import IO, Any, Final

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.clauses.catalogue import protocols, specification
from peerproof.conformance.mutation.copies import Copy, avoid_shortcuts, begin_again, change, remember_nothing
from peerproof.conformance.mutation.sites import Module, Mutant
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings, SingleCases, run
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.spec.protocols import PROTOCOLS

#: A mutant that crashes at each datagram is started again each time; unmet `should` vectors count as failures.
SETTINGS: Final = Settings(most_restarts=10_000, strict=True, decisions="strict", fail_fast=True)

#: It never waits for anything, so a mutant that takes too long is stopped by its CPU time.
PATIENCE: Final = Timeouts(hello=0, op=0, bye=0)

#: With a time limit, an implementation runs in a thread of its own, whose lines are followed.
FOLLOWED: Final = Timeouts(hello=0, op=3600, bye=0)

#: A mutant may use this multiple of the specification's CPU time, plus this many seconds.
TIMES, MORE = 10, 5

#: Maximum address space of a mutant in bytes.
MEMORY: Final = 4 << 30

SURVIVED, HUNG, BROKEN = "survived", "hung", "not loaded"

#: In a matrix: a mutant that this many vectors detect says nothing about a single one, so the search stops.
MOST_KILLERS: Final = 20

#: Size of the first batch of cases: most mutants are killed by the first few.
FEW: Final = 16


@dataclass(frozen=True)
class Reach:
    """The lines that each case reaches, and its CPU time."""

    lines: dict[tuple[str, int], list[int]]  #: path and line -> numbers of cases
    imported: frozenset[tuple[str, int]]  #: lines that run when their module is imported: every case may depend on them
    seconds: list[float]  #: of each case


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a mutant."""

    killer: str | None  #: the case that detected it; None if none did
    how: str  #: failed, crashed, …, or one of those below
    cases: int  #: number of cases that reach the place
    #: The vectors that detected it and are not made from a state graph, up to the requested number.
    killers: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        """Returns True if it was detected."""
        return self.how != SURVIVED


class Bench:
    """The cases of one protocol, and the implementation that the mutants run in."""

    def __init__(
        self,
        protocol: str,
        cases: Sequence[Case],
        implementation: str,
        packages: Sequence[str],
        version: str,
        *,
        most_killers: int = 0,
    ) -> None:
        """
        `implementation` is a `MODULE:CLASS` that takes the specification from `packages`, which each mutant loads anew.

        With `most_killers`, a mutant runs first on the cases that reach its place and are not made from state graphs, until this
        many vectors have detected it.
        """
        self.protocol = protocol
        self.cases = cases
        self._most_killers = most_killers
        self._implementation = implementation
        self._packages = (*(PROTOCOLS[name].specification.target for name in protocols()), *packages)
        self._version = version

    def reach(self, modules: Sequence[Module]) -> Reach:
        """Runs all cases on the unchanged specification. Raises RuntimeError if it fails one."""
        answer = _answer(*_fork(lambda: self._reach(modules)))
        if isinstance(answer, Reach):
            return answer
        raise RuntimeError(f"{self.protocol} could not be run: {answer or 'its process ended'}")

    def trials(
        self, mutants: Sequence[Mutant], reach: Reach, jobs: int, before: Mapping[str, str] = MappingProxyType({})
    ) -> Iterator[tuple[Mutant, Verdict]]:
        """
        Runs mutants, up to `jobs` at a time; yields verdicts as they come.

        `before` maps some mutants to the case that killed them earlier.
        """
        waiting = list(reversed(mutants))
        running: set[_Running] = set()
        best: defaultdict[str, Counter[int]] = defaultdict(Counter)  # function -> the cases that killed its mutants
        numbers = {case.id: number for number, case in enumerate(self.cases)}
        modules = {mutant.module.name for mutant in mutants}
        for name in protocols():
            specification(name)  # kept from here on: the suite checks with these, whatever is loaded later
        copy = Copy(self._packages, [self._implementation.partition(":")[0], *modules])
        gc.freeze()  # existing objects are shared with all forked processes
        with selectors.DefaultSelector() as selector:
            try:
                while waiting or running:
                    while waiting and len(running) < jobs:
                        mutant = waiting.pop()
                        once = [numbers[before[mutant.id]]] if before.get(mutant.id) in numbers else []
                        often = [number for number, _ in best[_function(mutant)].most_common(FEW)]
                        chosen = self._select_cases(mutant, reach, [*once, *often])
                        child = self._start_trial(mutant, chosen, reach, copy)
                        running.add(child)
                        selector.register(child.answer, selectors.EVENT_READ, child)
                    for key, _ in selector.select():
                        child = key.data
                        running.remove(child)
                        selector.unregister(child.answer)
                        verdict = child.verdict()
                        if verdict.killer is not None:
                            best[_function(child.mutant)][numbers[verdict.killer]] += 1
                        yield child.mutant, verdict
            finally:
                for child in running:
                    child.kill()

    def _select_cases(self, mutant: Mutant, reach: Reach, best: Iterable[int]) -> list[int]:
        """Returns the cases that reach the mutant, the best first, then the fastest."""
        found = {number for place in mutant.places for number in reach.lines.get(place, ())}
        if not reach.imported.isdisjoint(mutant.places):
            found = set(range(len(self.cases)))
        first = [number for number in dict.fromkeys(best) if number in found]
        return [*first, *sorted(found.difference(first), key=lambda number: reach.seconds[number])]

    def _start_trial(self, mutant: Mutant, chosen: list[int], reach: Reach, copy: Copy) -> _Running:
        def work() -> Verdict:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            avoid_shortcuts()
            copy.use()
            if not change(mutant, reach.imported):
                begin_again(self._packages, mutant)  # the suite loads the mutant from now on too, so only one detection counts
            elif self._most_killers and (killers := self._find_killers(chosen, reach.seconds)):
                return Verdict(killers[0].id, killers[0].failure or killers[0].status, len(chosen), _vectors(killers))
            return self._run_cases(chosen, reach.seconds)

        return _Running(mutant, len(chosen), *_fork(work))

    def _find_killers(self, numbers: Sequence[int], seconds: Sequence[float]) -> list[Result]:
        """Returns the failures among the cases that are not made from state graphs."""
        written = [number for number in numbers if self.cases[number].vector.layer != LAYER]
        _may_compute(TIMES * sum(seconds[number] for number in written) + MORE)
        try:
            results = self._results([self.cases[number] for number in written], self._most_killers)
        except (AdapterUnavailable, MemoryError):
            return []
        return [result for result in results if STATUSES[result.status]]

    def _run_cases(self, numbers: Sequence[int], seconds: Sequence[float]) -> Verdict:
        begin, few = 0, FEW
        try:
            while begin < len(numbers):
                some = numbers[begin : begin + few]
                _may_compute(TIMES * sum(seconds[number] for number in some) + MORE)
                for result in self._results([self.cases[number] for number in some]):
                    if STATUSES[result.status]:
                        return Verdict(result.id, result.failure or result.status, len(numbers))
                begin, few = begin + few, few * 4
        except AdapterUnavailable:
            return Verdict(None, BROKEN, len(numbers))
        except MemoryError:
            return Verdict(None, HUNG, len(numbers))
        return Verdict(None, SURVIVED, len(numbers))

    def _results(self, cases: Sequence[Case], failures: int = 1) -> list[Result]:
        """Runs cases until this many vectors have failed, and returns the results."""
        results: list[Result] = []

        def report(result: Result) -> bool:
            results.append(result)
            return STATUSES[result.status] and len(_vectors(one for one in results if STATUSES[one.status])) >= failures

        adapter = InProcess(self._implementation, PATIENCE, self._version)
        run(lambda: adapter, adapter, adapter.start(), cases, SETTINGS, report)
        return results

    def _reach(self, modules: Sequence[Module]) -> Reach:
        paths = frozenset(str(module.path) for module in modules)
        lines: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        seconds: list[float] = []
        avoid_shortcuts()
        remember_nothing()
        begin_again(self._packages)
        seen: set[tuple[str, int]] = set()
        follow = _following(paths, seen)
        sys.settrace(follow)
        for module in modules:  # also those that no case has needed yet
            import_module(module.name)
        sys.settrace(None)
        threading.settrace(follow)
        adapter = InProcess(self._implementation, FOLLOWED, self._version)
        runner = SingleCases(adapter, adapter.start(), SETTINGS)
        imported = frozenset(seen)
        for number, case in enumerate(self.cases):
            seen.clear()
            begun = time.process_time()
            result = runner.run(case)
            seconds.append(time.process_time() - begun)
            if STATUSES[result.status]:
                raise RuntimeError(f"the specification itself does not pass {case.id}")
            for line in seen:
                lines[line].append(number)
        adapter.stop()
        return Reach(dict(lines), imported, seconds)


@dataclass(frozen=True, eq=False)
class _Running:
    mutant: Mutant
    cases: int
    pid: int
    answer: IO[bytes]

    def verdict(self) -> Verdict:
        """Waits for the process and returns its verdict. Raises RuntimeError if the suite itself failed."""
        answer = _answer(self.pid, self.answer)
        if answer is None:
            return Verdict(None, HUNG, self.cases)
        if isinstance(answer, Verdict):
            return answer
        raise RuntimeError(f"{self.mutant.id} could not be run: {answer}")

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        _answer(self.pid, self.answer)


def _may_compute(seconds: float) -> None:
    """Limits the CPU time of this process to this many more seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = ceil(used.ru_utime + used.ru_stime + seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _following(paths: frozenset[str], seen: set[tuple[str, int]]) -> Callable[[FrameType, str, Any], Any]:
    """Returns a trace function that records the lines of these files."""

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, _: str, __: Any) -> Any:
        return line(frame, "line", None) if frame.f_code.co_filename in paths else None

    return call


def _fork(work: Callable[[], Any]) -> tuple[int, IO[bytes]]:
    """Forks a process that does this work. Returns its pid and the pipe with its result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, os.fdopen(reading, "rb")
    status = 1
    try:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends it
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        try:
            answer = work()
        except Exception:  # noqa: BLE001  # it is reported to the parent process
            answer = traceback.format_exc()
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        status = 0
    finally:
        os._exit(status)


def _answer(pid: int, reading: IO[bytes]) -> Any:
    """Returns the result of a process, a text if it failed, or None if it ended before that."""
    with reading:
        data = reading.read()
    os.waitpid(pid, 0)
    try:
        return pickle.loads(data)
    except (EOFError, pickle.UnpicklingError):
        return None


def _vectors(results: Iterable[Result]) -> tuple[str, ...]:
    return tuple(sorted({result.vector for result in results}))


def _function(mutant: Mutant) -> str:
    return f"{mutant.module.name}.{mutant.within}"
