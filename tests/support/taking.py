"""An implementation that takes another reading, judged on vectors that rest on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.readings.reading import Reading
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.claims import check_claims
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.basis import OR, Others
from peerproof.conformance.vectors.suite import Suite, Vector
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


def judge(suite: Suite, protocol: str, reading: Reading, vectors: Sequence[Vector], *, says_so: bool) -> list[Result]:
    """What becomes of an implementation that takes the reading, and perhaps says so."""
    Judged = type("Judged", (Taking,), {"reading": reading, "protocol": protocol, "says_so": says_so})  # noqa: N806  # a class
    globals()["Judged"] = Judged
    adapter = InProcess(f"{__name__}:Judged", Timeouts(op=60), suite.version)
    hello = adapter.start()
    check_claims(hello)
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    end = run(lambda: adapter, adapter, hello, list(cases(suite, vectors)), Settings(most_restarts=10_000), report)
    assert end.because is None
    return results


def _names(reading: Reading, decisions: Mapping[str, Others]) -> bool:
    """Whether the reading makes something else come where these decisions matter."""
    return any(reading.name in names.split(OR) for names in decisions.get(reading.clause, {}).values())


def resting_on(suite: Suite, protocol: str, reading: Reading, most: int = 4) -> list[Vector]:
    """Some vectors that rest on a reading, of all its layers."""
    assert is_decision(reading.clause)
    found = [
        vector
        for vector in suite.vectors
        if vector.protocol == protocol and any(_names(reading, others) for others in vector.rests_on.values())
    ]
    return found[:: max(1, len(found) // most)][:most]
