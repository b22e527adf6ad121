"""Which vectors catch which variants of a protocol's reference."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from tests.conformance.variant import Variant

from peerproof.conformance.adapter import Patience
from peerproof.conformance.cases import cases
from peerproof.conformance.inprocess import InProcess
from peerproof.conformance.result import STATUSES, Result
from peerproof.conformance.runner import Settings, run
from peerproof.conformance.vectors import Suite, Vector, load

#: A variant that dies of each datagram is started again each time; one that should answer must.
SETTINGS: Final = Settings(most_restarts=10_000, strict=True)


class Mistakes:
    """The variants of one protocol, and the vectors that somebody has written for it."""

    def __init__(
        self, right: type[Variant], divergences: Mapping[str, type[Variant]], package: str, modules: Sequence[str]
    ) -> None:
        self.right = right  #: with nothing replaced
        self.divergences = divergences  #: by their flag
        self.variants = (*divergences.values(), *(variant for name in modules for variant in _defined_in(f"{package}.{name}")))
        self._flags = {variant: flag for flag, variant in divergences.items()}

    def written(self) -> list[Vector]:
        """The vectors that somebody has written; those made from state graphs are scored in `test_model_vectors.py`."""
        return [vector for vector in suite().vectors if vector.protocol == self.right.protocol and vector.layer != "model"]

    def made_for(self, variant: type[Variant]) -> list[Vector]:
        """The vectors that a variant must fail."""
        flag = self._flags.get(variant)
        return [vector for vector in self.written() if flag in vector.flags or vector.id.rpartition("/")[2] in variant.caught_by]


def _defined_in(name: str) -> Iterator[type[Variant]]:
    for thing in vars(import_module(name)).values():
        if inspect.isclass(thing) and issubclass(thing, Variant) and thing.__module__ == name and thing.__name__[0] != "_":
            yield thing


@cache
def suite() -> Suite:
    """The suite's own vectors."""
    return load()


def path_of(variant: type[Variant]) -> str:
    """How `--impl py:` names it."""
    return f"{variant.__module__}:{variant.__name__}"


def failed(implementation: str, vectors: Iterable[Vector]) -> set[str]:
    """The ids of the vectors of which at least one case fails, crashes or hangs."""
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    adapter = InProcess(implementation, Patience(), suite().version)
    hello = adapter.start()
    end = run(lambda: adapter, adapter, hello, cases(suite(), vectors), SETTINGS, report)
    assert end.because is None
    assert not [result.id for result in results if result.status == "skipped"]
    return {result.vector for result in results if STATUSES[result.status]}
