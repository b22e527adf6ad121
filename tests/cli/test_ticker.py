"""Progress: a line every ten seconds without a terminal, one that is overwritten with one, and none if so asked."""

from __future__ import annotations

import io
import sys
import time
from argparse import Namespace
from itertools import count

import pytest

from peerproof.cli import console
from peerproof.cli.ticker import Ticker


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """See `TextIO`."""
        return True


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes whenever the time is asked for; afterwards the settings are as before."""
    monkeypatch.setattr(console, "_settings", console._Settings())  # so that it is put back
    monkeypatch.setattr(time, "monotonic", map(float, count()).__next__)


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, **options: bool) -> str:
    """What 25 seconds of progress write on standard error."""
    monkeypatch.setattr(sys, "stderr", stream)
    console.configure(Namespace(**options))
    with Ticker() as ticker:
        for done in range(25):
            ticker("0 failed", done, 100, "cases")
    return stream.getvalue()


def test_without_a_terminal_there_is_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()).splitlines() == [
        "9 of 100 cases, 54.0/min, 2 min left: 0 failed",
        "19 of 100 cases, 57.0/min, 85 s left: 0 failed",
    ]


def test_on_a_terminal_one_line_is_overwritten_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, Terminal()).split("\r\x1b[2K")

    assert len(lines) == 27
    assert (lines[0], lines[-2].split(",")[0], lines[-1]) == ("", "24 of 100 cases", "")


@pytest.mark.parametrize("options", [{"no_progress": True}, {"quiet": True}, {}], ids=["option", "quiet", "environment"])
def test_no_progress_is_shown_if_so_asked(monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]) -> None:
    monkeypatch.setenv("PEERPROOF_NO_PROGRESS", "" if options else "1")

    assert shown(monkeypatch, Terminal(), **options) == ""
