"""TLA+ values as TLC prints them, and their one normal form."""

from __future__ import annotations

import pytest

from peerproof.tla.output.values import Function, ModelValue, NotAValue, Parser, Value, function, order, parse, parse_state


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("-12", -12, id="number"),
        pytest.param("TRUE", True, id="boolean"),
        pytest.param("p1", ModelValue("p1"), id="model value"),
        pytest.param('""', "", id="empty string"),
        pytest.param(r'"a\"b\\n c\nd\te"', 'a"b\\n c\nd\te', id="string with escapes"),
        pytest.param('"<<1, 2>> @@ }"', "<<1, 2>> @@ }", id="string with what looks like values"),
        pytest.param("{}", frozenset(), id="empty set"),
        pytest.param("{1, {2}, {}}", frozenset({1, frozenset({2}), frozenset()}), id="set of sets"),
        pytest.param("1..3", frozenset({1, 2, 3}), id="interval"),
        pytest.param("3..1", frozenset(), id="empty interval"),
        pytest.param("-1..1", frozenset({-1, 0, 1}), id="interval from below zero"),
        pytest.param("<<>>", (), id="empty tuple"),
        pytest.param("<< >>", (), id="empty function"),
        pytest.param("<< <<1>>,\n   2 >>", ((1,), 2), id="wrapped"),
        pytest.param("<<<<<<>>>>>>", (((),),), id="tuples without blanks"),
        pytest.param("[a |-> 1, b |-> {}]", Function((("a", 1), ("b", frozenset()))), id="record"),
        pytest.param('("a" :> 1 @@ "b" :> {})', Function((("a", 1), ("b", frozenset()))), id="function on strings"),
        pytest.param("(2 :> TRUE @@ 1 :> FALSE)", (False, True), id="function on 1..n"),
        pytest.param("(0 :> 5)", Function(((0, 5),)), id="function on 0..n"),
        pytest.param("(2 :> [v |-> 1..2])", Function(((2, Function((("v", frozenset({1, 2})),))),)), id="nested"),
        pytest.param("(TRUE :> 1)", Function(((True, 1),)), id="a boolean is not the number 1"),
        pytest.param("(1 :> 7 @@ 1 :> 8)", (7,), id="the left function decides"),
    ],
)
def test_value_is_read_into_its_normal_form(text: str, value: Value) -> None:
    read = parse(text)

    assert read == value
    assert type(read) is type(value)


NO_VALUES = [
    "",
    "{1",
    "<<1, >>",
    "[a |-> ]",
    "[a -> 1]",
    "(1 :> )",
    "1 2",
    "{1,,2}",
    '"open',
    "1..",
    "@",
    "/\\ x",
    "(1 :> 2 @@)",
    "]",
    "[]",
]


@pytest.mark.parametrize("text", NO_VALUES)
def test_what_is_no_value_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(NotAValue, match=r"at character \d+"):
        parse(text)


def test_states_name_their_variables_in_any_order() -> None:
    expected = {"x": 0, "store": ((1,), frozenset()), "s": "\n/\\ x = 2"}

    assert parse_state('/\\ x = 0\n/\\ store = << <<1>>,\n   {} >>\n/\\ s = "\\n/\\\\ x = 2"\n') == expected
    assert parse_state("x = [a |-> 1]") == {"x": Function((("a", 1),))}, "the only one has no bullet"
    assert parse_state('/\\ s = "\\n/\\\\ x = 2"\n/\\ store = <<<<1>>, {}>>\n/\\ x = 0') == expected


@pytest.mark.parametrize("text", ["", "/\\ x", "/\\ x = 1\n/\\ x = 2", "/\\ x = 1\n/\\ y", "1 = 2"])
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(NotAValue):
        parse_state(text)


def test_parser_gives_equal_values_for_equal_texts() -> None:
    parser = Parser()

    assert parser.state("/\\ x = {1}\n/\\ y = {1}") == {"x": frozenset({1}), "y": frozenset({1})}
    assert parser.state("/\\ x = {1}\n/\\ y = {2}") == {"x": frozenset({1}), "y": frozenset({2})}


def test_model_value_is_not_the_string_of_the_same_letters() -> None:
    assert ModelValue("a") != "a"
    assert len({ModelValue("a"), "a", ModelValue("a")}) == 2


def test_order_sorts_values_of_all_kinds() -> None:
    values: list[Value] = [(), "b", 2, True, frozenset({1}), ModelValue("a"), "a", function({"a": 1}), -1, False, (1,)]

    ordered, backwards = sorted(values, key=order), values[::-1]

    assert ordered == sorted(backwards, key=order)
    assert ordered[:6] == [False, True, -1, 2, "a", "b"]


def test_function_gives_the_value_of_an_argument() -> None:
    read = parse("(2 :> 5 @@ 3 :> 6)")

    assert read[3] == 6
    with pytest.raises(KeyError):
        read[1]
