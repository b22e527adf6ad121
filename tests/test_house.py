"""The rules of the house that a machine can check."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.tools import require

ROOT = Path(__file__).parents[1]

#: Places that exist on one machine only, and the hosts of package registries: neither belongs into what others get.
OF_ONE_MACHINE = re.compile(
    r"(?<![\w.])/(?:home|root|Users|work)/\w|\bpypi\.org|\bpythonhosted\.org|\bregistry\.npmjs|\brepo1?\.maven|\bcrates\.io|\bproxy\.golang"
)


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository; all files below the folder if it is not one (a source archive)."""
    listed = subprocess.run([require("git"), "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    found = (path for pattern in patterns or ("*",) for path in ROOT.rglob(pattern) if path.is_file())
    return [path for path in found if not {".venv", "build", "dist", ".git"} & set(path.relative_to(ROOT).parts)]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check"], id="lint"),
        pytest.param(["ruff", "format", "--check"], id="format"),
        pytest.param(["mypy"], id="types", marks=pytest.mark.slow),
    ],
)
def test_tool_has_nothing_to_say(command: list[str]) -> None:
    """The settings are in pyproject.toml."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_imports_point_down() -> None:
    """The layers, and what a specification may not reach, are contracts in pyproject.toml; import-linter checks them."""
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.slow
def test_files_name_no_machine_and_no_registry() -> None:
    """What is in the repository holds on every machine."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        if path.suffix not in {".png", ".gz", ".class"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if OF_ONE_MACHINE.search(line)
    ]

    assert found == []


def test_rule_about_machines_finds_them() -> None:
    """The pattern above does match what it is there for."""
    dot = "."
    assert OF_ONE_MACHINE.search(str(Path("/", "home", "someone", "peerproof")))
    assert OF_ONE_MACHINE.search(f"https://pypi{dot}org/simple")
    assert not OF_ONE_MACHINE.search("#!/usr/bin/env bash")


@pytest.mark.slow
def test_leftovers_are_none() -> None:
    """A note to do something later belongs into an issue."""
    marks = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b")
    found = [
        str(path.relative_to(ROOT))
        for path in tracked("*.py", "*.md", "*.yaml")
        if marks.search(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_help_of_make_lists_every_target() -> None:
    """`make help` is made from the comments over the targets."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()
    described = re.findall(r"^## ([a-z-]+): .", makefile, re.MULTILINE)

    assert sorted(described) == sorted(phony)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in phony)
