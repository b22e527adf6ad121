"""Terms: each means what Z3 makes of the same calls, and equal ones are the same object."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs import smt

WIDTH: Final = 5

COMPARE: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
WORDS: Final = (operator.add, operator.sub, operator.mul, operator.xor, operator.and_, operator.lshift)


class Trees:
    """Random expressions, made by the functions of a module: ours or Z3's. The same seed gives the same ones."""

    def __init__(self, module: Any, seed: int) -> None:
        self.m = module
        self.random = Random(seed)
        of_numbers = (module.IntSort(), module.IntSort())
        self.function = module.Function("f", *of_numbers, module.IntSort())
        self.predicate = module.Function("p", *of_numbers, module.BoolSort())

    def number(self, depth: int) -> Any:
        """Returns a number."""
        if depth == 0:
            return self.one_of(lambda: self.m.IntVal(self.random.randint(-3, 3)), lambda: self.m.Int(self.random.choice("ab")))
        one, other, small = self.number(depth - 1), self.number(depth - 1), self.random.randint(-3, 3)
        return self.one_of(
            *(lambda: one + other, lambda: one - other, lambda: -one, lambda: one * small, lambda: small - one),
            *(lambda: one / 3, lambda: one % 3, lambda: one * other, lambda: self.function(one, other)),
            *(lambda: self.m.If(self.formula(depth - 1), one, other), lambda: self.m.Sum([one, other, one])),
        )

    def formula(self, depth: int) -> Any:
        """Returns a formula."""
        if depth == 0:
            return self.one_of(lambda: self.m.Bool(self.random.choice("xy")), lambda: self.m.BoolVal(self.random.random() < 0.5))
        compare = self.random.choice(COMPARE)
        if self.random.random() < 0.5:
            one, other = self.number(depth - 1), self.number(depth - 1)
            return self.one_of(
                *(lambda: compare(one, other), lambda: compare(one, 2), lambda: compare(-2, other)),
                *(lambda: self.predicate(one, other), lambda: self.m.Distinct(one, other, one + 1)),
            )
        parts = [self.formula(depth - 1) for _ in range(3)]
        combine = self.random.choice((self.m.And, self.m.Or))
        return self.one_of(
            *(lambda: combine(*parts), lambda: self.m.Not(parts[0]), lambda: self.m.Implies(*parts[:2])),
            *(lambda: self.m.Xor(*parts[:2]), lambda: parts[0] == parts[1], lambda: self.m.If(*parts)),
            lambda: self.m.ForAll([self.m.Int("a")], parts[0]) if depth == 1 else combine(*parts[:2]),
        )

    def word(self, depth: int) -> Any:
        """Returns a word."""
        if depth == 0:
            symbol = self.m.Const(self.random.choice("vw"), self.m.BitVecSort(WIDTH))
            return self.one_of(lambda: symbol, lambda: self.m.BitVecVal(self.random.randrange(2**WIDTH), WIDTH))
        one, other = self.word(depth - 1), self.word(depth - 1)
        combine = self.random.choice((*WORDS, self.m.LShR))
        compare = self.random.choice((self.m.ULT, self.m.ULE, self.m.UGT, self.m.UGE, operator.eq))
        return self.one_of(
            *(lambda: combine(one, other), lambda: self.m.If(compare(one, other), one, other)),
            lambda: self.m.ZeroExt(2, self.m.Extract(WIDTH - 3, 0, one)),
            lambda: self.m.Concat(self.m.Extract(1, 0, one), self.m.Extract(WIDTH - 1, 2, other)),
        )

    def one_of(self, *makers: Callable[[], Any]) -> Any:
        """Returns one of these."""
        return self.random.choice(makers)()


def are_equal(one: Any, other: Any) -> bool:
    """Whether two expressions of Z3 have the same value, whatever their symbols are."""
    solver = z3.Solver()
    solver.set("timeout", 10_000)
    solver.add(one != other)
    return bool(solver.check() == z3.unsat)


@pytest.mark.parametrize("kind", ["number", "formula", "word"])
def test_terms_mean_what_z3_makes_of_the_same_calls(kind: str) -> None:
    """Whatever is calculated, joined or left out on the way."""
    for seed in range(150):
        ours, theirs = (getattr(Trees(module, seed), kind)(3) for module in (smt, z3))

        assert are_equal(ours.raw, theirs), (seed, ours, theirs)


def test_equal_terms_are_the_same() -> None:
    """Made again, and also as another sum or comparison of the same numbers."""
    a, b = smt.Int("a"), smt.Int("b")

    assert (a + b - a) is b
    assert (a + 1 > b) is (b <= a)
    assert smt.Not(a < b) is (a >= b)
    assert (2 * a == 2 * b) is (b == a)
    assert smt.If(a < b, 1, 2) + 0 is smt.If(smt.Not(a >= b), 1, 2)
    assert smt.And(a < b, True, smt.And(b > a)) is (a < b)  # a part
    assert (smt.If(a < b, 1, 2) == 2) is (a >= b)
    assert smt.is_false(smt.And(a < b, b <= a) if smt.Not(a < b) is (b <= a) else smt.BoolVal(val=False)) is False


@pytest.mark.parametrize("seed", range(40))
def test_a_term_is_rebuilt_with_other_parts(seed: int) -> None:
    """As if it had been made of them."""
    term = Trees(smt, seed).formula(3)
    a, b = smt.Int("a"), smt.Int("b")

    found = smt.rebuild(term, {a: b + 1}.get)

    expected = z3.substitute(term.raw, (z3.Int("a"), z3.Int("b") + 1))
    assert are_equal(found.raw, expected)
    assert smt.rebuild(term, {smt.Int("not there"): b}.get) is term


def test_a_bound_symbol_is_not_replaced() -> None:
    a, b = smt.Int("a"), smt.Int("b")

    assert smt.rebuild(smt.ForAll([a], a < b), {a: b + 1, b: smt.IntVal(2)}.get) is smt.ForAll([a], a < 2)


def test_a_term_of_another_sort_is_refused() -> None:
    """Nothing is taken for a number that is none."""
    for wrong in (smt.Const("k", smt.DeclareSort("Kind")), "1", None, 1.0):
        with pytest.raises(TypeError, match="no term of the sort"):
            smt.And(smt.Int("a") + wrong > 0)


def test_values_of_a_model_are_terms() -> None:
    """Numbers, truths, words and values of sorts of which nothing is known."""
    kind = smt.DeclareSort("Kind")
    terms = [smt.Int("a"), smt.Bool("x"), smt.Const("v", smt.BitVecSort(WIDTH)), smt.Const("k", kind)]
    of = smt.Function("g", smt.IntSort(), kind, smt.IntSort())
    solver = z3.Solver()
    solver.add((of(terms[0], terms[3]) == terms[0] + 7).raw, terms[1].raw, (terms[2] == 3).raw, (terms[0] == 4).raw)
    assert solver.check() == z3.sat

    model = smt.Model(solver.model())

    number, truth, word, value = map(model.eval, terms)
    assert (number, truth, word) == (smt.IntVal(4), smt.BoolVal(val=True), smt.BitVecVal(3, WIDTH))
    assert value.sort is kind
    assert model.eval(of(4, value)).as_long() == 11
    assert model.holds(of(number, value) > 10)
    assert {function.name for function, _ in model.functions()} >= {"a", "g"}


def test_a_model_has_the_arguments_for_which_it_knows_a_function() -> None:
    of = smt.Function("h", smt.IntSort(), smt.IntSort())
    solver = z3.Solver()
    solver.add(*((of(number) == value).raw for number, value in ((1, 10), (2, 20), (3, 30))))
    assert solver.check() == z3.sat

    entries = {function.name: arguments for function, arguments in smt.Model(solver.model()).functions()}["h"]

    assert len(entries) >= 2  # Z3 may take the value of one for that of all others
