"""How long work takes beside other work: both are done in turn, and compared by the CPU time that they take."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, NamedTuple

ROUNDS = 9


class Comparison(NamedTuple):
    """What is compared with what, how often in a round, and which ratio is wanted, if any: at least, or at most."""

    what: str
    numerator: Callable[[], Any]
    denominator: Callable[[], Any]
    times: int
    least: float | None = None
    most: float | None = None


def cpu(work: Callable[[], Any], times: int) -> float:
    """Seconds of CPU for one call."""
    start = process_time()
    for _ in range(times):
        work()
    return (process_time() - start) / times


def ratio(numerator: Callable[[], Any], denominator: Callable[[], Any], times: int) -> tuple[float, float]:
    """How many times the denominator's CPU time the numerator takes, and the seconds of the denominator: medians."""
    rounds = [(cpu(numerator, times), cpu(denominator, times)) for _ in range(ROUNDS)]
    return median(top / bottom for top, bottom in rounds), median(bottom for _, bottom in rounds)


def show(*comparisons: Comparison) -> None:
    """Prints a line for each, which says where it misses its target."""
    width = max(len(comparison.what) for comparison in comparisons)
    for what, numerator, denominator, times, least, most in comparisons:
        found, seconds = ratio(numerator, denominator, times)
        fine = (least is None or found >= least) and (most is None or found <= most)
        target = "no target" if least is most is None else f"target at least {least}" if least else f"target at most {most}"
        judged = "" if least is most is None else "ok" if fine else "MISSED"
        print(f"{what:{width}} {found:7.2f}  ({target}; 1 = {seconds * 1e6:.1f} µs)  {judged}".rstrip())
