"""Overrides: which references they reach, and that everything is as before afterwards."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from peerproof.spec import wendy
from peerproof.spec.overrides import names_in, overridden, overriding
from peerproof.spec.wendy import codec

SOURCES = {
    "sample": "",
    "sample.defining": """
LIMIT = 3
def twice(number):
    return 2 * number
def limited(numbers):
    return len(numbers) <= LIMIT
class Scale:
    factor = 10
    def scaled(self, number):
        return twice(number) * self.factor
    @staticmethod
    def plain(number):
        return number
""",
    "sample.importing": """
from sample.defining import LIMIT, Scale, twice as doubled
from bisect import bisect_left
TABLE = {"twice": doubled}
def taken(number):
    return doubled(number) + 1
""",
    "sample.properties": "from sample.defining import twice",
    "sample.model": "",
    "sample.model.variants": "from sample.defining import twice\ndef wrong(number):\n    return twice(number) + 100\n",
}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A protocol with a model."""
    for name, source in SOURCES.items():
        module = ModuleType(name)
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)
        exec(source, vars(module))
    return {name: sys.modules[name] for name in SOURCES}


@pytest.fixture(autouse=True)
def as_before(modules: dict[str, Any]) -> Iterator[None]:
    """After each test every module has what it had."""
    before = {name: dict(vars(module)) for name, module in modules.items()}
    scale = dict(vars(modules["sample.defining"].Scale))
    yield
    assert {name: vars(module) for name, module in modules.items()} == before
    assert dict(vars(modules["sample.defining"].Scale)) == scale


def ten_times(number: int) -> int:
    return 10 * number


def test_a_function_where_it_is_defined_is_overridden_wherever_it_is_imported(modules: dict[str, Any]) -> None:
    """Also as another name, and in a method that looks it up; not in a table."""
    with overriding({"sample.defining.twice": ten_times}):
        assert modules["sample.defining"].twice(1) == 10
        assert modules["sample.defining"].Scale().scaled(1) == 100
        assert modules["sample.importing"].taken(1) == 11
        assert modules["sample.importing"].TABLE["twice"](1) == 2


def test_what_judges_keeps_its_references(modules: dict[str, Any]) -> None:
    """So an override may call what it stands for."""
    with overriding({"sample.defining.twice": modules["sample.model.variants"].wrong}):
        assert modules["sample.importing"].taken(1) == 103
        assert modules["sample.properties"].twice(1) == 2


def test_an_imported_name_is_overridden_in_its_module_alone(modules: dict[str, Any]) -> None:
    with overriding({"sample.importing.doubled": ten_times, "sample.importing.bisect_left": min}):
        assert modules["sample.importing"].taken(1) == 11
        assert modules["sample.importing"].bisect_left is min
        assert modules["sample.defining"].twice(1) == 2


def test_a_constant_is_overridden_in_its_module_alone(modules: dict[str, Any]) -> None:
    with overriding(names_in(modules["sample.defining"], LIMIT=1)):
        assert not modules["sample.defining"].limited("ab")
        assert modules["sample.importing"].LIMIT == 3


def test_a_class_and_what_is_in_it_are_overridden(modules: dict[str, Any]) -> None:
    scale = modules["sample.defining"].Scale
    with overriding(names_in(scale, factor=1, scaled=lambda self, number: number + self.factor, plain=staticmethod(ten_times))):
        assert (scale().scaled(1), scale.plain(1)) == (2, 10)
    with overriding({"sample.defining.Scale": dict}):
        assert modules["sample.importing"].Scale is dict
    assert isinstance(vars(scale)["plain"], staticmethod)


def test_a_builtin_is_overridden_in_one_module(modules: dict[str, Any]) -> None:
    with overriding(names_in(modules["sample.defining"], len=lambda _: 0)):
        assert modules["sample.defining"].limited("abcd")
    assert "len" not in vars(modules["sample.defining"])


def test_of_two_overrides_of_one_reference_the_later_one_counts(modules: dict[str, Any]) -> None:
    original = modules["sample.defining"].twice
    with overriding({"sample.defining.twice": ten_times, "sample.importing.doubled": original}):
        assert modules["sample.defining"].twice(1) == 10
        assert modules["sample.importing"].taken(1) == 3


def test_the_innermost_override_counts_and_the_outer_one_is_there_again(modules: dict[str, Any]) -> None:
    """The inner one reaches the same references, although something else is there."""
    taken = modules["sample.importing"].taken
    outer = overriding({"sample.defining.twice": ten_times})
    with outer:
        with overriding({"sample.defining.twice": lambda number: 100 * number}):
            assert taken(1) == 101
            with outer:
                assert taken(1) == 11
            assert taken(1) == 101
        assert taken(1) == 11
    with outer:
        assert taken(2) == 21


def test_contexts_may_be_left_in_another_order_than_they_were_entered(modules: dict[str, Any]) -> None:
    """As by a thread that hangs, is given up, and goes on."""
    one, other = overriding({"sample.defining.twice": ten_times}), overriding({"sample.defining.LIMIT": 1})
    one.__enter__()
    other.__enter__()
    one.__exit__()
    assert (modules["sample.defining"].twice(1), modules["sample.defining"].LIMIT) == (2, 1)
    other.__exit__()


def test_contexts_of_one_place_may_be_left_in_another_order_than_they_were_entered(modules: dict[str, Any]) -> None:
    """The later one's override counts until it is left, and nothing of the first one comes back then."""
    taken = modules["sample.importing"].taken
    contexts = [overriding({"sample.defining.twice": lambda number, factor=factor: factor * number}) for factor in (10, 20, 30)]
    for context in contexts:
        context.__enter__()
    first, second, third = contexts

    first.__exit__()
    assert taken(1) == 31
    third.__exit__()
    assert taken(1) == 21
    second.__exit__()
    assert taken(1) == 3


def test_caches_are_there_again_after_contexts_that_overlapped() -> None:
    """All contexts take the same caches off: the second one found them gone."""
    cached = codec._node_text
    one, other = overriding(names_in(codec, quote=str)), overriding(names_in(codec, MOST_BYTES=1))
    one.__enter__()
    other.__enter__()
    one.__exit__()
    assert codec._node_text is not cached, "an override is in force"
    other.__exit__()

    assert codec._node_text is cached


def test_after_an_exception_everything_is_as_before() -> None:
    """The fixture looks."""
    with pytest.raises(ZeroDivisionError), overriding({"sample.defining.twice": ten_times}):
        raise ZeroDivisionError


def test_a_function_runs_with_overrides_in_force(modules: dict[str, Any]) -> None:
    taken = modules["sample.importing"].taken
    other = overridden(taken, {"sample.defining.twice": ten_times})

    assert [other(1), taken(1), other(number=2)] == [11, 3, 21]
    assert overridden(taken, {}) is taken


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("sample.defining.thrice", "sample.defining has no 'thrice'"),
        ("sample.defining.Scale.thrice", "sample.defining.Scale has no 'thrice'"),
        ("sample.defining.Scale.len", "sample.defining.Scale has no 'len'"),
        ("sample.missing.twice", "module 'sample' has no attribute 'missing'"),
        ("missing.twice", "No module named 'missing'"),
        ("sample.defining.twice.inner", "sample.defining.twice is neither a module nor a class"),
        ("twice", ""),
    ],
)
def test_a_place_that_does_not_exist_is_an_error(place: str, why: str) -> None:
    """And nothing is overridden."""
    with (
        pytest.raises(LookupError, match=re.escape(f"there is no {place} to override: {why}")),
        overriding({"sample.defining.twice": ten_times, place: ten_times}),
    ):
        raise AssertionError


def test_functions_of_a_protocol_are_overridden_in_protocols_that_import_them() -> None:
    """Peter's overlay asks for Wendy's next hop; what is promised of Peter is judged with the right one."""
    from peerproof.spec.peter import overlay, properties
    from peerproof.spec.wendy import routing

    before = routing.next_hop
    with overriding(names_in(routing, next_hop=ten_times)):
        assert vars(overlay)["next_hop"] is ten_times
        assert vars(properties)["next_hop"] is before


def test_nothing_that_an_override_did_is_remembered() -> None:
    node = wendy.Node(wendy.Id(7), "10.0.0.1", "10.0.0.1", 8080, "remembered")
    before = codec._node_text(node)

    with overriding(names_in(codec, quote=lambda text: f'"{text.upper()}"')):
        assert "REMEMBERED" in codec._node_text(node)
        other = codec._node_text(node._replace(region="another"))

    assert codec._node_text(node) == before
    assert codec._node_text(node._replace(region="another")) != other
