"""Which vectors catch which variants of a protocol's reference."""

from __future__ import annotations

import gc
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

from tests.support.variant import Variant

from peerproof.conformance.adapter.in_process import InProcess
from peerproof.conformance.mutation.scoring import IMPLEMENTATION, PACKAGES
from peerproof.conformance.mutation.sites import Mutant
from peerproof.conformance.mutation.trials import Bench
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings, run
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.vectors.suite import Suite, Vector, load
from peerproof.reference.divergences.divergence import Divergence
from peerproof.spec.protocols import PROTOCOLS

AnyVariant = type[Variant] | type[Divergence]

#: A variant that dies of each datagram is started again each time; one that should answer must.
SETTINGS: Final = Settings(most_restarts=10_000, strict=True, decisions="strict")

#: What `caught.py` has found out: it takes minutes to look for, and seconds to see that it is still so.
KNOWN: Final = Path(__file__).with_name("caught.json")


class Mistakes:
    """The variants of one protocol, and the vectors that somebody has written for it."""

    def __init__(self, protocol: str, modules: Sequence[str] = ()) -> None:
        """Of its divergences, and of these modules of mistakes, or all."""
        package = import_module(f"tests.conformance.mistakes.{protocol}")
        modules = modules or [module.name for module in iter_modules(package.__path__)]
        self.right: type[Variant] = package.Wrong  #: with nothing replaced
        self.divergences: Mapping[str, type[Divergence]] = PROTOCOLS[protocol].divergences.load()  # type: ignore[union-attr]
        mistakes = (variant for name in modules for variant in _defined_in(f"{package.__name__}.{name}"))
        self.variants: Sequence[AnyVariant] = (*self.divergences.values(), *mistakes)
        self._flags: Mapping[AnyVariant, str] = {variant: name.lower() for name, variant in self.divergences.items()}

    @cached_property
    def written(self) -> list[Vector]:
        """The vectors that are written by hand; those made from state graphs are scored in `test_model_vectors.py`."""
        return [vector for vector in suite().vectors if vector.protocol == self.right.protocol and vector.layer != "model"]

    def made_for(self, variant: AnyVariant) -> list[Vector]:
        """The vectors that a variant must fail; those of a divergence have its flag."""
        flag, named = self._flags.get(variant), getattr(variant, "caught_by", ())
        return [vector for vector in self.written if flag in vector.flags or vector.id.rpartition("/")[2] in named]

    def made_for_none(self) -> list[Vector]:
        """The written vectors that were made for no variant in particular."""
        made_for = {vector.id for variant in self.variants for vector in self.made_for(variant)}
        return [vector for vector in self.written if vector.id not in made_for]


def _defined_in(name: str) -> Iterable[type[Variant]]:
    """Those in the module's table, and classes beside it."""
    module = vars(import_module(name))
    classes = (thing for thing in module.values() if inspect.isclass(thing) and issubclass(thing, Variant))
    own = (thing for thing in classes if thing.__module__ == name and thing.__name__[0] != "_")
    return {**module["wrong"].variants, **{thing.__name__: thing for thing in own}}.values()


@cache
def suite() -> Suite:
    """The suite's own vectors, which the collector of cycles passes over from then on."""
    found = load()
    gc.freeze()
    return found


def known(what: str, protocol: str) -> dict[str, str]:
    """Of a protocol: the "vector of a model" that finds a mistake out, and the "mistake" or "mutant" that a vector catches."""
    found: Any = json.loads(KNOWN.read_text(encoding="utf-8"))
    return dict(found[what][protocol])


def path_of(variant: type[Any]) -> str:
    """How `--impl py:` names it."""
    return f"{variant.__module__}:{variant.__name__}"


def failed(implementation: str, vectors: Iterable[Vector]) -> set[str]:
    """The ids of the vectors of which at least one case fails, crashes or hangs."""
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    adapter = InProcess(implementation, Timeouts(op=0), suite().version)
    hello = adapter.start()
    end = run(lambda: adapter, adapter, hello, cases(suite(), vectors), SETTINGS, report)
    assert end.because is None
    assert not [result.id for result in results if result.status == "skipped"]
    return {result.vector for result in results if STATUSES[result.status]}


def detecting(mutants: Sequence[Mutant], vectors: Sequence[Vector], jobs: int = 2) -> dict[str, set[str]]:
    """By mutant of one protocol: the ids of those of the vectors that detect it."""
    (protocol,) = {vector.protocol for vector in vectors}
    bench = Bench(protocol, cases(suite(), vectors), IMPLEMENTATION, PACKAGES, suite().version, most_killers=len(vectors))
    reach = bench.reach(list({mutant.module.name: mutant.module for mutant in mutants}.values()))
    return {mutant.id: set(verdict.killers) for mutant, verdict in bench.trials(mutants, reach, jobs)}
