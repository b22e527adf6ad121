"""The vectors catch mistakes: each wrong variant fails those made for it, and the reference passes them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Final

import pytest
from tests.conformance.wrong import DIVERGENCES, Wrong

from peerproof.conformance.adapter import Patience
from peerproof.conformance.cases import cases
from peerproof.conformance.inprocess import InProcess
from peerproof.conformance.result import STATUSES, Result
from peerproof.conformance.runner import Settings, run
from peerproof.conformance.vectors import Suite, Vector, load

MISTAKES: Final = ("wire", "packing", "answers", "store", "rounds", "detector")

#: A variant that dies of each datagram is started again each time; one that should answer must.
SETTINGS: Final = Settings(most_restarts=10_000, strict=True)


def _variants() -> Iterator[type[Wrong]]:
    yield from DIVERGENCES.values()
    for name in MISTAKES:
        for thing in vars(import_module(f"tests.conformance.mistakes.{name}")).values():
            if inspect.isclass(thing) and issubclass(thing, Wrong) and thing is not Wrong:
                yield thing


VARIANTS: Final = tuple(_variants())
FLAGS: Final = {variant: flag for flag, variant in DIVERGENCES.items()}


@cache
def _suite() -> Suite:
    return load()


def _written() -> list[Vector]:
    """The vectors that somebody has written; those made from state graphs are scored in `test_model_vectors.py`."""
    return [vector for vector in _suite().vectors if vector.layer != "model"]


def _made_for(variant: type[Wrong]) -> list[Vector]:
    """The vectors that a variant must fail."""
    flag = FLAGS.get(variant)
    return [vector for vector in _written() if flag in vector.flags or vector.id.rpartition("/")[2] in variant.caught_by]


def _failed(implementation: str, vectors: Iterable[Vector]) -> set[str]:
    """The ids of the vectors of which at least one case fails, crashes or hangs."""
    results: list[Result] = []

    def report(result: Result) -> bool:
        results.append(result)
        return False

    adapter = InProcess(implementation, Patience(), _suite().version)
    hello = adapter.start()
    end = run(lambda: adapter, adapter, hello, cases(_suite(), vectors), SETTINGS, report)
    assert end.because is None
    assert not [result.id for result in results if result.status == "skipped"]
    return {result.vector for result in results if STATUSES[result.status]}


def _path(variant: type[Wrong]) -> str:
    return f"{variant.__module__}:{variant.__name__}"


@pytest.mark.parametrize("variant", VARIANTS, ids=[variant.__name__ for variant in VARIANTS])
def test_every_vector_made_for_a_mistake_catches_it(variant: type[Wrong]) -> None:
    made_for = _made_for(variant)

    caught_by = _failed(_path(variant), made_for)

    assert made_for
    assert {vector.id for vector in made_for} == caught_by


def test_the_reference_passes_all_vectors() -> None:
    assert _failed("peerproof.reference.harness:Harness", _suite().vectors) == set()


def test_a_variant_with_nothing_replaced_passes_all_vectors() -> None:
    """What catches a variant is its mistake, not the way in which it was put there."""
    assert _failed(_path(Wrong), _written()) == set()


def test_every_vector_that_a_variant_names_exists() -> None:
    names = {vector.id.rpartition("/")[2] for vector in _written()}

    assert [(variant.__name__, name) for variant in VARIANTS for name in variant.caught_by if name not in names] == []


def test_every_divergence_flag_has_its_variant() -> None:
    flags = {flag for vector in _written() for flag in vector.flags if flag.startswith("bd-")}

    assert flags == set(DIVERGENCES)


def test_every_file_of_vectors_catches_a_mistake() -> None:
    catching = {vector.file for variant in VARIANTS for vector in _made_for(variant)}
    by_hand = {vector.file for vector in _written() if "model" not in vector.body}  # the others: test_counterexample_vectors.py

    assert by_hand == catching


@pytest.mark.slow
def test_every_vector_but_the_anchors_catches_a_mistake() -> None:
    left = {vector.id: vector for vector in _written() if "anchor" not in vector.flags}
    for variant in VARIANTS:
        for vector in _made_for(variant):
            left.pop(vector.id, None)

    for variant in VARIANTS:
        for caught in _failed(_path(variant), list(left.values())):
            left.pop(caught)

    assert set(left) == set()
