"""What commands print beside their results: errors, notes, progress, and whether in colour."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import dataclass
from typing import Final, TextIO

from peerproof.conformance.suite.printable import steerable

_COLOURS: Final = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[33m",
    "tip": "\x1b[36m",
    "bad": "\x1b[31m",
    "good": "\x1b[32m",
    "dim": "\x1b[2m",
}
_PLAIN: Final = "\x1b[0m"


@dataclass
class _Settings:
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    progress: bool = True


_settings = _Settings()


def configure(args: Namespace) -> None:
    """Takes the settings of the options that every command has (`parser.add_common`)."""
    _settings.quiet = bool(getattr(args, "quiet", False))
    _settings.verbose = getattr(args, "verbose", 0) or 0
    _settings.color = getattr(args, "color", "auto")
    _settings.progress = not (getattr(args, "no_progress", False) or _settings.quiet)


def shows_progress() -> bool:
    """Whether progress is to be shown."""
    return _settings.progress


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
        _print_labelled("tip", tip)


def warn(message: str) -> None:
    """Prints a warning of a command that goes on."""
    _print_labelled("warning", message)


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
