"""A run from its first case to its verdict, with a report that grows while the cases run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.report.record import Report
from peerproof.conformance.runner.cases import case_ids, select_cases
from peerproof.conformance.runner.claims import check_claims, unasked_choices, unseen_claims
from peerproof.conformance.runner.expected_failures import ExpectedFailures
from peerproof.conformance.runner.result import SILENT, STATUSES, Result
from peerproof.conformance.runner.runner import End, Settings, run
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.worker import INTERRUPTED
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Suite, load


class RunVerdict(Enum):
    """The verdict of a run."""

    AS_EXPECTED = "as expected"  #: every failing case is an expected failure
    FAILED = "failed"  #: a case fails, or the list of expected failures is stale
    UNUSABLE = "unusable"  #: the implementation can no longer be started
    NOTHING_RUN = "nothing run"  #: every case was skipped or is undetermined
    INTERRUPTED = "interrupted"


@dataclass
class Session:
    """
    The cases of one run, its expected failures, and its report so far.

    `on_result` receives each result after the list of expected failures was applied, as soon as it is in the report. An
    exception of `on_result` ends the run.
    """

    report: Report
    cases: Sequence[Case]
    expected: ExpectedFailures = field(default_factory=lambda: ExpectedFailures("", ()))
    on_result: Callable[[Result], None] = lambda _: None
    end: End = field(default_factory=End)

    def run(self, reach: Callable[[], Adapter], adapter: Adapter, hello: Hello, settings: Settings) -> None:
        """
        Runs the cases. All adapters are stopped at the end.

        `adapter` was started and has answered `hello`; `reach` creates further ones. A keyboard interrupt ends the run and makes
        the report partial; it is not an error.
        """
        try:
            self.end = run(reach, adapter, hello, self.cases, settings, self.take)
            self.report.problems += unseen_claims(hello.readings, self.report.results)
            self.report.notes += unasked_choices(hello, self.cases, self.report.results, self.end.asked)
            if self.end.lingers:
                self.report.notes.append("the adapter did not answer bye and then exit: see peerproof doctor --impl")
            self.report.because = self.end.because
        except KeyboardInterrupt:
            adapter.kill()
            self.interrupt(INTERRUPTED)

    def interrupt(self, because: str) -> None:
        """Marks the run as interrupted, and the report as partial for this reason."""
        self.end, self.report.because = End(INTERRUPTED), because

    def take(self, result: Result) -> bool:
        """Applies the list of expected failures and adds the result; True if it makes the run fail."""
        result = self.expected.apply_to(result)
        self.on_result(result)
        return STATUSES[result.status]

    def sort(self) -> None:
        """Sorts the results in the order of the cases."""
        order = {case.id: place for place, case in enumerate(self.cases)}
        self.report.results.sort(key=lambda result: order[result.id])

    @property
    def verdict(self) -> RunVerdict:
        """The verdict so far."""
        if self.end.is_interrupted:
            return RunVerdict.INTERRUPTED
        if self.end.unusable:
            return RunVerdict.UNUSABLE
        if self.report.wrong:
            return RunVerdict.FAILED
        is_judged = any(result.status not in SILENT for result in self.report.results)
        return RunVerdict.AS_EXPECTED if is_judged else RunVerdict.NOTHING_RUN


def begin_report(
    hello: Hello, suite: Suite, chosen: Sequence[Case], *, seed: str = "0", arguments: Mapping[str, Any] | None = None
) -> Report:
    """Returns the empty report of a run of these cases; `arguments` are the options that repeat the run."""
    return Report(
        implementation=hello.plain(),
        vectors={"version": suite.version, "digest": suite.digest, "count": len({case.vector.id for case in chosen})},
        selected=len(chosen),
        seed=seed,
        arguments=arguments or {},
        date=date.today().isoformat(),
    )


def stale_entries(expected: ExpectedFailures, suite: Suite, today: date, slack: float = 2.0) -> list[str]:
    """Returns the faults of a list of expected failures itself: entries that have expired, or that match no case."""
    return list(expected.problems(case_ids(suite, slack), today)) if expected.entries else []


def run_implementation(  # each has its default
    implementation: str | None = None,
    chosen: Sequence[Case] | None = None,
    *,
    suite: Suite | None = None,
    settings: Settings | None = None,
    timeouts: Timeouts | None = None,
    expected: ExpectedFailures | None = None,
    on_result: Callable[[Result], None] = lambda _: None,
) -> Session:
    """
    Runs an implementation on cases; returns the session with its verdict and its report, in the order of the cases.

    By default it runs the reference on all cases of the suite, which takes minutes. `implementation` is as for
    `create_adapter`, `timeouts` are in seconds, `expected` is the list of expected failures, `on_result` receives each result
    as it comes. Raises AdapterUnavailable if the implementation cannot be started, VectorError if the suite cannot be read.
    """
    suite = suite or load()
    settings = settings or Settings()
    cases = select_cases(suite) if chosen is None else list(chosen)

    def reach() -> Adapter:
        needed = {case.vector.protocol for case in cases}
        return create_adapter(implementation, suite.version, timeouts, longest=settings.bounds.reply, protocols=needed)

    adapter = reach()
    hello = adapter.start()
    check_claims(hello)
    session = Session(begin_report(hello, suite, cases, seed=settings.seed), cases, expected or ExpectedFailures("", ()))
    session.report.problems = stale_entries(session.expected, suite, date.today())

    def take(result: Result) -> None:
        session.report.results.append(result)
        on_result(result)

    session.on_result = take
    session.run(reach, adapter, hello, settings)
    session.sort()
    return session
