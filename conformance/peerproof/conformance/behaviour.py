"""
The suite's own vectors tried on the specification.

A vector that the specification does not pass judges nobody. It is tried with several seeds: what depends on chance, and does
not say so, passes with some of them only. What is made from a model says everything about chance; one will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from peerproof.conformance.adapter import Adapter, Unusable
from peerproof.conformance.cases import cases
from peerproof.conformance.model_table import LAYER
from peerproof.conformance.result import Result
from peerproof.conformance.runner import Settings, run
from peerproof.conformance.vectors import Suite

SEEDS = ("0", "1", "2")


def objections(suite: Suite, reach: Callable[[], Adapter], seeds: Iterable[str] = SEEDS) -> dict[str, str]:
    """Vector -> what the implementation that `reach` leads to, which is the specification, has against it. May raise Unusable."""
    found: dict[str, str] = {}

    def report(result: Result) -> bool:
        if result.status != "passed":
            found.setdefault(result.vector, _objection(result))
        return result.status != "passed"

    vectors = suite.vectors
    for seed in seeds:
        adapter = reach()
        end = run(reach, adapter, adapter.start(), cases(suite, vectors), Settings(seed=seed), report)
        vectors = tuple(vector for vector in suite.vectors if vector.layer != LAYER)
        if end.interrupted:
            raise KeyboardInterrupt
        if end.because:
            raise Unusable(end.because)
    return found


def _objection(result: Result) -> str:
    said = f"{result.id} with seed {result.seed}" if result.seed else result.id
    if result.difference:
        difference = result.difference
        return f"{said}: {result.status}, {difference.where}: expected {difference.expected}, found {difference.actual}"
    return f"{said}: {result.status}, {result.reason or result.failure}"
