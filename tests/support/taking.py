"""An implementation that takes another reading, judged on vectors that rest on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from tests.support.catching import suite

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.readings.reading import Reading
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.claims import check_claims
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.basis import OR
from peerproof.conformance.vectors.suite import Vector
from peerproof.spec.properties import is_decision


class Taking:
    """Takes a reading; `take` makes classes of it."""

    reading: ClassVar[Reading]
    protocol: ClassVar[str]
    says_so: ClassVar[bool]

    def __init__(self) -> None:
        self._variant = self.reading.variant(self.protocol)

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """The variant's reply; its hello may name the reading."""
        reply: dict[str, Any] = self._variant.handle(request, choose)
        if request["op"] != "hello" or not self.says_so:
            return reply
        return {**reply, "readings": {self.reading.clause: self.reading.name}}


def judge(protocol: str, reading: Reading, vectors: Sequence[Vector], *, says_so: bool) -> list[Result]:
    """What becomes of an implementation that takes the reading, and perhaps says so."""
    Judged = type("Judged", (Taking,), {"reading": reading, "protocol": protocol, "says_so": says_so})  # noqa: N806  # a class
    globals()["Judged"] = Judged
    adapter = InProcess(f"{__name__}:Judged", Timeouts(op=0), suite().version)
    hello = adapter.start()
    check_claims(hello)
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    end = run(lambda: adapter, adapter, hello, list(cases(suite(), vectors)), Settings(most_restarts=10_000), report)
    assert end.because is None
    return results


@cache
def _resting() -> Mapping[tuple[str, str, str], list[Vector]]:
    """By protocol, clause and name of a reading: the vectors of which it makes something else come."""
    found: dict[tuple[str, str, str], list[Vector]] = defaultdict(list)
    for vector in suite().vectors:
        decisions = [item for others in vector.rests_on.values() for item in others.items()]
        for clause, name in {(clause, name) for clause, by in decisions for names in by.values() for name in names.split(OR)}:
            found[vector.protocol, clause, name].append(vector)
    return found


def resting_on(protocol: str, reading: Reading, most: int = 4) -> list[Vector]:
    """Some vectors that rest on a reading, of all its layers."""
    assert is_decision(reading.clause)
    found = _resting()[protocol, reading.clause, reading.name]
    return found[:: max(1, len(found) // most)][:most]
