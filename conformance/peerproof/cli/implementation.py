"""Options for the implementation under test and its timeouts, and its adapter."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from peerproof.cli.command import seconds
from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.cli.options import Options
from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable, Watch
from peerproof.conformance.adapter.dialogue import DialogueFile
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.adapter.recording import Recording
from peerproof.conformance.suite.bounds import USUAL, Bounds
from peerproof.conformance.suite.timeouts import Timeouts


def add_implementation(parser: Options, otherwise: str = "the reference") -> None:
    """Adds `--impl` and the timeouts. Ends the program if PEERPROOF_PATIENCE is not a number."""
    add_impl(parser, otherwise)
    add_timeouts(parser)


def add_impl(parser: Options, otherwise: str = "the reference") -> None:
    """Adds `--impl`."""
    parser.add_argument(
        "--impl",
        metavar="WHAT",
        help="implementation under test: 'COMMAND ARGS' (started without a shell), tcp://HOST:PORT (an adapter that listens), "
        "py:MODULE:CLASS (in process), recorded:FILE (a recorded dialogue), divergence:ID (the reference with a fault of a "
        f"real implementation, such as BD-09) (default: {otherwise})",
    )


def add_timeouts(parser: Options) -> None:
    """Adds the timeouts and the limit of one reply. Ends the program if PEERPROOF_PATIENCE is not a number."""
    try:
        usual = Timeouts()
    except ValueError as error:
        raise Refusal(str(error)) from None
    for name, what in _TIMEOUTS.items():
        usually = getattr(usual, name)
        parser.add_argument(
            f"--{name}-timeout",
            metavar="SECONDS",
            type=seconds,
            default=usually,
            help=f"time limit {what} (default {usually:g}; 0: no limit)",
        )
    _add_bound(parser, "max-reply")


#: member of `Timeouts`, and the first word of its option -> what it limits
_TIMEOUTS = {"hello": "for the start and the reply to hello", "op": "for one request", "bye": "for the exit after bye"}

#: option, member of `Bounds` -> what it limits
_BOUNDS = {
    "max-messages": ("messages", "messages and events of one case"),
    "max-at-once": ("at_once", "messages and events in reply to one request"),
    "max-bytes": ("message_bytes", "bytes in all messages of one case"),
    "max-reply": ("reply", "bytes of one reply"),
    "max-record": ("record", "bytes kept of one case in the report"),
}


def add_bounds(parser: Options) -> None:
    """Adds the limits on the output of one case; `add_timeouts` adds that of one reply."""
    for option in _BOUNDS:
        if option != "max-reply":
            _add_bound(parser, option)


def _add_bound(parser: Options, option: str) -> None:
    member, what = _BOUNDS[option]
    usual = getattr(USUAL, member)
    help_text = f"at most N {what} (default {_size_text(usual)})"
    parser.add_argument(f"--{option}", metavar="N", type=size, default=usual, help=help_text)


def bounds(args: Namespace) -> Bounds:
    """Returns the bounds of the options; a command without all of these options has the defaults."""
    named = {member: getattr(args, option.replace("-", "_"), None) for option, (member, _) in _BOUNDS.items()}
    return Bounds(**{member: number for member, number in named.items() if number is not None})


def limits_as_arguments(args: Namespace) -> dict[str, int | str]:
    """Returns the bounds and timeouts that are not at their defaults, as options; timeouts as text, as 0 means no limit."""
    of_bounds = ((option, getattr(bounds(args), member), getattr(USUAL, member)) for option, (member, _) in _BOUNDS.items())
    of_time = ((f"{name}-timeout", getattr(patience(args), name), getattr(Timeouts(), name)) for name in _TIMEOUTS)
    return {
        **{option: given for option, given, usual in of_bounds if given != usual},
        **{option: f"{given:g}" for option, given, usual in of_time if given != usual},
    }


def arguments_of_replay(args: Namespace) -> dict[str, object]:
    """Returns the options of a command about one vector that a command to repeat it needs."""
    seed = args.seed if args.seed != "0" else None
    return {"impl": args.impl, "seed": seed, "vectors": args.vectors} | limits_as_arguments(args)


def make_reach(
    args: Namespace,
    suite: str,
    watch: Watch | None = None,
    dialogue: DialogueFile | None = None,
    *,
    protocols: Collection[str] = (),
) -> Callable[[], Adapter]:
    """
    Returns a function that creates the adapter of `--impl`; requests and replies are recorded in `dialogue`.

    `protocols` are those that are needed; all if none is named.
    """

    def reach(see: Watch | None) -> Adapter:
        return create_adapter(args.impl, suite, patience(args), see, args.max_reply, protocols)

    return (lambda: Recording(reach, dialogue)) if dialogue else (lambda: reach(watch))


def patience(args: Namespace) -> Timeouts:
    """Returns the timeouts of the options."""
    return Timeouts(args.hello_timeout, args.op_timeout, args.bye_timeout)


@contextmanager
def refuse_unavailable() -> Iterator[None]:
    """Ends the command if an adapter cannot be used, with the last lines of its standard error."""
    try:
        yield
    except AdapterUnavailable as error:
        lines = [f"{error}"]
        if error.errors:
            last = error.errors.decode("utf-8", "backslashreplace").splitlines()[-20:]
            lines += ["end of its standard error:", *(f"  | {line[:400]}" for line in last)]
        raise Refusal("\n".join(lines), UNUSABLE, tip=error.tip) from None


_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def size(text: str) -> int:
    """The type of an option: a large number, or bytes: 5000, 64k, 16M."""
    digits, unit = text.rstrip("kKmMgG"), text[len(text.rstrip("kKmMgG")) :].lower()
    if not digits.isascii() or not digits.isdigit() or unit not in _UNITS or not 0 < int(digits) < 10**12:
        raise ArgumentTypeError(f"expected a number from 1, such as 5000, 64k or 16M, found {text!r}")
    return int(digits) * _UNITS[unit]


def _size_text(number: int) -> str:
    for unit in "gmk":
        if not number % _UNITS[unit]:
            return f"{number // _UNITS[unit]}{unit if unit == 'k' else unit.upper()}"
    return str(number)
