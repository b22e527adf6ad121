"""`peerproof model check`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from peerproof.cli.main import main
from peerproof.conformance.models import counterexamples
from peerproof.tla import checking, manifest
from peerproof.tla.output.outcome import Result, TimedOut, Verdict
from peerproof.tla.tools.installation import JAR_VARIABLE, Tools

pytestmark = pytest.mark.slow  # runs TLC, and so needs Java


def command(*arguments: str) -> int:
    """Runs the command with these arguments."""
    return main(["model", "check", *arguments])


def test_a_line_for_each_model_and_one_for_all(tools: Tools, capsys: pytest.CaptureFixture[str]) -> None:
    code = command("scuttlebutt", "--model", "tiny", "--model", "sometimes-digest-response")

    first, second, last = capsys.readouterr().out.splitlines()
    assert code == 0
    assert "tiny " in first
    assert "holds: 1,125 states, 5,681 edges, depth 18" in first
    assert "possible, and so fails as expected: NeverDigestResponse; TLC 3 steps; explorer 3 steps" in second
    assert last == "2 models: 2 as expected, 0 not, 0 without a verdict"


@pytest.fixture
def no_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without the tools."""
    monkeypatch.setenv(JAR_VARIABLE, str(tmp_path / "absent.jar"))


@pytest.mark.usefixtures("no_jar")
def test_list_asks_for_no_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--list") == 0
    assert len(capsys.readouterr().out.splitlines()) == len(manifest.models())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["smoke-signals"], "unknown protocol 'smoke-signals'"),
        (["--model", "absent"], "unknown model absent"),
        (["--model", "sx-04"], "unknown model sx-04\ntip: did you mean SX-04-two-sides?\n"),
    ],
)
def test_what_there_is_not_is_refused(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str) -> None:
    assert command(*arguments) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.usefixtures("no_jar")
def test_without_tools_nothing_is_said_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--model", "tiny") == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: no such file: ")


@pytest.mark.usefixtures("no_jar")
def test_explorer_alone_needs_no_java(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--model", "BL-01-tiny", "--model", "BL-01-newest-first", "--show") == 0
    first, second, *picture, last = capsys.readouterr().out.splitlines()
    assert "holds: 1,125 states; by the explorer alone" in first
    assert "fails as expected: Converges; explorer 8 steps to a trap of 22 states" in second
    assert any("6. delta [2 b x 2]" in line for line in picture)
    assert last == "2 models: 2 as expected, 0 not, 0 without a verdict"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("BL-01-newest-first", {"trap": 7}, "the explorer's way into the trap has 8 steps, not 7"),
        ("BL-01-restarts", {"verdict": "success", "violated": None}, "the explorer says that Converges is violated, not nothing"),
        ("BL-01-strangers", {"properties": ("Converges", "Unheard")}, "the explorer does not support this model"),
    ],
)
def test_explorer_that_says_something_else_is_a_surprise_with_a_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, change: dict[str, object], said: str
) -> None:
    changed = [replace(model, **change) for model in manifest.models() if model.name == name]  # type: ignore[arg-type]  # any field
    monkeypatch.setattr(manifest, "models", lambda: tuple(changed))

    assert command("--model", name) == 1
    out = capsys.readouterr().out
    assert f"UNEXPECTED: {said}" in out
    assert ("1. Update" in out) == ("the explorer" in said and name != "BL-01-strangers")


@pytest.fixture
def checked_as(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[manifest.Model], checking.Checked]], None]:
    """Has TLC's runs, which do not take place, end like this; the tools are there."""

    def pretend(check: Callable[[manifest.Model], checking.Checked]) -> None:
        monkeypatch.setattr("peerproof.tla.tools.installation.find", lambda: Tools("java", 17, tmp_path / "tla2tools.jar"))
        monkeypatch.setattr(checking, "check", lambda _, model, *__, **___: check(model))

    return pretend


def test_surprise_is_shown_and_ends_with_1(checked_as: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    def check(model: manifest.Model) -> checking.Checked:
        counts = dict(model.expected_counts) | {"distinct": 3}
        found = Result(Verdict.SUCCESS, None, None, queue=0, actions={}, exit_code=0, **counts)
        return checking.Checked(model, found, tuple(checking.surprises(model, found)))

    checked_as(check)

    assert command("--model", "tiny") == 1
    assert "UNEXPECTED: expected distinct = 1,125, TLC reports 3" in capsys.readouterr().out


def test_no_verdict_is_not_taken_for_one(checked_as: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    def check(_: manifest.Model) -> checking.Checked:
        raise TimedOut("TLC had no verdict after 1 s")

    checked_as(check)

    assert command("--model", "tiny") == 3
    shown = capsys.readouterr().out
    assert "NO VERDICT: TLC had no verdict" in shown
    assert shown.endswith("5 models: 0 as expected, 0 not, 5 without a verdict\n")


def test_what_is_written_down_is_what_both_say(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The explorer's counts do not take the place of TLC's."""
    assert tools
    modules = shutil.copytree(manifest.root(), tmp_path / "tla")
    monkeypatch.setattr(manifest, "root", lambda *_: modules)
    monkeypatch.setattr("peerproof.conformance.models.model_check.rewrite_vectors", lambda _: None)
    answered = counterexamples.ask_explorer

    def one_less(model: manifest.Model, progress: Callable[[int, int, int], None]) -> counterexamples.Answer:
        answer = answered(model, progress)
        return replace(answer, search=replace(answer.search, edges=answer.search.edges - 1))

    monkeypatch.setattr(counterexamples, "ask_explorer", one_less)

    assert command("swim", "--model", "SX-06-mended", "--rewrite") == 1
    assert "UNEXPECTED: expected generated = 279, the explorer says 278" in capsys.readouterr().out
