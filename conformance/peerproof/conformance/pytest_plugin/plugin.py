"""The plugin of a run of pytest in which an implementation is named."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from peerproof.conformance.pytest_plugin.implementation import Implementation, Run
from peerproof.conformance.pytest_plugin.items import NAME, CaseTest, PeerproofTest, collect_cases
from peerproof.conformance.report.failure_text import run_command
from peerproof.conformance.report.record import Report, as_json_lines, read
from peerproof.conformance.report.summary import summary
from peerproof.conformance.runner.claims import unseen_claims
from peerproof.conformance.runner.expected_failures import ExpectedFailures, ListError, load_expected_failures
from peerproof.conformance.runner.result import SILENT
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.suite import output
from peerproof.conformance.suite.printable import count_text, escape_controls
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.spec.protocols import PROTOCOLS

_SETTINGS: Final = ("protocol", "strict", "decisions")
_CASE: Final = f"{NAME}::"  #: how the id of a test of a case begins


def register(config: pytest.Config) -> None:
    """Registers the plugin; does nothing if tests are named on the command line and the implementation only in a file."""
    if _take_settings(config):
        only = [word.removeprefix(_CASE) for word in config.args if word.startswith(_CASE)]
        config.args[:] = [word for word in config.args if not word.startswith(_CASE)]
        config.pluginmanager.register(Plugin(Implementation(_run(config)), only), "peerproof-cases")


def _take_settings(config: pytest.Config) -> bool:
    """Completes the options from the configuration file. Returns False if no case is to be run."""
    option = config.option
    if option.peerproof is None:
        names_tests = config.args_source is pytest.Config.ArgsSource.ARGS
        if names_tests and not any(word.startswith(_CASE) for word in config.args):
            return False
        option.peerproof = config.getini(NAME)
    for name in _SETTINGS:
        if getattr(option, f"peerproof_{name}") is None:
            setattr(option, f"peerproof_{name}", config.getini(f"peerproof_{name}") or None)
    listed = config.getini("peerproof_known_failing")
    if option.peerproof_known_failing is None and listed:
        option.peerproof_known_failing = str((config.inipath or config.rootpath / NAME).parent / listed)
    return True


def _run(config: pytest.Config) -> Run:
    """Returns the run of the options. Raises UsageError."""
    option = config.option
    protocol, file = option.peerproof_protocol, option.peerproof_known_failing
    protocols = protocol.split(",") if protocol is not None else []
    if unknown := [name for name in protocols if name not in PROTOCOLS]:
        raise pytest.UsageError(
            f"--peerproof-protocol: unknown protocol {unknown[0]!r}; there are {', '.join(sorted(PROTOCOLS))}"
        )
    if option.peerproof_record and (why_not := output.unwritable(Path(option.peerproof_record))):
        raise pytest.UsageError(f"--peerproof-record: cannot write the report: {why_not}")
    try:
        expected = load_expected_failures(Path(file)) if file else ExpectedFailures("", ())
        timeouts = Timeouts()
    except (ListError, ValueError) as error:
        raise pytest.UsageError(str(error)) from None
    decisions = option.peerproof_decisions or "report"
    arguments = {
        "impl": option.peerproof,
        "protocol": protocol if len(protocols) == 1 else None,
        "select": f"protocol:{protocol}" if len(protocols) > 1 else None,
        "strict": option.peerproof_strict,
        "decisions": decisions if decisions != "report" else None,
        "known-failing": expected.file or None,
    }
    settings = replace(Settings(), strict=bool(option.peerproof_strict), decisions=decisions)
    shown = {name: value for name, value in arguments.items() if value}
    return Run(option.peerproof, protocols, expected, settings, timeouts, shown)


class Plugin:
    """Adds the cases to the tests, and the end of the report to the summary of pytest."""

    def __init__(self, implementation: Implementation, only: list[str]) -> None:
        self._implementation = implementation
        self._only = only
        self._header = ""  #: of the record; like the next three from the tests, also those in workers of pytest-xdist
        self._lines: list[str] = []
        self._problems: list[str] = []
        self._readings: dict[str, str] = {}
        self._report: Report | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Adds the cases to what the session collects."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            report.result = [*report.result, collect_cases(collector, self._implementation, self._only)]
        return report

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Counts the cases that are left after all selections."""
        self._implementation.chosen = [test.case for test in session.items if isinstance(test, CaseTest)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Adds to the report of a test what the report of the run gets from it; pytest-xdist sends it to the main process."""
        report = yield
        if isinstance(item, PeerproofTest) and call.when == "call":
            vars(report)[NAME] = item.recorded
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps it."""
        recorded = getattr(report, NAME, {})
        if "case" in recorded:
            self._header, self._readings = recorded["header"], recorded["readings"]
            self._lines.append(recorded["case"])
        self._problems += recorded.get("problems", ())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Stops the implementation. A run in which every case was skipped does not succeed."""
        self._implementation.stop()
        if hasattr(session.config, "workerinput") or not self._lines:
            return
        report = self._report = read([self._header, *self._lines])
        listed = self._implementation.run.expected
        claims = [*unseen_claims(self._readings, report.results), *listed.contradictions(report.results)]
        report.problems = self._problems + claims
        if len(report.results) == report.selected:
            report.because = None
        else:
            report.because = f"pytest ended early: {session.shouldfail or session.shouldstop or 'interrupted'}"
        if session.exitstatus == pytest.ExitCode.OK:
            if claims:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            elif all(result.status in SILENT for result in report.results):
                session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
        if path := session.config.option.peerproof_record:
            try:
                output.write_whole(Path(path), as_json_lines(report))
            except output.CannotWrite as error:
                report.problems.append(f"the report cannot be written: {error}")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the end of the report, as `peerproof run` does."""
        if self._report is not None:
            terminalreporter.section(NAME)
            for line in (*self._stale(self._report), *summary(self._report, "--peerproof-decisions")):
                terminalreporter.write_line(escape_controls(line))

    def _stale(self, report: Report) -> Iterator[str]:
        """Yields how to remove what passes from the list of expected failures."""
        if stale := report.totals["stale"]:
            run = self._implementation.run
            command = run_command(run.arguments, run.arguments.get("protocol", ""), [], ["--update-known-failing"])
            yield f"stale: {count_text(stale, 'case')} in {run.expected.file}. This removes what passes from it:"
            yield f"  {command}"
