"""
Runs the cases of a run against an implementation, on one or more adapter processes.

Results are reported one by one, in no particular order, as soon as they are known. A reported result never changes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.runner import running_node
from peerproof.conformance.runner.eligibility import unfit
from peerproof.conformance.runner.result import VIOLATIONS, Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.worker import INTERRUPTED, Assume, Control, Emit, Worker, skip_result
from peerproof.conformance.suite.bounds import USUAL, Bounds

PACK: Final = 128  #: the most codec or model cases that are asked together
AT_ONCE: Final = 16  #: the most socket cases that wait together
_TO_END: Final = 1.0  #: seconds that a worker has to end when the run is interrupted


#: What happens to a case that fails only because of a decision.
DECISIONS: Final[Mapping[str, str]] = {
    "report": "it is reported as differs, and the run does not fail",
    "strict": "it fails like any other case",
    "ignore": "it is tolerated",
}


@dataclass(frozen=True)
class Settings:
    """The settings of a run."""

    seed: str = "0"
    jobs: int = 1
    most_restarts: int = 20
    strict: bool = False  #: a failed `should` vector counts like a failed `must` vector
    decisions: str = "report"  #: one of DECISIONS
    fail_fast: bool = False
    bounds: Bounds = USUAL  #: limits on the output of one case
    assume: Assume | None = None  #: which assumed differences a case continues after


@dataclass(frozen=True)
class End:
    """Why a run ended before all cases were checked, None if they were; and what the implementation asked."""

    because: str | None = None
    unusable: bool = False
    asked: frozenset[str] = frozenset()  #: the protocols in which it asked for a choice
    lingers: bool = False  #: a process did not answer `bye` and exit

    @property
    def is_interrupted(self) -> bool:
        """Whether the user, or a signal, ended it."""
        return self.because == INTERRUPTED


def missing(case: Case, hello: Hello) -> str | None:
    """What the implementation lacks for this case, or None."""
    vector = case.vector
    if case.over and case.over.to:
        return running_node.why_not(case)
    offered = hello.protocols.get(vector.protocol)
    if offered is None:
        return f"the implementation does not offer {vector.protocol}"
    has_oracle = {"choices.oracle"} if hello.is_oracle(vector.protocol) else set()
    if lacking := sorted(need for need in case.needs - has_oracle if not offered.has(need)):
        return f"the implementation does not offer {', '.join(lacking)}"
    if "exchange" in case.needs and hello.clock != "virtual":
        return f"the implementation's clock is {hello.clock}, not virtual"
    if case.over and case.over.transport not in hello.sockets:
        return f"the implementation serves no nodes over {case.over.transport}"
    if case.over and (why_not := unfit(vector, case.over.transport)):
        return why_not
    if not case.over and "virtual" not in vector.body.get("transports", ("virtual",)):
        return f"only over {', '.join(vector.body['transports'])}"
    for name, node in vector.body.get("nodes", {}).items():
        for member, value in node.get("config", {}).items():
            limit = offered.limits.get(member)
            if limit is not None and isinstance(value, int) and value > limit:
                return f"{name} is configured with {member} {value}, the implementation takes at most {limit}"
    if case.part == "unchanged" and not any(word.startswith("observe.") for word in offered.capabilities):
        return "the implementation offers nothing to observe"
    return None


def run(
    reach: Callable[[], Adapter],
    first: Adapter,
    hello: Hello,
    cases: Sequence[Case],
    settings: Settings,
    report: Callable[[Result], bool],
) -> End:
    """
    Runs cases, reports each result, and returns why the run ended.

    `first` has been started and has answered `hello`; `reach` creates further adapters of the same kind. All are stopped at
    the end. `report` is called in this thread only, and returns whether the result makes the run fail. A KeyboardInterrupt
    ends the run and is not raised again.
    """
    control = Control(settings.most_restarts)

    def emit(result: Result) -> None:
        if report(apply_settings(settings, result)) and settings.fail_fast:
            control.end("stopped at the first failure (--fail-fast)")

    try:
        able: list[Case] = []
        for case in cases:
            if lacking := missing(case, hello):
                emit(skip_result(case, lacking))
            else:
                able.append(case)
        packs = deque(_packs(able, settings.jobs))
        if settings.jobs == 1 or len(packs) == 1:
            _run_packs(Worker(first, hello, settings.seed, control, settings.bounds, settings.assume), packs, control, emit)
        else:
            others = [reach() for _ in range(min(settings.jobs, len(packs)) - 1)]
            _WorkerThreads([first, *others], hello, packs, settings, control).run(emit)
    except KeyboardInterrupt:
        control.end(INTERRUPTED)
        first.kill()
    finally:
        control.stop(first)
    return End(control.ended, control.unusable, frozenset(control.asked), control.lingers)


def apply_settings(settings: Settings, result: Result) -> Result:
    """Applies the settings `strict` and `decisions` to a result."""
    if settings.strict and result.status == "tolerated" and result.failure and result.level == "should":
        return replace(result, status="failed", reason="the vector says should (--strict)")
    if result.status == "differs" and settings.decisions == "strict":
        status = result.failure if result.failure in VIOLATIONS else "failed"
        return replace(result, status=status)
    if result.status == "differs" and settings.decisions == "ignore":
        return replace(result, status="tolerated", reason=f"only {', '.join(result.decisions)} requires it (--decisions ignore)")
    return result


class SingleCases:
    """Runs cases one at a time on one adapter process, for a test tool that chooses which case is next."""

    def __init__(self, adapter: Adapter, hello: Hello, settings: Settings) -> None:
        self._settings = settings
        self._hello = hello  #: the answer of the adapter, which has been started
        self._control = Control(settings.most_restarts)
        self._worker = Worker(adapter, hello, settings.seed, self._control, settings.bounds, settings.assume)

    @property
    def ended(self) -> str | None:
        """Why no further case can be run; None while the implementation is usable."""
        return self._control.ended

    def run(self, case: Case) -> Result:
        """Runs a case; the adapter is started again as in `run`."""
        lacking = missing(case, self._hello)
        result = skip_result(case, lacking) if lacking else self._worker.alone(case)
        return apply_settings(self._settings, result)


def _packs(cases: Sequence[Case], jobs: int) -> list[list[Case]]:
    """Packs codec, model and socket cases, with enough packs for all workers; every other case is a pack of its own."""
    packs: list[list[Case]] = []
    for kind, most in (("codec", PACK), ("model", PACK), ("socket", AT_ONCE)):
        together = [case for case in cases if case.pack == kind]
        size = max(1, min(most, -(-len(together) // jobs)))
        packs += [together[start : start + size] for start in range(0, len(together), size)]
    return packs + [[case] for case in cases if case.pack is None]


def _run_packs(worker: Worker, packs: deque[list[Case]], control: Control, emit: Emit) -> None:
    while control.ended is None:
        try:
            pack = packs.popleft()
        except IndexError:
            return
        worker.run(pack, emit)


class _WorkerThreads:
    """One thread for each worker. Each thread has its own adapter process, and mostly waits for it."""

    def __init__(
        self, adapters: Sequence[Adapter], hello: Hello, packs: deque[list[Case]], settings: Settings, control: Control
    ) -> None:
        self._adapters = adapters  #: the first has answered hello
        self._hello = hello
        self._packs = packs
        self._settings = settings
        self._control = control
        #: Results, and for each worker that has ended the exception that ended it, or None.
        self._results: SimpleQueue[Result | BaseException | None] = SimpleQueue()

    def run(self, emit: Emit) -> None:
        """Emits the workers' results in this thread, until all workers have ended."""
        threads = [threading.Thread(target=self._work, args=(adapter,), daemon=True) for adapter in self._adapters]
        for thread in threads:
            thread.start()
        working, failures = len(threads), list[BaseException]()
        try:
            while working:
                match self._results.get():
                    case Result() as result:
                        emit(result)
                    case failure:
                        working -= 1
                        failures += [failure] if failure else []
        except BaseException as error:
            self._control.end(INTERRUPTED)
            for adapter in self._adapters:
                adapter.abort()
            for thread in threads:
                thread.join(_TO_END)
            if isinstance(error, KeyboardInterrupt):  # results that were known before the interrupt are still reported
                while not self._results.empty():
                    if isinstance(left := self._results.get(), Result):
                        emit(left)
            raise
        if failures:
            raise failures[0]

    def _work(self, adapter: Adapter) -> None:
        failure: BaseException | None = None
        try:
            hello = self._hello if adapter is self._adapters[0] else adapter.start()
            settings = self._settings
            worker = Worker(adapter, hello, settings.seed, self._control, settings.bounds, settings.assume)
            _run_packs(worker, self._packs, self._control, self._results.put)
        except AdapterUnavailable as error:
            self._control.end(f"another process of the implementation cannot be started: {error}", unusable=True)
        except BaseException as error:  # noqa: BLE001  # raised again in the waiting thread
            failure = error
            self._control.end("internal error")
        finally:
            self._control.stop(adapter)
            self._results.put(failure)


def replay_cases(chosen: Sequence[Case], adapter: Adapter, seed: str = "0", bounds: Bounds = USUAL) -> list[Result]:
    """
    Runs each case exactly once on an adapter, and returns a result for each case, in their order.

    The adapter is started before and stopped after. With the seed of an earlier run, all random choices are the same as in
    that run. Cases that the implementation does not support are skipped, and so are all cases after it has ended. Raises
    AdapterUnavailable if it cannot be started.
    """
    try:
        hello = adapter.start()
        worker = Worker(adapter, hello, seed, Control(most_restarts=1), bounds)
        results: list[Result] = []
        usable = True
        for case in chosen:
            if lacking := missing(case, hello):
                results.append(skip_result(case, lacking))
            elif not usable:
                results.append(skip_result(case, "the implementation has ended"))
            else:
                result, usable = worker.once(case)
                results.append(result)
    finally:
        adapter.stop()
    return results
