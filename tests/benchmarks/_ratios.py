"""
What benchmarks share: options, CPU time here and in child processes, targets, and ratios.

Whatever is compared is done in turn, and compared by the CPU time that it takes, so that a busy machine shifts both sides.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")

ROUNDS = 9

sys.path.append(str(Path(__file__).parents[2]))  # so that a benchmark can use what tests have


class Comparison(NamedTuple):
    """What is compared with what, how often in a round, and which ratio is wanted, if any: at least, or at most."""

    what: str
    numerator: Callable[[], Any]
    denominator: Callable[[], Any]
    times: int
    least: float | None = None
    most: float | None = None


def options(about: str | None, **defaults: Any) -> Any:
    """Parses the options of a script; types are those of the defaults, False stands for a switch and None for a file."""
    parser = ArgumentParser(description=about)
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(option, action="store_true")
        elif default is None:
            parser.add_argument(option, type=Path, metavar="FILE")
        elif isinstance(default, list):
            parser.add_argument(option, type=type(default[0]), nargs="*", default=default)
        else:
            parser.add_argument(option, type=type(default), default=default)
    return parser.parse_args()


def cpu(work: Callable[[], Any], times: int = 1) -> float:
    """Seconds of CPU for one call."""
    start = process_time()
    for _ in range(times):
        work()
    return (process_time() - start) / times


def children_cpu(work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of CPU, user and system, of the child processes that a call starts and waits for; and its result."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result


def command_cpu(*command: str) -> tuple[float, str]:
    """Seconds of CPU of a command as a child process, and what it prints."""
    return children_cpu(lambda: subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def ratio(numerator: Callable[[], float], denominator: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, float]:
    """How many times the denominator's seconds the numerator's are, measured in turn, and the denominator's: medians."""
    pairs = [(numerator(), denominator()) for _ in range(rounds)]
    return median(top / bottom for top, bottom in pairs), median(bottom for _, bottom in pairs)


def target(found: float, *, least: float | None = None, most: float | None = None) -> str:
    """What is wanted, and whether it is reached."""
    if least is most is None:
        return "(no target)"
    bound = f"at least {least:,}" if least is not None else f"at most {most:,}"
    reached = (least is None or found >= least) and (most is None or found <= most)
    return f"(target {bound})  {'ok' if reached else 'MISSED'}"


def refuse(decode: Callable[[bytes], Any], data: bytes) -> None:
    """Decodes what is no message."""
    try:
        decode(data)
    except ValueError:
        return
    raise AssertionError("this is a message")


def show(*comparisons: Comparison) -> None:
    """Prints a line for each, which says where it misses its target."""
    width = max(len(comparison.what) for comparison in comparisons)
    for what, numerator, denominator, times, least, most in comparisons:
        found, seconds = ratio(lambda: cpu(numerator, times), lambda: cpu(denominator, times))  # noqa: B023  # called at once
        print(f"{what:{width}} {found:7.2f}  1 = {seconds * 1e6:10.1f} µs  {target(found, least=least, most=most)}")
