"""What the tests of model checking share: the real tools, a Java that only plays, and modules to be wrong in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from peerproof.tla.tools.installation import Tools, ToolsUnusable, find


@pytest.fixture(scope="session")
def tools() -> Tools:
    """The tools of this machine; where there are none, the test fails and says what to install."""
    try:
        return find()
    except ToolsUnusable as problem:
        pytest.fail(f"not run: {problem}")


@pytest.fixture
def java(tmp_path: Path) -> Callable[[str], Tools]:
    """A program in the place of `java`, from the body of a Python script."""

    def make(script: str) -> Tools:
        path = tmp_path / "java"
        path.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return Tools(str(path), 17, tmp_path / "tla2tools.jar")

    return make


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str], Path]:
    """A module of one variable, `x`, from its other lines."""

    def make(lines: str) -> Path:
        path = tmp_path / "Counter.tla"
        path.write_text(f"---- MODULE Counter ----\nEXTENDS Naturals\nVARIABLE x\n{lines}\n====\n", encoding="utf-8")
        return path

    return make
