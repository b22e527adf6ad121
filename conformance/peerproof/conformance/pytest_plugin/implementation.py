"""The implementation under test: one adapter for all cases of a process, started at the first case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.report.session import begin_report, stale_entries
from peerproof.conformance.runner.cases import select_cases
from peerproof.conformance.runner.claims import check_claims
from peerproof.conformance.runner.expected_failures import ExpectedFailures
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, SingleCases
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Suite, load


@dataclass(frozen=True)
class Run:
    """What is run against which implementation, and how failures count."""

    name: str  #: the implementation, as in `--impl`
    protocols: Sequence[str]  #: whose cases are run; if empty, those of all
    expected: ExpectedFailures
    settings: Settings
    timeouts: Timeouts
    arguments: Mapping[str, Any] = field(default_factory=dict)  #: the options of `peerproof run` for the same run


class NotRun(Exception):
    """The implementation cannot be used, or no longer; the message says why."""


class Implementation:
    """The implementation of a run. A process that crashes is started again, as often as `peerproof run` would."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.chosen: Sequence[Case] = ()  #: the cases that pytest runs
        self.header = ""  #: of the record of this run, from the first case on
        self.readings: Mapping[str, str] = {}  #: those that the implementation claims
        self._suite: Suite | None = None
        self._adapter: Adapter | None = None
        self._cases: SingleCases | None = None
        self._ended: str | None = None

    def select(self) -> tuple[list[Case], list[str]]:
        """Loads the suite; returns its cases, and the faults of the list of expected failures. Raises VectorError."""
        protocols = self.run.protocols
        self._suite = load(None, protocols[0] if protocols else None)
        problems = stale_entries(self.run.expected, self._suite, date.today())
        return select_cases(self._suite, protocol=",".join(protocols) or None), problems

    def try_case(self, case: Case) -> Result:
        """Runs a case, and applies the list of expected failures. Raises NotRun if the implementation cannot be used."""
        if self._cases is None and self._ended is None:
            self._start()
        ended = self._ended if self._cases is None else self._cases.ended
        if self._cases is None or ended:
            raise NotRun(ended)
        return self.run.expected.apply_to(self._cases.run(case))

    def stop(self) -> None:
        """Stops the adapter, if it runs."""
        if self._adapter is not None:
            self._adapter.stop()
            self._adapter = self._cases = None

    def _start(self) -> None:
        run, suite = self.run, self._suite
        assert suite is not None, "cases are selected before one is run"
        try:
            self._adapter = create_adapter(run.name, suite.version, run.timeouts)
            hello = self._adapter.start()
            check_claims(hello)
        except AdapterUnavailable as error:
            errors = error.errors.decode("utf-8", "backslashreplace").splitlines()[-20:]
            lines = [f"{error}", *[f"tip: {error.tip}"] * bool(error.tip), *(f"  | {line[:400]}" for line in errors)]
            self._ended = "\n".join(lines)
            return
        self._cases = SingleCases(self._adapter, hello, run.settings)
        self.readings = hello.readings
        self.header = begin_report(hello, suite, self.chosen, seed=run.settings.seed, arguments=run.arguments).header()
