"""The action: its steps, run one after the other as GitHub's runner does, in the repository of a user."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.tools import require

ACTION = yaml.safe_load((Path(__file__).parents[3] / "conformance/action/action.yml").read_text("utf-8"))
EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
CONDITION = re.compile(r"([\w.-]+) != ''")

#: A program that offers the codec of Peter, and encodes one message otherwise.
ADAPTER = """
import json, sys
from peerproof.reference.harness.harness import Harness

harness = Harness()
for line in sys.stdin:
    request = json.loads(line)
    reply = harness.handle(request, lambda question: [0])
    for item, answer in zip(request.get("items", [request]), reply.get("results", [reply])):
        if item["op"] == "hello":
            answer["protocols"] = {"peter": {"capabilities": ["codec"]}}
        if item["op"] == "encode" and item["value"]["type"] == "unsubscribe" and "--wrong" in sys.argv:
            answer["bytes"] += "00"
    print(json.dumps(reply), flush=True)
    if request["op"] == "bye":
        break
"""
KNOWN = "peter/codec/unsubscribe-with-versions#encode bytes - - a zero too many\n"


@dataclass
class Job:
    """A job with the action as its step: what the runner keeps between the steps of it."""

    folder: Path
    inputs: Mapping[str, str]
    outputs: dict[str, str] = field(default_factory=dict)  #: `steps.ID.outputs.NAME` -> value
    log: str = ""
    summary: str = ""
    used: dict[str, Any] = field(default_factory=dict)  #: action that a step uses -> its inputs
    failed: str | None = None  #: the name of the step that failed

    def run(self) -> None:
        """Runs the steps; after one that fails, no other."""
        for step in ACTION["runs"]["steps"]:
            if all(self.value(name) for name in CONDITION.findall(step.get("if", ""))) and self.failed is None:
                self.step(step)

    def value(self, name: str) -> str:
        """The value of an expression."""
        if name.startswith("inputs."):
            given = ACTION["inputs"][name.removeprefix("inputs.")]
            return self.inputs.get(name.removeprefix("inputs."), given.get("default", ""))
        return self.outputs.get(name, "")

    def filled(self, text: str) -> str:
        """A text with its expressions replaced."""
        return EXPRESSION.sub(lambda found: self.value(found[1]), text)

    def step(self, step: dict[str, Any]) -> None:
        """Runs a step, or notes which action it uses."""
        if "uses" in step:
            self.used[step["uses"]] = {name: self.filled(value) for name, value in step["with"].items()}
            return
        assert step["shell"] == "bash"
        assert not EXPRESSION.search(step["run"]), "an input in a script could be code"
        files = {name: self.folder / f".{name}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.write_text("")
        environment = {
            **os.environ,
            "PATH": f"{self.folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_WORKSPACE": str(self.folder),
            **{name: str(path) for name, path in files.items()},
            **{name: self.filled(value) for name, value in step.get("env", {}).items()},
        }
        done = subprocess.run(
            [require("bash"), "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / self.filled(step.get("working-directory", ".")),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        self.log += done.stdout
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        self.outputs |= {
            f"steps.{step['id']}.outputs.{name}": value for name, _, value in (line.partition("=") for line in lines)
        }
        if done.returncode:
            self.failed = step["name"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an implementation in one of its folders."""
    port = tmp_path / "my port"
    port.mkdir()
    for name, text in (("adapter.py", ADAPTER), ("known.txt", KNOWN), ("codec.py", "")):
        (port / name).write_text(text)
    return tmp_path


def job(repository: Path, impl: str, **inputs: str) -> Job:
    """A finished job."""
    common = {"protocol": "peter", "peerproof": "", "python-version": "", "working-directory": "my port"}
    finished = Job(repository, {**common, "impl": impl, **{name.replace("_", "-"): value for name, value in inputs.items()}})
    finished.run()
    return finished


@pytest.mark.slow
def test_a_job_in_which_every_case_passes_succeeds(repository: Path) -> None:
    """With a page, a badge and a summary, which are kept."""
    done = job(repository, f"{sys.executable} adapter.py", arguments="-k 'layer:codec   !subscribe' --strict")

    assert done.failed is None, done.log
    assert "::error" not in done.log
    assert done.outputs["steps.run.outputs.exit-code"] == "0"
    page, badge = (Path(done.value(EXPRESSION.findall(ACTION["outputs"][name]["value"])[0])) for name in ("page", "badge"))
    assert page == repository / "my port/peerproof-report/index.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "passing" in badge.read_text()
    assert done.used == {"actions/upload-artifact@v4": {"name": "peerproof-report", "path": "my port/peerproof-report"}}
    assert re.search(r"^\| selected \|", done.summary, re.MULTILINE)
    record = (page.parent / "run.jsonl").read_text().splitlines()
    assert json.loads(record[0])["header"]["arguments"] == {
        "impl": f"{sys.executable} adapter.py",
        "select": "layer:codec   !subscribe",
        "protocol": "peter",
        "strict": True,
    }


@pytest.mark.slow
def test_failures_are_annotated_in_the_files_of_the_user(repository: Path) -> None:
    """A failing case where the user says, a stale one at its line of the list. The verdict comes last."""
    (repository / "my port/known.txt").write_text(f"{KNOWN}peter/codec/sample-publish#decode bytes - - it passes\n")

    done = job(repository, f"{sys.executable} adapter.py --wrong", known_failing="known.txt", annotate="codec.py:3")

    annotations = set(re.findall(r"^::error (file=[^,]*,line=\d+),title=", done.log, re.MULTILINE))
    assert annotations == {"file=my port/codec.py,line=3", "file=my port/known.txt,line=2"}
    assert done.failed == "Give the verdict"
    assert done.outputs["steps.run.outputs.exit-code"] == "1"
    assert "STALE peter/codec/sample-publish#decode" in done.log
    assert "FAILED peter/codec/unsubscribe-with-versions#reencode" in done.summary
    assert "failing" in (repository / "my port/peerproof-report/badge.svg").read_text()
    assert "actions/upload-artifact@v4" in done.used


@pytest.mark.slow
def test_a_run_that_is_refused_fails_without_a_report(repository: Path) -> None:
    """Its reason is in the log. Nothing of an input is executed."""
    done = job(repository, "./none; touch executed", arguments="$(touch executed)")

    assert done.failed == "Give the verdict"
    assert done.outputs["steps.run.outputs.exit-code"] == "2"
    assert "error: " in done.log
    assert done.used == {}
    assert not list(repository.rglob("executed"))


def test_the_suite_is_installed_from_the_requirement(repository: Path) -> None:
    """One word for pip, whatever it holds, with the Python that is set up."""
    (repository / "bin").mkdir()
    (repository / "bin/python3").write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 1\n')
    (repository / "bin/python3").chmod(0o755)

    done = job(repository, "./none", peerproof="peerproof @ git+https://some.where/p; true", python_version="3.13")

    assert done.used == {"actions/setup-python@v5": {"python-version": "3.13"}}
    assert done.failed == "Install the suite"
    assert done.log == "-m|pip|install|--quiet|peerproof @ git+https://some.where/p; true|"


def test_every_input_and_output_says_what_it_is() -> None:
    described = [*ACTION["inputs"].values(), *ACTION["outputs"].values()]

    assert all(one["description"].endswith(".") for one in described)
    used = re.findall(r"inputs\.([\w-]+)", (Path(__file__).parents[3] / "conformance/action/action.yml").read_text("utf-8"))
    assert set(used) == set(ACTION["inputs"])
