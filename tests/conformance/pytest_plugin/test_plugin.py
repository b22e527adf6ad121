"""The pytest plugin, as a user starts it: the outcomes are those of `peerproof run`, and pytest's own options work on them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.catching import suite

from peerproof.conformance.runner.cases import select_cases

#: Crashes, wrong bytes, and nodes that it does not offer.
MINE = """
from peerproof.reference.harness.harness import Harness

class Adapter(Harness):
    def handle(self, request, choose):
        reply = super().handle(request, choose)
        match request["op"]:
            case "hello":
                for word in ("exchange", "state.load"):
                    reply["protocols"]["peter"]["capabilities"].remove(word)
            case "decode" if reply.get("value", {}).get("type") == "subscribe":
                raise RuntimeError("boom\\x1b")
            case "encode" if request["value"]["type"] == "unsubscribe":
                reply["bytes"] += "00"
        return reply
"""
LIST = """\
peter/codec/unsubscribe-with-versions#encode            bytes     -           -  a zero too many
peter/codec/unsubscribe-with-versions#reencode          rejected  -           -  not as it fails
peter/codec/sample-publish#decode                        rejected  -           -  it passes
peter/codec/subscribe-with-unknown-members#decode       crashed   2020-01-31  -  it should be fixed by now
peter/codec/there-is-none#decode                        bytes     -           -  of another version
"""
OWN = """
def test_own_passes(): pass
def test_own_fails(): assert 1 == 2
"""
PROTOCOL = ("--peerproof-protocol", "peter")
CASES = len(select_cases(suite(), protocol="peter"))
IMPL = ("--peerproof", "py:mine:Adapter", *PROTOCOL)
EXPECTED = ("--peerproof-known-failing", "known.txt")

#: Plugins that take a third of a run of so few cases: one imports Hypothesis at the end, the other collects garbage ten times.
WITHOUT = "-p no:hypothesispytest -p no:unraisableexception"

#: Status of `peerproof run` -> outcome of pytest, as an element of JUnit XML; None if it passes.
OUTCOMES = {
    "passed": None,
    "differs": None,
    "tolerated": None,
    "failed": "failure",
    "crashed": "failure",
    "stale": "failure",
    "known": "skipped",
    "skipped": "skipped",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an adapter, a list of expected failures, and two tests of its own."""
    for name, text in (("mine.py", MINE), ("known.txt", LIST), ("test_own.py", OWN), ("pytest.ini", "[pytest]\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def ran(folder: Path, *arguments: str, code: int, module: str = "pytest") -> str:
    """What `pytest` prints, or another module; it ends with this code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"COLUMNS": "200", "PYTEST_ADDOPTS": WITHOUT}
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def outcomes(file: Path) -> dict[str, str | None]:
    """The outcome of each test in JUnit XML."""
    found = ElementTree.parse(file).getroot().iter("testcase")
    return {case.get("name", ""): next((child.tag for child in case if child.tag != "properties"), None) for case in found}


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_outcomes_are_those_of_peerproof_run(workers: str, folder: Path) -> None:
    """Beside tests of the user's own, in one process and in several."""
    shown = ran(folder, *IMPL, *EXPECTED, "-n", workers, "--junitxml=j.xml", "--peerproof-record=r.jsonl", "-rxs", code=1)
    options = ["--impl", "py:mine:Adapter", "--known-failing", "known.txt", "--json", "--output", "run.json"]
    ran(folder, "run", "peter", *options, module="peerproof.cli.main", code=1)

    run, found = json.loads((folder / "run.json").read_text()), outcomes(folder / "j.xml")
    assert {found.pop(name) for name in ("test_own_passes", "known.txt:4", "known.txt:5")} == {None, "failure"}
    assert found.pop("test_own_fails") == "failure"
    assert found == {case["id"]: OUTCOMES[case["status"]] for case in run["cases"]}

    recorded = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    assert recorded[-1]["footer"] | {"partial": False} == {key: run[key] for key in ("totals", "violates", "partial", "problems")}
    assert {line["case"]["id"]: line["case"]["status"] for line in recorded[1:-1]} == {
        case["id"]: case["status"] for case in run["cases"]
    }
    assert re.search(r"^SKIPPED \[\d+\] peerproof:1: the implementation does not offer exchange", shown, re.MULTILINE)
    assert re.search(r"^XFAIL .*unsubscribe-with-versions#encode - a zero too many$", shown, re.MULTILINE)
    assert re.search(rf"^{CASES} cases, \d+ vectors: .* 2 known, 1 stale, ", shown, re.MULTILINE)
    assert re.search(r"^differs: \d+ cases, such as peter/codec/", shown, re.MULTILINE)
    assert "differs: --peerproof-decisions strict makes these cases fail" in shown


@pytest.mark.slow
def test_a_failure_is_shown_in_the_words_of_the_runner(folder: Path) -> None:
    """Without a traceback, and without control characters; each fault of the list has a test of its name."""
    shown = ran(folder, *IMPL, *EXPECTED, "-k", "subscribe-with-unknown or unsubscribe-with or sample-publish or known", code=1)

    failures = re.split(r"^_+ (.*) _+$", shown.split("= FAILURES =")[1], flags=re.MULTILINE)
    texts = dict(zip(failures[1::2], failures[2::2], strict=True))
    assert list(texts) == [
        "known.txt:4",
        "known.txt:5",
        "peter/codec/unsubscribe-with-versions#reencode",
        "peter/codec/sample-publish#decode",
    ]
    assert "known.txt:4: peter/codec/subscribe-with-unknown-members#decode expired on 2020-01-31" in texts["known.txt:4"]
    assert "known.txt:5: no case matches" in texts["known.txt:5"]
    otherwise, stale = list(texts.values())[2:]
    assert otherwise.startswith("\nbytes: ")
    assert "\n  first difference: " in otherwise
    assert "listed as rejected in known.txt:2, but it fails as bytes" in otherwise
    assert (
        "\n  again:   peerproof vectors replay 'peter/codec/unsubscribe-with-versions#reencode' --impl py:mine:Adapter"
        in otherwise
    )
    assert stale.splitlines()[1] == "stale: it passes, though known.txt:3 lists it"
    assert re.search(
        r"^stale: 1 case in known.txt. This removes what passes from it:\n"
        r"  peerproof run peter --impl py:mine:Adapter --known-failing known.txt --update-known-failing$",
        shown,
        re.MULTILINE,
    )
    assert "Traceback" not in shown.replace("Traceback (most recent call last):\n    |", "")
    assert "\x1b" not in shown


@pytest.mark.slow
def test_the_options_of_pytest_select_cases(folder: Path) -> None:
    """By words, clauses, levels, ids, the first failure, and those that failed the last time."""

    def collected(*arguments: str) -> list[str]:
        lines = ran(folder, *PROTOCOL, "--peerproof", "./not-started", "--co", "-q", *arguments, code=0).splitlines()
        return [line for line in lines if "::" in line]

    every = collected()
    one = "peerproof::peter/codec/sample-publish#decode"
    assert len(every) == CASES + 2
    assert collected("-k", "sample-publish and decode") == [one]
    assert len(collected("-k", "PA-24 and codec")) > 5
    assert len(collected("-m", "(must or should or may) and peerproof")) == CASES
    assert collected(one, "test_own.py::test_own_fails") == ["test_own.py::test_own_fails", one]

    stopped = ran(folder, *IMPL, "-x", "-k", "subscribe", code=1)
    assert re.search(r"^PARTIAL: pytest ended early: stopping after 1 failures; not run: \d+ cases", stopped, re.MULTILINE)
    failed = re.search(r"^FAILED (peerproof::\S+) - (crashed|bytes): ", stopped, re.MULTILINE)
    assert failed
    assert collected("--lf") == [failed[1]]
    assert "no case peter/codec/none; pytest --peerproof IMPL --collect-only -q lists them" in ran(
        folder, *IMPL, "peerproof::peter/codec/none", code=2
    )


@pytest.mark.slow
def test_a_configuration_file_names_everything_once(folder: Path) -> None:
    """It holds for a run of all tests, and not if a file is named."""
    settings = {"peerproof": "py:mine:Adapter", "peerproof_protocol": "peter", "peerproof_known_failing": "known.txt"}
    settings["peerproof_strict"] = "true"
    (folder / "pytest.ini").write_text("[pytest]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))

    everything = ran(folder, "--co", "-q", code=0)
    named = ran(folder, "--co", "-q", "test_own.py", code=0)
    one = ran(folder, "-n", "1", "peerproof::peter/codec/sample-publish#decode", code=1)

    assert "peerproof::known.txt:5" in everything
    assert f"{CASES + 4} tests collected" in everything
    assert "2 tests collected" in named
    assert "it passes, though known.txt:3 lists it" in one
    again = "  peerproof run peter --impl py:mine:Adapter --strict --known-failing known.txt --update-known-failing"
    assert again in one.splitlines()
    assert re.search(r"^=+ 1 failed in ", one, re.MULTILINE)


@pytest.mark.slow
def test_an_implementation_that_cannot_be_used_is_one_failure(folder: Path) -> None:
    """Further cases are skipped, with the reason; the user's own tests run."""
    shown = ran(folder, "--peerproof", "./none", *PROTOCOL, "-k", "sample or own_passes", "-rs", code=1)

    assert "not run: cannot start './none': there is no such program\ntip: check the path\n" in shown
    assert re.search(r"^SKIPPED \[\d+\] peerproof:1: not run: cannot start './none'", shown, re.MULTILINE)
    assert re.search(r"^=+ 1 failed, 1 passed, \d+ skipped, \d+ deselected in ", shown, re.MULTILINE)


@pytest.mark.slow
def test_a_run_that_checks_nothing_does_not_succeed(folder: Path) -> None:
    """As `peerproof run`, which then exits with 4."""
    ran(folder, *IMPL, "-k", "peter/exchange/topic-zero", code=5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*IMPL, "--peerproof-protocol=petr"), "unknown protocol 'petr'; there are distkv, peter, scuttlebutt, swim, wendy"),
        ((*IMPL, "--peerproof-protocol=peter,swin"), "unknown protocol 'swin'; there are distkv, peter, "),
        ((*IMPL, "--peerproof-known-failing=none.txt"), "none.txt: the list of expected failures cannot be read"),
        ((*IMPL, "--peerproof-record=none/r.jsonl"), "--peerproof-record: cannot write the report: "),
    ],
)
def test_wrong_options_are_usage_errors(arguments: tuple[str, ...], said: str, folder: Path) -> None:
    shown = ran(folder, *arguments, code=4)

    assert shown.startswith("ERROR: ")
    assert said in shown


def test_without_an_implementation_nothing_of_the_suite_is_imported() -> None:
    """The entry point is imported by each pytest of an environment that has peerproof."""
    (entry,) = entry_points(group="pytest11", name="peerproof")
    program = f"import sys, pytest, {entry.value}; print(*sorted(name for name in sys.modules if name.startswith('peerproof')))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["peerproof", "peerproof.conformance", "peerproof.conformance.pytest_plugin", entry.value]
