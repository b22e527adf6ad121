"""
The suite's own vectors tried on the specification.

A vector that the specification does not pass judges nobody. It is tried with several seeds: what depends on chance, and does
not say so, passes with some of them only. What is made from a model says everything about chance; one will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite

SEEDS = ("0", "1", "2")


def objections(suite: Suite, reach: Callable[[], Adapter], seeds: Iterable[str] = SEEDS) -> dict[str, str]:
    """
    Vector -> what the implementation that `reach` leads to, which is the specification, has against it.

    Raises AdapterUnavailable.
    """
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
        if end.is_interrupted:
            raise KeyboardInterrupt
        if end.because:
            raise AdapterUnavailable(end.because)
    return found


def _objection(result: Result) -> str:
    said = f"{result.id} with seed {result.seed}" if result.seed else result.id
    if result.difference:
        difference = result.difference
        return f"{said}: {result.status}, {difference.where}: expected {difference.expected}, found {difference.actual}"
    return f"{said}: {result.status}, {result.reason or result.failure}"
