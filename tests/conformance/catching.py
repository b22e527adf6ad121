"""Which vectors catch which variants of a protocol's reference."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.conformance.variant import Variant

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Suite, Vector, load

#: A variant that dies of each datagram is started again each time; one that should answer must.
SETTINGS: Final = Settings(most_restarts=10_000, strict=True, decisions="strict")

#: What `caught.py` has found out: it takes minutes to look for, and seconds to see that it is still so.
KNOWN: Final = Path(__file__).with_name("caught.json")


class Mistakes:
    """The variants of one protocol, and the vectors that somebody has written for it."""

    def __init__(
        self, right: type[Variant], divergences: Mapping[str, type[Variant]], package: str, modules: Sequence[str]
    ) -> None:
        self.right = right  #: with nothing replaced
        self.divergences = divergences  #: by their flag
        self.variants = (*divergences.values(), *(variant for name in modules for variant in _defined_in(f"{package}.{name}")))
        self._flags = {variant: flag for flag, variant in divergences.items()}

    @cached_property
    def written(self) -> list[Vector]:
        """The vectors that are written by hand; those made from state graphs are scored in `test_model_vectors.py`."""
        return [vector for vector in suite().vectors if vector.protocol == self.right.protocol and vector.layer != "model"]

    def made_for(self, variant: type[Variant]) -> list[Vector]:
        """The vectors that a variant must fail."""
        flag = self._flags.get(variant)
        return [vector for vector in self.written if flag in vector.flags or vector.id.rpartition("/")[2] in variant.caught_by]

    def made_for_none(self) -> list[Vector]:
        """The written vectors that were made for no variant in particular."""
        made_for = {vector.id for variant in self.variants for vector in self.made_for(variant)}
        return [vector for vector in self.written if vector.id not in made_for]


def _defined_in(name: str) -> Iterator[type[Variant]]:
    for thing in vars(import_module(name)).values():
        if inspect.isclass(thing) and issubclass(thing, Variant) and thing.__module__ == name and thing.__name__[0] != "_":
            yield thing


@cache
def suite() -> Suite:
    """The suite's own vectors."""
    return load()


def known(what: str, protocol: str) -> dict[str, str]:
    """Of a protocol: the "vector of a model" by which a mistake is found out, or the "mistake" that a vector catches."""
    found: Any = json.loads(KNOWN.read_text(encoding="utf-8"))
    return dict(found[what][protocol])


def path_of(variant: type[Variant]) -> str:
    """How `--impl py:` names it."""
    return f"{variant.__module__}:{variant.__name__}"


def failed(implementation: str, vectors: Iterable[Vector]) -> set[str]:
    """The ids of the vectors of which at least one case fails, crashes or hangs."""
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    adapter = InProcess(implementation, Timeouts(), suite().version)
    hello = adapter.start()
    end = run(lambda: adapter, adapter, hello, cases(suite(), vectors), SETTINGS, report)
    assert end.because is None
    assert not [result.id for result in results if result.status == "skipped"]
    return {result.vector for result in results if STATUSES[result.status]}
