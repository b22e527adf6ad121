"""
Programs that some tests need and that Python does not bring.

A test that needs a program which this machine lacks is left out, and the end of the run says how many are, and what to install.
In the strict mode (`PEERPROOF_STRICT=1`, as in `.ci/run`) such a test fails.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

import pytest

from peerproof.tla.tools.installation import ToolsUnusable, find_jdk, java_version

STRICT: Final = "PEERPROOF_STRICT"
LEFT_OUT: Final = "left out, no "  #: how the reason of such a test begins


@dataclass(frozen=True)
class Tool:
    """A program, how to find it, and how to install it."""

    name: str
    find: Callable[[], str | None]
    install: str


def _find_jdk() -> str | None:
    try:
        java = find_jdk()
        java_version(java)
    except ToolsUnusable:
        return None
    return java


def _which(*programs: str) -> Callable[[], str | None]:
    return lambda: next(filter(None, map(shutil.which, programs)), None)


TOOLS: Final = {
    "jdk": Tool("Java 17 for Spark", _find_jdk, "sudo apt install openjdk-17-jre-headless, or brew install openjdk@17"),
    "javac": Tool("Java compiler", _which("javac"), "sudo apt install openjdk-17-jdk-headless, or brew install openjdk@17"),
    "mvn": Tool("Maven", _which("mvn"), "sudo apt install maven, or brew install maven"),
    "serf": Tool("Serf", _which("serf"), "sudo apt install serf, or the program from https://github.com/hashicorp/serf"),
    "node": Tool("Node.js", _which("node"), "sudo apt install nodejs, or brew install node"),
    "npm": Tool("npm", _which("npm"), "sudo apt install npm, or brew install node"),
    "go": Tool("Go", _which("go"), "sudo apt install golang-go, or brew install go"),
    "gofmt": Tool("Go", _which("gofmt"), "sudo apt install golang-go, or brew install go"),
    "cargo": Tool("Rust", _which("cargo"), "https://rustup.rs, or brew install rust"),
    "rustfmt": Tool("rustfmt", _which("rustfmt"), "rustup component add rustfmt"),
    "clippy": Tool("clippy", _which("cargo-clippy"), "rustup component add clippy"),
    "bash": Tool("bash", _which("bash"), "sudo apt install bash"),
    "git": Tool("git", _which("git"), "sudo apt install git, or brew install git"),
    "ip": Tool("iproute2", _which("ip"), "sudo apt install iproute2 (Linux only)"),
    "chromium": Tool(
        "Chromium",
        _which("chromium", "chromium-browser", "google-chrome", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
        "sudo apt install chromium, or brew install --cask google-chrome",
    ),
}

#: What a mark says of all tests that have it.
IMPLIED: Final = {"spark": "jdk", "cluster": "jdk", "connect": "jdk", "browser": "chromium"}


def leave_out(reason: str) -> NoReturn:
    """Leaves the test out that runs; in the strict mode it fails."""
    if os.environ.get(STRICT):
        pytest.fail(f"{reason} ({STRICT} is set)", pytrace=False)
    pytest.skip(reason)


def require(name: str) -> str:
    """Where a program is. Without it, the test that asks is left out, or fails in the strict mode."""
    tool = TOOLS[name]
    path = tool.find()
    if path is None:
        reason = f"{LEFT_OUT}{tool.name}: {tool.install}"
        leave_out(reason)
    return path


def needed(item: pytest.Item) -> list[str]:
    """The programs that the marks of a test name: `@pytest.mark.needs("serf")`, and those that a mark implies."""
    named = [name for mark in item.iter_markers("needs") for name in mark.args]
    return [*named, *(tool for mark, tool in IMPLIED.items() if item.get_closest_marker(mark))]


def left_out(reasons: Iterable[str]) -> Iterator[str]:
    """A line for each program that tests were left out for: how many, and what installs it."""
    missing = Counter(reason.partition(LEFT_OUT)[2] for reason in reasons if LEFT_OUT in reason)
    for (what, _, install), count in sorted(((text.partition(": "), count) for text, count in missing.items()), key=str):
        yield f"{count} test{'' if count == 1 else 's'} left out: no {what}. {install}"
