# ruff: noqa: N802  # the functions have the names of Z3's, so that a statement reads like one for Z3
"""
Formulas and numbers of Z3 as Python values, of which equal ones are one object.

The code of a specification is run again for every path, and makes the same terms each time. Here a term that exists is found in a
table, which takes a tenth of the time that Z3 needs to make it, and is handed to Z3 only if a question needs it. Sums and
comparisons have a normal form, and constants are calculated, so that many questions need no solver. A test compares all of this
with Z3's own simplifier.

The functions do what those of Z3 with the same names do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from math import gcd
from typing import Any, ClassVar, Final, Self

import z3  # type: ignore[import-untyped]  # it has no types

#: Where terms are made for Z3: the last one. What Z3 finds depends on what was made there before.
_context: Final[list[z3.Context]] = [z3.main_ctx()]


@contextmanager
def within(context: z3.Context) -> Iterator[None]:
    """Makes terms for Z3 in a context of Z3."""
    _context.append(context)
    try:
        yield
    finally:
        _context.pop()


class _MadeForZ3:
    """Something that Z3 gets when a question needs it."""

    __slots__ = ("_raw",)

    _raw: Any
    _make: Callable[[], Any]  #: how each kind of thing is made

    @property
    def raw(self) -> Any:
        """The same as Z3 has it."""
        if self._raw is None or self._raw.ctx is not _context[-1]:
            self._raw = self._make()
        return self._raw

    def forget(self) -> None:
        """Lets Z3 have it anew."""
        self._raw = None


class Sort(_MadeForZ3):
    """A set of values, such as the integers."""

    __slots__ = ("_how", "name")

    def __init__(self, name: str, how: Callable[[z3.Context], Any]) -> None:
        self.name = name
        self._how = how
        self._raw = None

    def _make(self) -> Any:
        return self._how(_context[-1])

    def __str__(self) -> str:
        return self.name


_INT: Final = Sort("Int", z3.IntSort)
_BOOL: Final = Sort("Bool", z3.BoolSort)
_SORTS: Final = {_INT.name: _INT, _BOOL.name: _BOOL}


def _sort(name: str, make: Callable[[z3.Context], Any]) -> Sort:
    if name not in _SORTS:
        _SORTS[name] = Sort(name, make)
    return _SORTS[name]


def IntSort() -> Sort:
    """Returns the integers."""
    return _INT


def BoolSort() -> Sort:
    """Returns the truth values."""
    return _BOOL


def DeclareSort(name: str) -> Sort:
    """Returns a set of which nothing is known."""
    return _sort(name, lambda context: z3.DeclareSort(name, context))


def BitVecSort(bits: int) -> Sort:
    """Returns the words of this many bits."""
    return _sort(f"BitVec {bits}", lambda context: z3.BitVecSort(bits, context))


class Function(_MadeForZ3):
    """A function of which nothing is known: from values of all but the last sort to one of the last."""

    known: ClassVar[dict[tuple[str, ...], Self]] = {}

    def __new__(cls, name: str, *sorts: Sort) -> Self:
        """Returns the function of this name and of these sorts; each is made once."""
        key = (name, *[sort.name for sort in sorts])
        if (found := cls.known.get(key)) is None:
            found = cls.known[key] = super().__new__(cls)
            found.name, found.key = name, key
            *found.arguments, found.result = sorts
            found._raw = None
        return found

    name: str
    key: tuple[str, ...]
    arguments: list[Sort]
    result: Sort

    def _make(self) -> Any:
        raw = [*(sort.raw for sort in self.arguments), self.result.raw]
        return z3.Function(self.name, *raw) if self.arguments else z3.Const(self.name, *raw)

    def __call__(self, *args: Any) -> Any:
        """Returns the value of the function for some arguments."""
        parts = tuple(_coerce(arg, sort) for arg, sort in zip(args, self.arguments, strict=True))
        return _term("app", self.key, parts, self.result, self)


class Term(_MadeForZ3):
    """A formula, a number, a word or a value of another sort. Equal terms are the same object."""

    __slots__ = ("_not", "_verdict", "args", "data", "function", "id", "op", "sort")

    def __init__(self, op: str, data: Any, args: tuple[Term, ...], sort: Sort, function: Any) -> None:
        self.op = op
        self.data = data
        self.args = args
        self.sort = sort
        self.function = function  #: an application's function, or what makes a word's raw term
        self.id = next(_numbers)
        self._raw = None
        self._not: Term | None = None
        self._verdict: bool | str | None = "unasked"

    def _make(self) -> Any:
        return _RAW[self.op](self)

    def __str__(self) -> str:
        return str(self.raw)

    __repr__ = __str__

    def __hash__(self) -> int:
        return self.id

    def __bool__(self) -> bool:
        return _decider[-1](self)

    def __eq__(self, other: object) -> Any:
        return False if other is None else _binary(_equal, self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else Not(_binary(_equal, self, other))

    def __le__(self, other: Any) -> Term:
        return _binary(_at_most, self, other)

    def __lt__(self, other: Any) -> Term:
        return Not(_binary(_at_most, other, self))

    def __ge__(self, other: Any) -> Term:
        return _binary(_at_most, other, self)

    def __gt__(self, other: Any) -> Term:
        return Not(_binary(_at_most, self, other))

    def __add__(self, other: Any) -> Term:
        return _binary(_plus, self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Term:
        return _binary(_minus, self, other)

    def __rsub__(self, other: Any) -> Term:
        return _binary(_minus, other, self)

    def __neg__(self) -> Any:
        return _add(_NOUGHT, self, -1)

    def __mul__(self, other: Any) -> Any:
        if self.sort is not _INT:
            return _word("mul", self, other)
        one, two = self, _coerce(other, _INT)
        if two.op == "int":
            return _add(_NOUGHT, one, two.data)
        if one.op == "int":
            return _add(_NOUGHT, two, one.data)
        return _term("mul", None, (one, two) if one.id < two.id else (two, one), _INT)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return _divide("div", operator.floordiv, self, _coerce(other, _INT))

    def __mod__(self, other: Any) -> Any:
        return _divide("mod", operator.mod, self, _coerce(other, _INT))

    def __xor__(self, other: Any) -> Term:
        return _word("xor", self, other)

    def __and__(self, other: Any) -> Term:
        return _word("and", self, other)

    def __lshift__(self, other: Any) -> Term:
        return _word("shift left", self, other)

    def as_long(self) -> int:
        """Returns the value of a number."""
        assert self.op in ("int", "word"), f"{self} has no value"
        return int(self.data[0] if self.op == "word" else self.data)


def _plain_truth(formula: Term) -> bool:
    """Returns the truth of a formula outside of a path: two different terms are not equal. Raises TypeError for any other."""
    if formula.op in ("bool", "equal", "nought"):
        return formula is _TRUE
    raise TypeError(f"{formula} is neither true nor false")


#: What decides about the truth of formulas; the last one does.
_decider: Final[list[Callable[[Term], bool]]] = [_plain_truth]


@contextmanager
def deciding(decide: Callable[[Term], bool] | None) -> Iterator[None]:
    """Lets a function decide about the truth of formulas within the context; None: as outside of every path."""
    _decider.append(decide or _plain_truth)
    try:
        yield
    finally:
        _decider.pop()


_numbers: Final = count()

#: All terms, by what they are made of.
_TERMS: Final[dict[tuple[Any, ...], Term]] = {}


def forget_terms() -> None:
    """Begins anew: what was made before has no influence on the order of what is made from now on, and takes no memory."""
    for made in (*_TERMS.values(), *_SORTS.values(), *Function.known.values()):
        made.forget()  # or the whole context stays in memory
    for table in (_TERMS, _BINARY):
        table.clear()
    for term in (_TRUE, _FALSE, _NOUGHT):
        _TERMS[term.op, term.data] = term


#: Terms of two others, by what makes them.
_BINARY: Final[dict[tuple[Any, ...], Term]] = {}


def _binary(make: Callable[[Any, Any], Term], one: Any, other: Any) -> Term:
    """Returns a term of two others, which may be numbers; it is made once."""
    key = (make, one.id if type(one) is Term else (type(one), one), other.id if type(other) is Term else (type(other), other))
    found = _BINARY.get(key)
    if found is None:
        found = _BINARY[key] = make(one, other)
    return found


def _plus(one: Any, other: Any) -> Any:
    one, other = _together(one, other)
    return _add(one, other) if one.sort is _INT else _word("add", one, other)


def _minus(one: Any, other: Any) -> Any:
    one, other = _together(one, other)
    return _add(one, other, -1) if one.sort is _INT else _word("sub", one, other)


def _at_most(one: Any, other: Any) -> Any:
    return _at_least(_add(_coerce(other, _INT), _coerce(one, _INT), -1))


def _term(op: str, data: Any, args: tuple[Term, ...], sort: Sort, function: Any = None) -> Term:
    key = (op, data, *[arg.id for arg in args])
    found = _TERMS.get(key)
    if found is None:
        found = _TERMS[key] = Term(op, data, args, sort, function)
    return found


# -- values and symbols ----------------------------------------------------------------------------------------------


def IntVal(value: int) -> Any:
    """Returns a number."""
    return _term("int", int(value), (), _INT)


def BoolVal(val: bool) -> Any:  # as of Z3
    """Returns a truth value."""
    return _TRUE if val else _FALSE


def BitVecVal(value: int, bits: int) -> Term:
    """Returns a word."""
    return _term("word", (value % 2**bits, bits), (), BitVecSort(bits))


_TRUE: Final = _term("bool", True, (), _BOOL)  # a key
_FALSE: Final = _term("bool", False, (), _BOOL)  # a key
_NOUGHT: Final = IntVal(0)


def Const(name: str, sort: Sort) -> Any:
    """Returns a symbol."""
    return Function(name, sort)()


def Consts(names: str, sort: Sort) -> list[Term]:
    """Returns a symbol for each of these names."""
    return [Const(name, sort) for name in names.split()]


def Int(name: str) -> Any:
    """Returns a symbol for a number."""
    return Const(name, _INT)


def Bool(name: str) -> Any:
    """Returns a symbol for a truth value."""
    return Const(name, _BOOL)


def _coerce(value: Any, sort: Sort) -> Term:
    """Returns a term of a sort. Raises TypeError if this is none."""
    if isinstance(value, Term):
        if value.sort is sort:
            return value
        if value.sort is _BOOL and sort is _INT:  # as in Python, where a bool is a number
            return (
                _term("if", None, (value, _term("int", 1, (), _INT), _NOUGHT), _INT) if value.op != "bool" else IntVal(value.data)
            )
    elif isinstance(value, int):
        if sort is _INT:
            return _term("int", int(value), (), _INT)
        if sort is _BOOL and isinstance(value, bool):
            return _TRUE if value else _FALSE
        if sort.name.startswith("BitVec"):
            return BitVecVal(value, sort.raw.size())
    raise TypeError(f"{value!r} is no term of the sort {sort}")


def _together(one: Any, other: Any) -> tuple[Term, Term]:
    """Returns two terms of one sort."""
    sort = one.sort if isinstance(one, Term) else other.sort if isinstance(other, Term) else None
    if sort is None:
        sort = _BOOL if isinstance(one, bool) else _INT
    return _coerce(one, sort), _coerce(other, sort)


# -- numbers ----------------------------------------------------------------------------------------------------------


def _add(one: Term, other: Term, times: int = 1, more: int = 0) -> Any:
    """Returns `one + times * other + more`, with each summand once, in the order of their numbers."""
    constant = more
    summands: dict[int, tuple[Term, int]] = {}
    for term, factor in ((one, 1), (other, times)):
        if term.op == "int":
            constant += factor * term.data
        elif term.op == "sum":
            constant += factor * term.data[0]
            for coefficient, part in zip(term.data[1], term.args, strict=True):
                summands[part.id] = (part, summands.get(part.id, (part, 0))[1] + factor * coefficient)
        else:
            summands[term.id] = (term, summands.get(term.id, (term, 0))[1] + factor)
    return _sum(constant, [summands[key] for key in sorted(summands)])


def _sum(constant: int, summands: Iterable[tuple[Term, int]]) -> Any:
    left = [(part, coefficient) for part, coefficient in summands if coefficient]
    if not left:
        return IntVal(constant)
    if len(left) == 1 and left[0][1] == 1 and not constant:
        return left[0][0]
    return _term("sum", (constant, tuple(one for _, one in left)), tuple(part for part, _ in left), _INT)


def Sum(summands: Iterable[Any]) -> Any:
    """Returns the sum of numbers."""
    found = _NOUGHT
    for one in summands:
        found = _add(found, _coerce(one, _INT))
    return found


def _divide(op: str, calculate: Callable[[int, int], int], one: Term, other: Term) -> Any:
    if one.op == other.op == "int" and other.data > 0:
        return IntVal(calculate(one.data, other.data))
    return _term(op, None, (one, other), _INT)


def _at_least(number: Term) -> Any:
    """States that a number is at least 0."""
    if number.op == "int":
        return BoolVal(number.data >= 0)
    if number.op == "sum":
        divisor = gcd(*number.data[1])
        if divisor > 1:
            parts = zip(number.args, (one // divisor for one in number.data[1]), strict=True)
            number = _sum(number.data[0] // divisor, parts)
    return _term("at least", None, (number,), _BOOL)


def _equal(one: Any, other: Any) -> Any:
    one, other = _together(one, other)
    if one is other:
        return _TRUE
    if one.sort is _BOOL:
        return _same_truth(one, other)
    for choice, value in ((one, other), (other, one)):
        if choice.op == "if" and _is_value(value) and any(map(_is_value, choice.args[1:])):
            return If(choice.args[0], _equal(choice.args[1], value), _equal(choice.args[2], value))
    if one.sort is _INT:
        return _is_nought(_add(one, other, -1), one, other)
    if one.op == other.op == "word":
        return _FALSE
    return _term("equal", None, (one, other) if one.id < other.id else (other, one), _BOOL)


def _is_value(term: Term) -> bool:
    return term.op in ("int", "bool", "word")


def _is_nought(difference: Term, one: Term, other: Term) -> Any:
    """States that two numbers with this difference are equal."""
    if difference.op == "int":
        return BoolVal(difference.data == 0)
    if difference.op == "sum":
        constant, coefficients = difference.data
        divisor = gcd(*coefficients)
        if constant % divisor:
            return _FALSE
        sign = divisor if coefficients[0] > 0 else -divisor
        if sign != 1:
            difference = _sum(constant // sign, zip(difference.args, (part // sign for part in coefficients), strict=True))
        if len(coefficients) == 1 and difference.op == "sum":
            one, other = difference.args[0], IntVal(-difference.data[0])
            if one.op == "if" and any(map(_is_value, one.args[1:])):
                return _equal(one, other)
    return _term("nought", None, (difference,), _BOOL)


def _same_truth(one: Term, other: Term) -> Any:
    if one is _FALSE or other is _FALSE:
        return Not(other if one is _FALSE else one)
    if one is _TRUE or other is _TRUE:
        return other if one is _TRUE else one
    if Not(one) is other:
        return _FALSE
    return _term("equal", None, (one, other) if one.id < other.id else (other, one), _BOOL)


def Distinct(*terms: Any) -> Term:
    """States that no two of these are equal."""
    every = [_coerce(term, terms[0].sort) for term in terms]
    return And(*(one != other for place, one in enumerate(every) for other in every[:place]))


# -- formulas ---------------------------------------------------------------------------------------------------------


def _joined(op: str, parts: tuple[Any, ...], neutral: Term, ends: Term) -> Term:
    """Returns a conjunction or a disjunction; each part is in it once."""
    found: dict[int, Term] = {}
    for part in parts:
        term = part if type(part) is Term and part.sort is _BOOL else _coerce(part, _BOOL)
        if term is ends:
            return ends
        if term.op == op:
            for inner in term.args:
                found[inner.id] = inner
        elif term is not neutral:
            found[term.id] = term
    if not found:
        return neutral
    terms = tuple(found.values())
    if len(terms) == 1:
        return terms[0]
    if any(term.op == "not" and term.args[0].id in found for term in terms):
        return ends
    return _term(op, None, terms, _BOOL)


def And(*parts: Any) -> Term:
    """States that all of these hold."""
    return _joined("and", parts, _TRUE, _FALSE)


def Or(*parts: Any) -> Term:
    """States that one of these holds at least."""
    return _joined("or", parts, _FALSE, _TRUE)


def Not(part: Any) -> Term:
    """States that this does not hold."""
    term = part if type(part) is Term and part.sort is _BOOL else _coerce(part, _BOOL)
    if term._not is None:  # noqa: SLF001  # a memo
        term._not = _opposite(term)  # noqa: SLF001
    return term._not  # noqa: SLF001


def _opposite(term: Term) -> Any:
    if term.op == "bool":
        return BoolVal(not term.data)
    if term.op == "not":
        return term.args[0]
    if term.op == "at least":
        return _at_least(_add(IntVal(-1), term.args[0], -1))
    return _term("not", None, (term,), _BOOL)


def Implies(premise: Any, conclusion: Any) -> Term:
    """States that one thing holds if another does."""
    one, other = _coerce(premise, _BOOL), _coerce(conclusion, _BOOL)
    if one is _FALSE or other is _TRUE or one is other:
        return _TRUE
    if one is _TRUE:
        return other
    return Not(one) if other is _FALSE else _term("implies", None, (one, other), _BOOL)


def Xor(one: Any, other: Any) -> Term:
    """States that one of two things holds, and not both."""
    return Not(_same_truth(_coerce(one, _BOOL), _coerce(other, _BOOL)))


def If(condition: Any, one: Any, other: Any) -> Any:
    """Returns one of two terms, by a condition."""
    test: Any = _coerce(condition, _BOOL)
    first, second = _together(one, other)
    if test.op == "bool":
        return first if test.data else second
    if first is second:
        return first
    if test.op == "not":
        test, first, second = test.args[0], second, first
    if first.sort is _BOOL and (first.op == "bool" or second.op == "bool"):
        if first.op == "bool":
            return Or(test, second) if first.data else And(Not(test), second)
        return Or(Not(test), first) if second.data else And(test, first)
    return _term("if", None, (test, first, second), first.sort)


def ForAll(symbols: Iterable[Term], formula: Term) -> Term:
    """States that a formula holds for all values of some symbols."""
    return _term("for all", None, (*symbols, formula), _BOOL)


def Exists(symbols: Iterable[Term], formula: Term) -> Term:
    """States that a formula holds for some values of some symbols."""
    return _term("exists", None, (*symbols, formula), _BOOL)


# -- words ------------------------------------------------------------------------------------------------------------


_WORDS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "xor": operator.xor,
    "and": operator.and_,
    "shift left": operator.lshift,
    "shift right": z3.LShR,
    "<": z3.ULT,
    "<=": z3.ULE,
    ">": z3.UGT,
    ">=": z3.UGE,
}


def _word(name: str, one: Any, other: Any, sort: Sort | None = None) -> Term:
    parts = _together(one, other)
    return _term("of words", name, parts, sort or parts[0].sort, _WORDS[name])


def _of_words(name: str, sort: Sort | None = None) -> Callable[[Any, Any], Term]:
    return lambda one, other: _word(name, one, other, sort)


#: Shifts a word to the right.
LShR: Final = _of_words("shift right")

#: Compare words as numbers.
ULT, ULE, UGT, UGE = (_of_words(name, _BOOL) for name in ("<", "<=", ">", ">="))


def Extract(high: int, low: int, word: Term) -> Term:
    """Returns some bits of a word."""
    return _term("of words", ("extract", high, low), (word,), BitVecSort(high - low + 1), lambda raw: z3.Extract(high, low, raw))


def ZeroExt(bits: int, word: Term) -> Term:
    """Returns a word with more bits."""
    size = word.sort.raw.size() + bits
    return _term("of words", ("extend", bits), (word,), BitVecSort(size), lambda raw: z3.ZeroExt(bits, raw))


def Concat(*words: Term) -> Term:
    """Returns words one after the other."""
    return _term("of words", "concat", words, BitVecSort(sum(word.sort.raw.size() for word in words)), z3.Concat)


# -- Z3 ---------------------------------------------------------------------------------------------------------------


def _raw_sides(number: Term) -> tuple[Any, Any]:
    """Returns the summands with a positive sign, and the others without their sign."""
    constant, coefficients = number.data if number.op == "sum" else (0, (1,))
    parts = number.args if number.op == "sum" else (number,)
    sides: tuple[list[Any], list[Any]] = ([], [])
    for coefficient, part in zip(coefficients, parts, strict=True):
        factor = abs(coefficient)
        sides[coefficient < 0].append(part.raw if factor == 1 else factor * part.raw)
    if constant or not all(sides):
        sides[constant < 0].append(z3.IntVal(abs(constant), _context[-1]))
    nought = [z3.IntVal(0, _context[-1])]
    one, other = (side[0] if len(side) == 1 else z3.Sum(side) for side in (side or nought for side in sides))
    return one, other


def _raw_sum(term: Term) -> Any:
    constant, coefficients = term.data
    parts = [
        part.raw if coefficient == 1 else coefficient * part.raw
        for coefficient, part in zip(coefficients, term.args, strict=True)
    ]
    parts = [*parts, z3.IntVal(constant, _context[-1])] if constant else parts
    return parts[0] if len(parts) == 1 else z3.Sum(parts)


def _raw_of_parts(make: Callable[..., Any]) -> Callable[[Term], Any]:
    return lambda term: make(*[part.raw for part in term.args])


_RAW: Final[Mapping[str, Callable[[Term], Any]]] = {
    "int": lambda term: z3.IntVal(term.data, _context[-1]),
    "bool": lambda term: z3.BoolVal(term.data, _context[-1]),
    "word": lambda term: z3.BitVecVal(*term.data, _context[-1]),
    "app": lambda term: term.function.raw(*[part.raw for part in term.args]) if term.args else term.function.raw,
    "value": lambda term: _translated(term.function, _context[-1]),
    "sum": _raw_sum,
    "at least": lambda term: operator.ge(*_raw_sides(term.args[0])),
    "nought": lambda term: operator.eq(*_raw_sides(term.args[0])),
    "mul": _raw_of_parts(operator.mul),
    "div": _raw_of_parts(operator.truediv),
    "mod": _raw_of_parts(operator.mod),
    "equal": _raw_of_parts(operator.eq),
    "and": _raw_of_parts(z3.And),
    "or": _raw_of_parts(z3.Or),
    "not": _raw_of_parts(z3.Not),
    "implies": _raw_of_parts(z3.Implies),
    "if": _raw_of_parts(z3.If),
    "for all": lambda term: z3.ForAll([part.raw for part in term.args[:-1]], term.args[-1].raw),
    "exists": lambda term: z3.Exists([part.raw for part in term.args[:-1]], term.args[-1].raw),
    "of words": lambda term: term.function(*[part.raw for part in term.args]),
}


def _translated(raw: Any, context: z3.Context) -> Any:
    return raw if raw.ctx is context else raw.translate(context)


def _sort_of_raw(raw: Any) -> Sort:
    return _sort(str(raw), partial(_translated, raw))


def of_raw(raw: Any) -> Any:
    """Returns a value of Z3 as a term."""
    if z3.is_int_value(raw):
        return IntVal(raw.as_long())
    if z3.is_true(raw) or z3.is_false(raw):
        return BoolVal(z3.is_true(raw))
    if z3.is_bv_value(raw):
        return BitVecVal(raw.as_long(), raw.size())
    sort = _sort_of_raw(raw.sort())
    return _term("value", (str(raw), sort.name), (), sort, raw)


def simplify(term: Term) -> Any:
    """Returns the value of a term, if that follows from the term alone; else the term."""
    if term.op in ("int", "bool", "word", "app"):
        return term
    raw = z3.simplify(term.raw)
    return of_raw(raw) if z3.is_int_value(raw) or z3.is_true(raw) or z3.is_false(raw) or z3.is_bv_value(raw) else term


def verdict(term: Term) -> bool | None:
    """Returns the truth of a formula, if that follows from the formula alone."""
    if term._verdict == "unasked":  # noqa: SLF001  # a memo
        raw = term._raw = z3.simplify(term.raw)  # noqa: SLF001  # the same formula, in fewer words
        term._verdict = z3.is_true(raw) if z3.is_true(raw) or z3.is_false(raw) else None  # noqa: SLF001
    return term._verdict  # type: ignore[return-value]  # noqa: SLF001


def is_true(term: Term) -> bool:
    """Whether this is the formula that always holds."""
    return term is _TRUE


def is_false(term: Term) -> bool:
    """Whether this is the formula that never holds."""
    return term is _FALSE


def is_expr(thing: Any) -> bool:
    """Whether this is a term."""
    return isinstance(thing, Term)


def is_int(thing: Any) -> bool:
    """Whether this is a number on terms."""
    return isinstance(thing, Term) and thing.sort is _INT


def is_bool(thing: Any) -> bool:
    """Whether this is a formula."""
    return isinstance(thing, Term) and thing.sort is _BOOL


def is_int_value(thing: Any) -> bool:
    """Whether this is a known number."""
    return isinstance(thing, Term) and thing.op == "int"


class Model:
    """Values of all symbols, for which formulas are true."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def eval(self, term: Term) -> Term:
        """Returns the value of a term."""
        with within(self.raw.ctx):
            found: Term = of_raw(self.raw.eval(term.raw, model_completion=True))
        return found

    def holds(self, formula: Term) -> bool:
        """Whether a formula is true."""
        if formula is _TRUE:
            return True
        with within(self.raw.ctx):
            return bool(z3.is_true(self.raw.eval(formula.raw, model_completion=True)))

    def functions(self) -> Iterator[tuple[Function, list[list[Term]]]]:
        """Yields the functions that the model has values of, each with the arguments for which it has them."""
        for declared in self.raw.decls():
            sorts = [*map(declared.domain, range(declared.arity())), declared.range()]
            table = self.raw[declared].as_list()[:-1] if declared.arity() else []
            arguments = [[of_raw(part) for part in entry[:-1]] for entry in table]
            yield Function(declared.name(), *map(_sort_of_raw, sorts)), arguments


def rebuild(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """Returns a term in which parts are replaced by others; a part for which there is None by what its own parts become."""
    found = change(term)
    if found is not None or not term.args:
        return term if found is None else found
    if term.op in ("for all", "exists"):
        bound = {*term.args[:-1]}
        parts = [*term.args[:-1], rebuild(term.args[-1], lambda part: part if part in bound else change(part))]
    else:
        parts = [rebuild(part, change) for part in term.args]
    if all(part is before for part, before in zip(parts, term.args, strict=True)):
        return term
    return _BUILD[term.op](term, parts)


_BUILD: Final[Mapping[str, Callable[[Term, list[Term]], Term]]] = {
    "app": lambda term, parts: term.function(*parts),
    "sum": lambda term, parts: term.data[0] + Sum(part * one for one, part in zip(term.data[1], parts, strict=True)),
    "at least": lambda _, parts: _at_least(*parts),
    "nought": lambda _, parts: _equal(parts[0], 0),
    "mul": lambda _, parts: parts[0] * parts[1],
    "div": lambda _, parts: parts[0] / parts[1],
    "mod": lambda _, parts: parts[0] % parts[1],
    "equal": lambda _, parts: _equal(*parts),
    "and": lambda _, parts: And(*parts),
    "or": lambda _, parts: Or(*parts),
    "not": lambda _, parts: Not(*parts),
    "implies": lambda _, parts: Implies(*parts),
    "if": lambda _, parts: If(*parts),
    "for all": lambda _, parts: ForAll(parts[:-1], parts[-1]),
    "exists": lambda _, parts: Exists(parts[:-1], parts[-1]),
    "of words": lambda term, parts: _term("of words", term.data, tuple(parts), term.sort, term.function),
}
