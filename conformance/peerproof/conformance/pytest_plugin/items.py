"""The tests: a case of the suite, or a faulty entry of the list of expected failures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from peerproof.conformance.pytest_plugin.implementation import Implementation, NotRun
from peerproof.conformance.report.failure_text import explain
from peerproof.conformance.report.record import case_line
from peerproof.conformance.runner.result import SILENT, STATUSES, Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.printable import escape_controls
from peerproof.conformance.suite.strict_yaml import VectorError

NAME: Final = "peerproof"  #: where pytest shows a file, these tests have this name


class Failed(Exception):
    """A case failed; the message is all that is shown of it."""


class PeerproofTest(pytest.Item):
    """A test that is not in a file, and whose failure is shown without a Python traceback."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.recorded: dict[str, Any] = {}  #: what the report of the run gets from this test: `plugin.Plugin`
        self.add_marker(NAME)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where it is shown to be; pytest asks for the line of a skipped test."""
        return self.path, 0, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is shown of a failure."""
        if isinstance(excinfo.value, (Failed, pytest.xfail.Exception)):
            return escape_controls(str(excinfo.value))
        return super().repr_failure(excinfo, style)  # an internal error


class CaseTest(PeerproofTest):
    """A case of the suite."""

    def __init__(self, *, case: Case, implementation: Implementation, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.implementation = implementation
        self.add_marker(case.vector.level)
        self.extra_keyword_matches.update(case.vector.clauses)

    def runtest(self) -> None:
        """Runs the case. Its status becomes an outcome of pytest."""
        implementation = self.implementation
        try:
            result = implementation.try_case(self.case)
        except NotRun as error:
            self._not_run(str(error))
        self.recorded = {
            "header": implementation.header,
            "case": case_line(result),
            "readings": dict(implementation.readings),
        }
        reason = escape_controls(result.reason or result.status)
        if result.status in SILENT:
            raise pytest.skip.Exception(reason, _use_item_location=True)
        if result.status == "known":
            raise pytest.xfail.Exception(reason)
        if STATUSES[result.status]:
            raise Failed(self._text(result))

    def _not_run(self, why: str) -> NoReturn:
        """Fails the first case that cannot be run, and skips the others. Their number says nothing."""
        if self.session.stash.setdefault(_NOT_RUN, self) is self:
            raise Failed(f"not run: {why}")
        raise pytest.skip.Exception(f"not run: {escape_controls(why.splitlines()[0])}", _use_item_location=True)

    def _text(self, result: Result) -> str:
        """The runner's text of a failure. Its first line is what pytest adds to the name of the test in its summary."""
        if result.status == "stale":
            return f"stale: {result.reason}"
        first, rest = explain(result, self.case.vector.title, self.implementation.run.arguments).split("\n", 1)
        failure = first.removeprefix(f"{result.status.upper()} {result.id}").strip().removeprefix("(").removesuffix(")")
        return f"{failure or result.status}\n{rest}"


_NOT_RUN: Final = pytest.StashKey[CaseTest]()


class ListTest(PeerproofTest):
    """An entry of the list of expected failures that has expired or matches no case."""

    def __init__(self, *, problems: list[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.problems = problems

    def runtest(self) -> None:
        """Fails."""
        self.recorded = {"problems": self.problems}
        raise Failed("\n".join(self.problems))


class Cases(pytest.Collector):
    """Collects all cases of the suite; nothing is started."""

    def __init__(self, *, implementation: Implementation, only: list[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.implementation = implementation
        self.only = only  #: names of tests; if empty, all are collected

    def collect(self) -> Iterator[pytest.Item]:
        """Yields the faulty entries of the list, then the cases in the order of the suite."""
        try:
            cases, problems = self.implementation.select()
        except VectorError as error:
            raise self.CollectError(str(error)) from None
        faulty: dict[str, list[str]] = {}  #: position of an entry -> what is wrong with it
        for problem in problems:
            faulty.setdefault(problem.partition(": ")[0], []).append(problem)
        tests: dict[str, pytest.Item] = {}
        for name, found in faulty.items():
            tests[name] = ListTest.from_parent(self, name=name, problems=found)
        for case in cases:
            tests[case.id] = CaseTest.from_parent(self, name=case.id, case=case, implementation=self.implementation)
        if unknown := [name for name in self.only if name not in tests]:
            raise self.CollectError(f"no case {', '.join(unknown)}; pytest --peerproof IMPL --collect-only -q lists them")
        yield from (tests[name] for name in self.only or tests)


def collect_cases(session: pytest.Session, implementation: Implementation, only: list[str]) -> Cases:
    """Returns the collector of all cases."""
    path = Path(session.config.rootpath, NAME)
    return Cases.from_parent(session, name=NAME, nodeid=NAME, path=path, implementation=implementation, only=only)
