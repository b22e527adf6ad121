"""The vectors catch mistakes: each wrong variant fails those made for it, and the reference passes them."""

from __future__ import annotations

from typing import Final

import pytest
from tests.support.catching import AnyVariant, Mistakes, detecting, failed, known, path_of, suite

from peerproof.conformance.models.counterexample_vectors import FILE
from peerproof.conformance.mutation.scoring import select_mutants
from peerproof.conformance.mutation.trials import MOST_KILLERS
from peerproof.spec.protocols import PROTOCOLS

#: What only a loaded state shows, and why.
ONLY_LOADED: Final = {
    "scuttlebutt": {"store.NoLastVersion": "a version rises by one at each update, and nothing else raises it"},
    "peter": {"subscribing.KeepsEverybody": "65,537 children would have to subscribe, which are 25 MB of messages"},
}

RENEW: Final = "python -m tests.support.caught finds out what they catch"

OF_EACH: Final = {protocol: Mistakes(protocol) for protocol in PROTOCOLS}

of_each_protocol = pytest.mark.parametrize("mistakes", OF_EACH.values(), ids=OF_EACH)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistakes", "variant"),
    [
        pytest.param(mistakes, variant, id=f"{protocol}-{variant.__name__}")
        for protocol, mistakes in OF_EACH.items()
        for variant in mistakes.variants
    ],
)
def test_every_vector_made_for_a_mistake_catches_it(mistakes: Mistakes, variant: AnyVariant) -> None:
    made_for = mistakes.made_for(variant)

    caught_by = failed(path_of(variant), made_for)

    assert made_for
    assert {vector.id for vector in made_for} == caught_by


@pytest.mark.slow
def test_the_reference_passes_all_vectors() -> None:
    assert failed("peerproof.reference.harness.harness:Harness", suite().vectors) == set()


@pytest.mark.slow
@of_each_protocol
def test_a_variant_with_nothing_replaced_passes(mistakes: Mistakes) -> None:
    """What catches a variant is its mistake, not the way in which it was put there; a fifth of the vectors shows that."""
    assert failed(path_of(mistakes.right), mistakes.written[::5]) == set()


@of_each_protocol
def test_every_vector_that_a_variant_names_exists(mistakes: Mistakes) -> None:
    names = {vector.id.rpartition("/")[2] for vector in mistakes.written}

    named = [(variant.__name__, name) for variant in mistakes.variants for name in getattr(variant, "caught_by", ())]

    assert [(variant, name) for variant, name in named if name not in names] == []


@pytest.mark.slow
@of_each_protocol
def test_what_a_variant_overrides_exists(mistakes: Mistakes) -> None:
    """Else it would be caught by whatever makes it do anything at all."""
    for variant in mistakes.variants:
        with variant().overriding:
            pass


@of_each_protocol
def test_a_vector_without_a_loaded_state_catches_each_variant(mistakes: Mistakes) -> None:
    """Many implementations cannot load a state."""
    left = {
        f"{variant.__module__.rpartition('.')[2]}.{variant.__name__}"
        for variant in mistakes.variants
        if (made_for := mistakes.made_for(variant)) and all("state.load" in vector.needs for vector in made_for)
    }

    assert left == set(ONLY_LOADED.get(mistakes.right.protocol, {}))


@of_each_protocol
def test_every_divergence_flag_has_its_variant(mistakes: Mistakes) -> None:
    notes = suite().notes
    flags = {flag for vector in mistakes.written for flag in vector.flags if notes[flag]["kind"] == "divergence"}

    assert flags == {name.lower() for name in mistakes.divergences}


@of_each_protocol
def test_every_file_of_vectors_catches_a_mistake(mistakes: Mistakes) -> None:
    catching = {vector.file for variant in mistakes.variants for vector in mistakes.made_for(variant)}
    written = {vector.file for vector in mistakes.written}

    made_from_models = {f"{mistakes.right.protocol}/{FILE}"}  # test_counterexample_vectors.py has the flaws that they show
    assert written - made_from_models == catching


@pytest.mark.slow
@of_each_protocol
def test_every_vector_but_the_anchors_catches_a_mistake_or_a_mutant(mistakes: Mistakes) -> None:
    left = {vector.id: vector for vector in mistakes.made_for_none() if "anchor" not in vector.flags}
    catches = known("mistake", mistakes.right.protocol)
    variants = {variant.__name__: variant for variant in mistakes.variants}

    assert {*catches, *known("mutant", mistakes.right.protocol)} == left.keys(), RENEW
    for name in sorted(set(catches.values())):
        vectors = [left[caught] for caught, by in catches.items() if by == name]
        assert failed(path_of(variants[name]), vectors) == {vector.id for vector in vectors}


@pytest.mark.minute
@of_each_protocol
def test_a_mutant_that_few_vectors_detect_is_detected_by_those_that_are_made_for_no_mistake(mistakes: Mistakes) -> None:
    """What is a fault of one word needs no mistake that somebody has invented."""
    catches = known("mutant", mistakes.right.protocol)
    vectors = [vector for vector in mistakes.written if vector.id in catches]
    mutants = [mutant for mutant in select_mutants(mistakes.right.protocol) if mutant.id in catches.values()]
    assert {mutant.id for mutant in mutants} == {*catches.values()}, RENEW

    found = detecting(mutants, vectors)

    assert [vector for vector, mutant in catches.items() if vector not in found[mutant]] == [], RENEW
    assert [mutant for mutant, by in found.items() if len(by) > MOST_KILLERS] == []
