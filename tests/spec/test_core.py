"""Tables, copies of values, and every outcome of a step."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, permutations
from typing import Any

import pytest

from peerproof.spec.core import Pick, Step, Table, outcomes, replace
from peerproof.spec.errors import NotEnabled


def test_a_table_is_iterated_in_the_order_of_its_keys() -> None:
    table = Table({"c": 1, "a": 2, "b": 3})

    assert list(table.items()) == [("a", 2), ("b", 3), ("c", 1)]
    assert repr(table) == "Table({'a': 2, 'b': 3, 'c': 1})"


def test_equal_tables_are_equal_however_they_came_about() -> None:
    put_together = Table({"b": 2}).put({"x": 0, "a": 1}).without(["x", "not there"])

    assert {put_together: "found"}[Table({"a": 1, "b": 2})] == "found"


def test_keys_by_their_rows_are_remembered_until_it_is_another_question() -> None:
    asked: list[int] = []

    def is_odd(row: int) -> bool:
        asked.append(row)
        return row % 2 == 1

    table = Table({"c": 1, "a": 2, "b": 3})
    assert table.keys_where(is_odd) == table.keys_where(is_odd) == ("b", "c")
    assert sorted(asked) == [1, 2, 3]

    asked.clear()
    assert table.put({"c": 5}).keys_where(is_odd) == ("b", "c")
    assert sorted(asked) == [1, 5]  # whether it is the same of the row that was replaced
    assert table.put({"c": 4}).keys_where(is_odd) == ("b",)
    assert table.put({"x": 7}).keys_where(is_odd) == ("b", "c", "x")
    assert table.without(["b"]).keys_where(is_odd) == ("c",)
    assert table.keys_where(lambda row: row > 1) == ("a", "b")


@pytest.mark.parametrize("other", [Table({"a": 2}), Table({"b": 1}), Table(), Table({"a": 1, "b": 1}), {"a": 1}, None])
def test_different_tables_differ(other: object) -> None:
    assert Table({"a": 1}) != other


def test_a_table_never_changes() -> None:
    rows = {"a": 1, "b": 2}
    table = Table(rows)

    assert table.put({"a": 3, "0": 4}) == Table({"0": 4, "a": 3, "b": 2})
    assert table.without(["a"]) == Table({"b": 2})
    assert table.put({}) is table
    with pytest.raises(TypeError):
        table["a"] = 2  # type: ignore[index]  # that is the point
    rows["c"] = 3
    assert (table, len(table), "c" in table) == (Table({"a": 1, "b": 2}), 2, False)


def test_a_missing_row_is_a_key_error_and_get_gives_none() -> None:
    assert Table[str, int]().get("a") is None
    with pytest.raises(KeyError):
        Table[str, int]()["a"]


def test_a_table_from_another_process_is_found_by_its_hash() -> None:
    # A string's hash differs from process to process, so it must not travel.
    program = (
        "import pickle, sys; from peerproof.spec.core import Table; t = Table({'a': 1}); hash(t); print(pickle.dumps(t).hex())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    sent = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    table = pickle.loads(bytes.fromhex(sent.stdout))

    assert table == Table({"a": 1})
    assert hash(table) == hash(Table({"a": 1}))


def asks(*questions: tuple[str, list[Any], int]) -> Callable[[Pick], Step[Any, Any]]:
    """A step that asks these questions one after the other and becomes its answers."""
    return lambda pick: Step(tuple(pick(why, among, some) for why, among, some in questions))


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([], [()]),
        ([("one", ["b", "a"], 1)], [(("a",),), (("b",),)]),
        ([("none to choose from", [], 1)], [((),)]),
        ([("no choice", ["a"], 1)], [(("a",),)]),
        ([("more than there are", ["b", "a"], 5)], [(("a", "b"),), (("b", "a"),)]),
        ([("two of three", [3, 1, 2], 2)], [(two,) for two in permutations([1, 2, 3], 2)]),
        ([("shuffle", list("abcde"), 5)], [(order,) for order in permutations("abcde")]),
        ([("first", [1, 2], 1), ("second", [3, 4], 1)], [((1,), (3,)), ((1,), (4,)), ((2,), (3,)), ((2,), (4,))]),
    ],
)
def test_outcomes_are_all_answers_in_order(questions: list[tuple[str, list[Any], int]], expected: list[Any]) -> None:
    found = list(outcomes(asks(*questions)))

    assert [outcome.step.state for outcome in found] == expected
    for outcome in found:
        assert outcome.picks == tuple((why, answer) for (why, *_), answer in zip(questions, outcome.step.state, strict=True))


def test_a_question_may_depend_on_an_answer() -> None:
    def step(pick: Pick) -> Step[Any, Any]:
        (side,) = pick("side", ["left", "right"])
        return Step((side, pick("room", [1, 2, 3]))) if side == "right" else Step((side,))

    found = [outcome.step.state for outcome in outcomes(step)]

    assert found == [("left",), ("right", (1,)), ("right", (2,)), ("right", (3,))]


@pytest.mark.parametrize("impossible", [{1}, {2}, {3}, {1, 2, 3}])
def test_answers_that_are_not_enabled_are_no_outcome_and_hide_no_other(impossible: set[int]) -> None:
    def step(pick: Pick) -> Step[Any, Any]:
        (chosen,) = pick("which", [1, 2, 3])
        if chosen in impossible:
            raise NotEnabled("impossible", "not this one")
        return Step((chosen, pick("then", "ab")))

    found = [outcome.step.state for outcome in outcomes(step)]

    assert found == [(chosen, then) for chosen in (1, 2, 3) if chosen not in impossible for then in (("a",), ("b",))]


def test_outcomes_come_one_by_one() -> None:
    # Six options have 720 orders; whoever wants three pays for three steps.
    calls = []

    def step(pick: Pick) -> Step[Any, Any]:
        calls.append(pick("order", range(6), 6))
        return Step(None)

    assert len(list(islice(outcomes(step), 3))) == 3
    assert len(calls) == 3


def test_a_copy_has_other_values_in_the_named_fields_alone() -> None:
    """As by `dataclasses.replace`, also where a field has the name of what the copier itself uses."""

    @dataclass(frozen=True)
    class Sample:
        kind: str
        kept: object = None
        several: tuple[int, ...] = ()
        length: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.several))

    before = Sample("a", None, (1, 2))

    assert replace(before) == before
    assert replace(before, several=(3,), kept=before) == dataclasses.replace(before, several=(3,), kept=before)
    assert replace(before, kept=None, kind="b") == Sample("b", None, (1, 2))
    with pytest.raises(TypeError, match="'none'"):
        replace(before, none=1)
