"""Output of commands besides their results: errors, notes, progress, and colour."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from dataclasses import dataclass
from typing import Final, TextIO

from peerproof.conformance.suite.printable import Printable, steerable

_COLOURS: Final = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[33m",
    "tip": "\x1b[36m",
    "bad": "\x1b[1;31m",
    "good": "\x1b[32m",
}
_BAD: Final = re.compile(
    r"^ *(?:FAILED|CRASHED|HUNG|FLOODED|STALE|UNEXPECTED|REJECTED|VIOLATES|FOUND|FAIL|PARTIAL)\b"
    r"|\b[1-9][\d,]* (?:failed|crashed|hung|flooded|stale|rejected)\b",
    re.MULTILINE,
)
_GOOD: Final = re.compile(r"^(?:PASSED|ok)\b|\b[1-9][\d,]* (?:passed|accepted)\b|^  accepted\b", re.MULTILINE)
_PLAIN: Final = "\x1b[0m"


@dataclass
class _Settings:
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    progress: bool = True


_settings = _Settings()


def configure(args: Namespace) -> None:
    """Applies the options that every command has (`parser.add_common`)."""
    _settings.quiet = bool(getattr(args, "quiet", False))
    _settings.verbose = getattr(args, "verbose", 0) or 0
    _settings.color = getattr(args, "color", "auto")
    is_off = getattr(args, "no_progress", False) or bool(os.environ.get("PEERPROOF_NO_PROGRESS"))
    _settings.progress = not (is_off or _settings.quiet)
    is_text = getattr(args, "format", "text") in (None, "text") and getattr(args, "json", False) is False
    if isinstance(sys.stdout, Printable) and is_text and is_coloured(sys.stdout.stream):
        sys.stdout.paint = paint_verdicts


def paint_verdicts(text: str) -> str:
    r"""
    Returns a text with its verdicts in colour: red for what fails, green for what passes.

    >>> paint_verdicts("3 cases: 2 passed, 1 failed\n")
    '3 cases: \x1b[32m2 passed\x1b[0m, \x1b[1;31m1 failed\x1b[0m\n'
    """
    bad, good = (f"{_COLOURS[name]}\\g<0>{_PLAIN}" for name in ("bad", "good"))
    return _GOOD.sub(good, _BAD.sub(bad, text))


def shows_progress() -> bool:
    """Whether to show progress."""
    return _settings.progress


def is_verbose() -> bool:
    """Whether to print details."""
    return _settings.verbose > 0


def is_coloured(stream: TextIO) -> bool:
    """Whether to write in colour: --color, then NO_COLOR and FORCE_COLOR, then whether it is a terminal."""
    if _settings.color != "auto":
        return _settings.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def print_error(message: str, tip: str | None = None) -> None:
    """Prints what is wrong, and what to do next."""
    _print_labelled("error", message)
    if tip:
        print_tip(tip)


def print_tip(message: str) -> None:
    """Prints what to do next."""
    _print_labelled("tip", message)


def warn(message: str, tip: str | None = None) -> None:
    """Prints a warning, and what to do about it; the command continues."""
    _print_labelled("warning", message)
    if tip:
        _print_labelled("tip", tip)


def note(message: str) -> None:
    """Prints a remark on standard error, unless --quiet is given."""
    if not _settings.quiet:
        print(message, file=sys.stderr, flush=True)


def _print_labelled(label: str, message: str) -> None:
    shown = f"{label}:"
    if is_coloured(sys.stderr):
        print(f"{_COLOURS[label]}{shown}{_PLAIN}", end=" ", file=steerable(sys.stderr), flush=True)
        shown = ""
    print(f"{shown} {message}".lstrip(), file=sys.stderr, flush=True)
