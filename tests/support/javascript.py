"""The adapters in JavaScript, copies of them with one mistake, and what the suite says of either."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from peerproof.cli.main import main

ADAPTERS = Path(__file__).parents[2] / "conformance/adapters"
RUNNER = ADAPTERS.parent / "runners/javascript"

#: Name -> vector, module, what stands there, what many would write.
Mistakes = Mapping[str, tuple[str, str, str, str]]


def copy_port(folder: Path, adapter: str) -> Path:
    """A copy of an adapter, and of the runner that serves it, where it looks for it."""
    shutil.copytree(RUNNER, folder / "runners/javascript", ignore=shutil.ignore_patterns("testdata"), dirs_exist_ok=True)
    return Path(shutil.copytree(ADAPTERS / adapter, folder / "adapters" / adapter))


def copy_with(folder: Path, adapter: str, module: str, right: str, wrong: str) -> Path:
    """The same with something replaced in one of the adapter's modules."""
    copied = copy_port(folder, adapter)
    source = copied / module
    text = source.read_text(encoding="utf-8")
    assert text.count(right) == 1, f"{right!r} is no longer in {module}"
    source.write_text(text.replace(right, wrong), encoding="utf-8")
    return copied


def judge(adapter: Path, *arguments: str) -> int:
    """The exit code of a command about an adapter, on a machine that may be busy."""
    patience = ("--hello-timeout", "60", "--op-timeout", "60", "--bye-timeout", "10")
    return main([*arguments, "--impl", f"node '{adapter / 'adapter.mjs'}'", *patience])


def assert_caught(adapter: Path, vector: str, capfd: pytest.CaptureFixture[str]) -> None:
    """An adapter fails a vector."""
    assert judge(adapter, "run", "--strict", "--decisions", "strict", "-k", vector) == 1
    assert re.search(rf"^(FAILED|CRASHED) {vector}", capfd.readouterr().out, re.MULTILINE)
