"""The language in which commands say which vectors."""

from __future__ import annotations

import pytest

from peerproof.conformance.vectors.selection import SelectionError, note_on_models, select
from peerproof.conformance.vectors.suite import Vector


def a_vector(name: str, *clauses: str, level: str = "must", flags: tuple[str, ...] = ()) -> Vector:
    identity = f"scuttlebutt/{name}"
    layer = name.partition("/")[0]
    return Vector(identity, 1, "", "scuttlebutt", layer, level, clauses, flags, (layer,), {}, f"{layer}/some.yaml", 1)


VECTORS = [
    a_vector("codec/digest", "B-40", "B-43"),
    a_vector("codec/digest-cut", "BA-20", flags=("hostile",)),
    a_vector("exchange/delta", "B-14", "B-43", level="should"),
    a_vector("exchange/lost", "B-20", flags=("bd-04",)),
    a_vector("exchange/bx-01-lost"),
]


def names(expression: str) -> list[str]:
    return [vector.id.removeprefix("scuttlebutt/") for vector in select(VECTORS, expression)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", ["codec/digest", "codec/digest-cut", "exchange/delta", "exchange/lost", "exchange/bx-01-lost"]),
        ("digest", ["codec/digest", "codec/digest-cut"]),
        ("scuttlebutt/codec/digest", ["codec/digest"]),  # a whole id is itself only, though another begins with it
        ("*/d*t", ["codec/digest", "codec/digest-cut"]),
        ("clause:B-43", ["codec/digest", "exchange/delta"]),
        ("clause:B-43 layer:codec", ["codec/digest"]),
        ("clause:B-14,BA-20", ["codec/digest-cut", "exchange/delta"]),
        ("clause:BA-*", ["codec/digest-cut"]),
        ("B-43", ["codec/digest", "exchange/delta"]),  # the number of a clause selects by clause
        ("b-43 !clause:b-14", ["codec/digest"]),
        ("clause:B-14,clause:BA-20", ["codec/digest-cut", "exchange/delta"]),  # a repeated key
        ("clause:B-14,flag:hostile", ["codec/digest-cut", "exchange/delta"]),
        ("BD-04", ["exchange/lost"]),  # a divergence is a flag
        ("bx-01", ["exchange/bx-01-lost"]),  # no vector cites it, and an id has it
        ("!flag:hostile", ["codec/digest", "exchange/delta", "exchange/lost", "exchange/bx-01-lost"]),
        ("layer:codec !flag:hostile", ["codec/digest"]),
        ("level:should", ["exchange/delta"]),
        ("need:exchange", ["exchange/delta", "exchange/lost", "exchange/bx-01-lost"]),
        ("layer:codec level:should", []),  # each word fits something, nothing fits both
    ],
)
def test_all_words_must_fit(expression: str, expected: list[str]) -> None:
    assert names(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("digets", "no vector matches 'digets' -> did you mean digest?"),
        ("unheard-of", "no vector matches 'unheard-of' -> peerproof vectors list shows them"),
        ("protocol:scuttlebut", "no vector matches 'scuttlebut' -> did you mean scuttlebutt?"),
        ("layer:unheard-of", "no vector matches 'unheard-of' -> there are codec, exchange"),
        ("clause:B-99", "no vector matches 'B-99' -> there are B-14 to B-43"),
        ("b-99", "no vector matches 'b-99' -> there are B-14 to B-43"),
        ("!flag:hostil", "no vector matches 'hostil' -> did you mean hostile?"),
        ("clause:B-14,B-99", "no vector matches 'B-99'"),
        ("claus:B-14", "unknown key 'claus' in 'claus:B-14' -> did you mean clause:B-14?"),
        ("clause:", "no vector matches ''"),
    ],
)
def test_a_word_that_says_nothing_is_a_mistake(expression: str, message: str) -> None:
    with pytest.raises(SelectionError) as caught:
        select(VECTORS, expression)

    assert message in f"{caught.value} -> {getattr(caught.value, 'tip', None)}"


@pytest.mark.parametrize(
    ("expression", "remark"),
    [
        ("B-14", "101 of these 102 vectors are made from state graphs; without them: -k 'B-14 !layer:model'"),
        ("clause:B-14", "101 of these 102 vectors are made from state graphs; without them: -k 'clause:B-14 !layer:model'"),
        ("clause:B-14 layer:model", None),  # they were asked for
        ("!clause:B-43", None),
    ],
)
def test_many_vectors_of_a_clause_that_are_made_from_models_are_worth_a_remark(expression: str, remark: str | None) -> None:
    vectors = [a_vector("codec/digest", "B-14"), *(a_vector(f"model/tiny-step-{number}", "B-14") for number in range(101))]

    assert note_on_models(expression, vectors) == remark


def test_a_former_id_leads_to_the_vector() -> None:
    former = {"scuttlebutt/codec/old": "scuttlebutt/codec/digest"}

    assert [vector.id for vector in select(VECTORS, "scuttlebutt/codec/old", former)] == ["scuttlebutt/codec/digest"]
