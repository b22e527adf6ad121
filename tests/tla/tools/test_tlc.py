"""Running TLC: verdicts, and the many ways to have none."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.waiting import is_soon

from peerproof.tla.output import outcome
from peerproof.tla.output.outcome import BadModule, EvaluationFailed, Progress, Result, RunFailed, Verdict, progress
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, run

pytestmark = pytest.mark.slow  # runs TLC, and so needs Java

CFG = "INIT Init\nNEXT Next\n"
COUNT = "Init == x = 0\nUp == x < 3 /\\ x' = x + 1\nDown == x > 0 /\\ x' = x - 1\nNext == Up \\/ Down\n"
ENDLESS = "Init == x = 0\nNext == x' = x + 1\n"
#: What a run says that has finished.
FINISHED = {
    2190: "Finished computing initial states: 1 distinct state generated at 2020-01-01.",
    2193: "Model checking completed. No error has been found.",
    2199: "7 states generated, 4 distinct states found, 0 states left on queue.",
    2194: "The depth of the complete state graph search is 4.",
}


def ran(tools: Tools, module: Path, configuration: str = CFG, **how: Any) -> Result:
    """A run that is over soon."""
    return run(tools, Run(module=module, configuration=configuration, brief=True, **how))


def said(messages: dict[int, str] | list[tuple[int, str]]) -> str:
    """A script that says this as TLC does."""
    every = messages.items() if isinstance(messages, dict) else messages
    framed = "".join(f"@!@!@STARTMSG {code}:0 @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n" for code, text in every)
    return f"print({framed!r}, end='', flush=True)"


def test_success_has_counts_for_each_action_and_leaves_no_files(
    tools: Tools, module: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    result = ran(tools, module(COUNT), coverage=True)

    assert [path.name for path in tmp_path.iterdir()] == ["Counter.tla"]
    assert result.verdict is Verdict.SUCCESS
    assert (result.initial, result.generated, result.distinct, result.queue, result.depth) == (1, 7, 4, 0, 4)
    assert result.edges == 6
    assert {name: count.generated for name, count in result.actions.items()} == {"Up": 3, "Down": 3}


@pytest.mark.parametrize(
    ("definition", "cfg", "verdict", "exit_code", "steps"),
    [
        ("Small == x < 2", "INVARIANT Small", Verdict.INVARIANT, 12, 2),
        ("Small == x > 0", "INVARIANT Small", Verdict.INVARIANT, 12, 0),
        ("Small == [][x' > x]_x", "PROPERTY Small", Verdict.ACTION_PROPERTY, 13, 2),
        ("Small == <>(x = 3)", "PROPERTY Small", Verdict.TEMPORAL_PROPERTY, 13, 0),
    ],
)
def test_violation_has_the_shortest_counterexample(
    tools: Tools, module: Callable[[str], Path], definition: str, cfg: str, verdict: Verdict, exit_code: int, steps: int
) -> None:
    result = ran(tools, module(COUNT + definition), CFG + cfg)

    assert (result.verdict, result.exit_code) == (verdict, exit_code)
    assert result.violated == (None if verdict is Verdict.TEMPORAL_PROPERTY else "Small")
    assert result.counterexample is not None
    assert result.counterexample.steps == steps
    assert result.counterexample.states[0].variables == {"x": 0}
    assert result.counterexample.stutters == (verdict is Verdict.TEMPORAL_PROPERTY)


def test_assumption_that_is_false_is_a_verdict(tools: Tools, module: Callable[[str], Path]) -> None:
    result = ran(tools, module("ASSUME 1 = 2\n" + COUNT))

    assert result.verdict is Verdict.ASSUMPTION
    assert result.violated is not None
    assert "line 4, col 8" in result.violated


def test_two_runs_at_once_do_not_disturb_each_other(tools: Tools, module: Callable[[str], Path], tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    runs = [Run(module=module(COUNT), configuration=CFG, brief=True, dump=tmp_path / f"{name}.dot") for name in "ab"]

    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda what: run(tools, what), runs))

    assert [result.distinct for result in results] == [4, 4]
    assert (tmp_path / "a.dot").read_bytes() == (tmp_path / "b.dot").read_bytes()


SYNTAX = r'^Counter.tla:6:1: .*Encountered "===="'
NAME = "^Counter.tla:5:14: .*Unknown operator: `y'"
ABSENT = r"Cannot find source file for module Absent|does not exist: .*Absent"
DEEP = "RECURSIVE F(_)\nF(n) == 1 + F(n + 1)\nInit == x = F(0)\nNext == x' = x"


@pytest.mark.parametrize(
    ("lines", "cfg", "error", "problem"),
    [
        pytest.param("Init == x = 0\nNext == x' = x +", "", BadModule, SYNTAX, id="syntax"),
        pytest.param("Init == x = 0\nNext == x' = y", "", BadModule, NAME, id="name"),
        pytest.param(COUNT, "INVARIANT Absent", outcome.BadConfiguration, "invariant Absent", id="property that is not defined"),
        pytest.param(COUNT, "WHATEVER", outcome.BadConfiguration, "configuration file at line 3", id="line of no meaning"),
        pytest.param('Init == x = 0\nNext == x\' = x + "a"', "", EvaluationFailed, "Counter.tla:5:14: ", id="no value"),
        pytest.param(DEEP, "", EvaluationFailed, "recurses too deeply", id="no end"),
    ],
)
def test_mistake_is_named_with_its_place(
    tools: Tools, module: Callable[[str], Path], lines: str, cfg: str, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=f"(?s){problem}"):
        ran(tools, module(lines), CFG + cfg)


def test_module_that_is_not_there_is_named(tools: Tools, tmp_path: Path) -> None:
    with pytest.raises(BadModule, match=ABSENT):
        ran(tools, tmp_path / "Absent.tla")


def test_too_little_memory_is_no_verdict(tools: Tools, module: Callable[[str], Path]) -> None:
    lines = "Init == x = 0\nNext == x' = [i \\in 1..50000000 |-> 0]"  # all at once, and not bit by bit, which takes minutes

    with pytest.raises(outcome.OutOfMemory, match="ran out of memory"):
        ran(tools, module(lines), heap_megabytes=16)


def test_too_little_time_is_no_verdict(tools: Tools, module: Callable[[str], Path]) -> None:
    with pytest.raises(outcome.TimedOut, match="no verdict after 1 s"):
        ran(tools, module(ENDLESS), seconds=1)


def played(script: str, java: Callable[[str], Tools], module: Callable[[str], Path], *seen: Any) -> Result:
    """What is made of a Java that only plays."""
    return run(java(script), Run(module=module(COUNT), configuration=CFG), *seen)


def test_killed_java_is_no_verdict(java: Callable[[str], Tools], module: Callable[[str], Path]) -> None:
    """Not even after it has said that all is well."""
    with pytest.raises(outcome.Killed, match="SIGKILL"):
        played(said(FINISHED) + "\nos.kill(os.getpid(), signal.SIGKILL)", java, module)


def test_success_needs_more_than_an_exit_code(java: Callable[[str], Tools], module: Callable[[str], Path]) -> None:
    assert played(said(FINISHED), java, module).distinct == 4

    for missing in FINISHED:
        with pytest.raises(RunFailed, match="without the statistics"):
            played(said({code: text for code, text in FINISHED.items() if code != missing}), java, module)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param(said(FINISHED | {2199: FINISHED[2199].replace(" 0 states left", " 1 states left")}), "left on", id="queue"),
        pytest.param(said({2110: "Invariant I is violated."}), "exited with 0, but reports", id="violation and exit 0"),
        pytest.param(said(FINISHED) + "\nsys.exit(12)", "reports none", id="exit 12 and no violation"),
        pytest.param("sys.exit(1)", "no output", id="nothing at all"),
        pytest.param(said({2200: "Progress: soon"}), "cannot parse TLC's progress", id="unknown words"),
    ],
)
def test_report_that_contradicts_itself_is_no_verdict(
    java: Callable[[str], Tools], module: Callable[[str], Path], script: str, problem: str
) -> None:
    with pytest.raises(RunFailed, match=problem):
        played(script, java, module)


def test_progress_is_told_while_it_runs(java: Callable[[str], Tools], module: Callable[[str], Path]) -> None:
    text = (
        "Progress(14) at 2026-11-21: 4,172 states generated (4,172 s/min), "
        "913 distinct states found (913 ds/min), 110 states left on queue."
    )
    seen: list[Progress] = []

    played(said({2200: text} | FINISHED), java, module, seen.append)

    assert seen == [Progress(14, 4172, 913, 110, 4172)]
    assert progress("Progress(3): 5 states generated, 4 distinct states found, 1 states left on queue.").per_minute == 0


def test_the_last_table_of_a_long_run_counts_the_actions(java: Callable[[str], Tools], module: Callable[[str], Path]) -> None:
    """TLC prints one every minute, each with all steps so far."""
    tables = [[(2201, "The coverage statistics"), (2772, f"<Up line 5, col 1 of module Counter>: 1:{count}")] for count in (1, 3)]

    result = played(said([*tables[0], *FINISHED.items(), *tables[1]]), java, module)

    assert {name: count.generated for name, count in result.actions.items()} == {"Up": 3}


def test_interruption_ends_java_too(java: Callable[[str], Tools], module: Callable[[str], Path], tmp_path: Path) -> None:
    """As Ctrl-C does it in `peerproof model check`; the Java machine of this test would go on for a minute."""
    fake = java("open(sys.argv[0] + '.pid', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    script = (
        "from pathlib import Path\nfrom peerproof.tla.tools.installation import Tools\n"
        "from peerproof.tla.tools.tlc import Run, run\n"
        f"run(Tools({fake.java!r}, 17, Path('x')), Run(module=Path({str(module(COUNT))!r}), configuration=''))"
    )
    pid_file = tmp_path / "java.pid"

    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        assert is_soon(lambda: pid_file.exists() and pid_file.read_text() != "")
        process.send_signal(signal.SIGINT)
        process.wait(30)

    assert is_soon(lambda: not Path(f"/proc/{pid_file.read_text()}").exists() if Path("/proc/self").exists() else True)
