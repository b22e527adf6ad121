"""Shared parts of commands: errors that end them, SIGTERM, the file of --trace, and numbers as options."""

from __future__ import annotations

import json
import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerproof.cli.console import warn
from peerproof.cli.exits import USAGE, Refusal

if TYPE_CHECKING:
    from peerproof.reference.runtime.recorder import TraceFile


@contextmanager
def refuse(*errors: type[Exception], prefix: str = "", code: int = USAGE) -> Iterator[None]:
    """Makes each of these errors end the command with its message."""
    try:
        yield
    except errors as error:
        raise Refusal(f"{prefix}{getattr(error, 'detail', None) or error}", code, tip=getattr(error, "tip", None)) from None


@contextmanager
def interruptible() -> Iterator[None]:
    """Treats SIGTERM as Ctrl-C while the block runs, so that no Java process and no temporary file outlives this process."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def trace_file(path: str | None, buffered: int = 0) -> Iterator[TraceFile | None]:
    """Opens the file of `--trace`, if given, and closes it after the block. Ends the command if it cannot be written."""
    from peerproof.reference.runtime.recorder import TraceFile

    if path is None:
        yield None
        return
    try:
        trace = TraceFile(Path(path), warn, buffered=buffered)
    except OSError as error:
        raise Refusal(f"cannot write the trace {path}: {error.strerror}") from None
    try:
        yield trace
    finally:
        trace.close()


def count(text: str, digits: int = 9, least: int = 1) -> int:
    """The type of an option: a number of things, at least so many, with at most so many digits."""
    if not text.isascii() or not text.isdigit() or len(text) > digits or int(text) < least:
        raise ArgumentTypeError(f"{text!r}: expected a number, at least {least}")
    return int(text)


def seconds(text: str) -> float:
    """The type of an option: a number of seconds, at least 0 and below a million."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found < 10**6:
        raise ArgumentTypeError(f"expected seconds, found {text!r}")
    return found


def positive_seconds(text: str) -> float:
    """The type of an option: a number of seconds above 0 and below a million."""
    try:
        if found := seconds(text):
            return found
    except ArgumentTypeError:
        pass
    raise ArgumentTypeError(f"expected seconds above 0, found {text!r}")


def json_object(text: str) -> dict[str, Any]:
    """The type of an option: a JSON object."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not JSON: {error}") from None
    if not isinstance(plain, dict):
        raise ArgumentTypeError(f'{text!r}: expected an object, such as {{"max_payload": 512}}')
    return plain
