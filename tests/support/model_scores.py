"""How many mistakes vectors from state graphs find out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tests.support.catching import Mistakes, suite
from tests.support.model_tables import of

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.models.generation import select_configurations
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Vector


def judged(adapter: Adapter | str, vectors: Iterable[Vector], *, fail_fast: bool = False) -> list[Result]:
    """The results of an implementation, in the order in which they came."""
    if isinstance(adapter, str):
        adapter = create_adapter(adapter, suite().version, Timeouts(op=30))
    started, results = adapter, list[Result]()

    def report(result: Result) -> bool:
        results.append(result)
        return STATUSES[result.status]

    settings = Settings(most_restarts=10_000, strict=True, decisions="strict", fail_fast=fail_fast)
    run(lambda: started, started, started.start(), cases(suite(), vectors), settings, report)
    return results


class Score(NamedTuple):
    """How many mistakes vectors from state graphs alone find out, of those that a model can know of."""

    mistakes: Mistakes
    vectors: Sequence[Vector]
    at_least: int


#: The modules of mistakes that the models of a protocol can know of. Malformed datagrams are in none.
MODULES: Final = {
    "scuttlebutt": ("packing", "answers", "store", "rounds"),  # nor is a failure detector
    "swim": ("beliefs", "introductions", "queue"),  # nor is a death, nor how Transit is written
    "wendy": ("announcing", "departures", "routing"),  # nor is an application, nor how JSON is written
    "peter": ("events", "subscribing"),  # nor is a text of a topic; nobody comes or goes in those that are tables
    "distkv": ("answering", "changes", "electing", "store", "telling"),  # nor is a download, nor a size
}


def score(protocol: str) -> Score:
    """Enough of the vectors to show it, so that it does not take long."""
    mistakes = Mistakes(protocol, MODULES[protocol])
    tables = [configuration.name for configuration in select_configurations(protocol)]
    match protocol:
        case "scuttlebutt":
            some = [*of("small-c"), *of("small-b", "step"), *of("small-a", "refusal"), *of("small-a", "step")[::4]]
            return Score(mistakes, some, 39)
        case "swim":
            whole = [vector for name in ("small-data", "small-commands", "small-suspicion") for vector in of(name, "", protocol)]
            steps = [vector for name in ("small-restart", "small-news") for vector in of(name, "step", protocol)]
            some = [*of("small-relay", "step", protocol)[::8], *of("small-a", "step", protocol)[::4]]
            return Score(mistakes, [*whole, *steps, *some], 61)
        case "wendy":
            return Score(mistakes, [vector for name in tables for vector in of(name, "step", protocol)], 30)
        case "peter":
            return Score(mistakes, [vector for name in tables for vector in of(name, "", protocol)], 20)
        case _:
            return Score(mistakes, [vector for name in tables for vector in of(name, "step", protocol)[::2]], 81)
