"""Options that say which implementation is judged, and how patiently; and the way to it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable, Watch
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.suite.timeouts import Timeouts


def add_implementation(parser: ArgumentParser, otherwise: str = "the reference") -> None:
    """`--impl` and the time-outs. Ends the program if the environment has no number for PEERPROOF_PATIENCE."""
    parser.add_argument(
        "--impl",
        metavar="WHAT",
        help="'COMMAND ARGS' (started without a shell), tcp://HOST:PORT (attach to an adapter that listens), "
        f"py:MODULE:CLASS (in process); without it, {otherwise}",
    )
    try:
        usual = Timeouts()
    except ValueError as error:
        parser.error(str(error))
    for name, seconds, what in (
        ("hello", usual.hello, "to start and say hello"),
        ("op", usual.op, "for one request"),
        ("bye", usual.bye, "to end"),
    ):
        parser.add_argument(
            f"--{name}-timeout",
            metavar="SECONDS",
            type=_seconds,
            default=seconds,
            help=f"how long the implementation has {what} (default: {seconds:g}; 0: for ever)",
        )


def make_reach(args: Namespace, suite: str, watch: Watch | None = None) -> Callable[[], Adapter]:
    """What makes an adapter for the implementation that the options name."""
    return lambda: create_adapter(args.impl, suite, patience(args), watch)


def patience(args: Namespace) -> Timeouts:
    """The time-outs that the options say."""
    return Timeouts(args.hello_timeout, args.op_timeout, args.bye_timeout)


@contextmanager
def refuse_unavailable() -> Iterator[None]:
    """Makes an adapter that cannot be used end the command, with the last lines of its standard error."""
    try:
        yield
    except AdapterUnavailable as error:
        lines = [f"peerproof: {error}"]
        if error.errors:
            last = error.errors.decode("utf-8", "backslashreplace").splitlines()[-20:]
            lines += ["the last on its standard error:", *(f"  | {line[:400]}" for line in last)]
        raise Refusal("\n".join(lines), UNUSABLE) from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < 10**6:
        raise ArgumentTypeError(f"expected seconds, found {text!r}")
    return seconds


def positive(text: str) -> int:
    """The type of an option that counts."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**6:
        raise ArgumentTypeError(f"expected a number from 1, found {text!r}")
    return int(text)
