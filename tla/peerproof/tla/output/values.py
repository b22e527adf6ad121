r"""
Parsing of TLA+ values, as TLC prints them, into Python values in a normal form.

TLC prints the same value in several ways: a function on 1..n as a tuple, one on strings as a record, an empty one as `<<>>` or
`<< >>`, a set of numbers as `1..3`. The normal form is unique:

- integers, booleans and strings are `int`, `bool` and `str`; a model value is a `ModelValue`;
- a set is a `frozenset`;
- a function on 1..n, or the empty one, is a `tuple` of its values;
- any other function, and a record, is a `Function`: pairs of argument and value, in one order.

>>> parse('(2 :> [version |-> 1, pairs |-> {<<"a", "x", 1>>}])')
Function(rows=((2, Function(rows=(('pairs', frozenset({('a', 'x', 1)})), ('version', 1)))),))
>>> parse("(1 :> TRUE @@ 2 :> FALSE)") == parse("<<TRUE, FALSE>>")
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

Value: TypeAlias = Any  # int | bool | str | ModelValue | frozenset | tuple | Function, nested


class NotAValue(ValueError):
    """The text is not a value as TLC prints it."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        around = text[max(0, at - 20) : at + 20]
        super().__init__(f"{problem} at character {at}, near {around!r}")
        self.at = at


class ModelValue(str):
    """A model value, which is different from the string with the same characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelValue) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("ModelValue", str(self)))


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is not a tuple: its rows, sorted by argument."""

    rows: tuple[tuple[Value, Value], ...]

    def __getitem__(self, argument: Value) -> Value:
        for known, value in self.rows:
            if known == argument:
                return value
        raise KeyError(argument)


def function(rows: Mapping[Value, Value]) -> Value:
    """Returns a function in normal form: a tuple if its domain is 1..n."""
    size = len(rows)
    if all(type(argument) is int and 1 <= argument <= size for argument in rows):
        return tuple(rows[argument] for argument in range(1, size + 1))
    return Function(tuple(sorted(rows.items(), key=lambda row: order(row[0]))))


def order(value: Value) -> tuple[Any, ...]:
    """Returns a sort key for values of all kinds, the same in every run."""
    match value:
        case bool():
            return (0, value)
        case int():
            return (1, value)
        case ModelValue():
            return (3, str(value))
        case str():
            return (2, value)
        case frozenset():
            return (4, len(value), tuple(sorted(order(element) for element in value)))
        case tuple():
            return (5, len(value), tuple(order(element) for element in value))
        case Function(rows):
            return (6, len(rows), tuple((order(argument), order(result)) for argument, result in rows))
    raise TypeError(f"not a TLA+ value: {value!r}")


def text(value: Value) -> str:
    """
    Renders a value in TLA+.

    >>> print(text(parse('<<[a |-> {1, 2}], (3 :> TRUE), "x">>')))
    <<[a |-> {1, 2}], (3 :> TRUE), "x">>
    """
    match value:
        case bool():
            return str(value).upper()
        case str() if not isinstance(value, ModelValue):
            return json.dumps(value, ensure_ascii=False)
        case frozenset():
            return "{" + ", ".join(map(text, sorted(value, key=order))) + "}"
        case tuple():
            return "<<" + ", ".join(map(text, value)) + ">>"
        case Function(rows) if all(type(argument) is str and argument.isidentifier() for argument, _ in rows):
            return "[" + ", ".join(f"{argument} |-> {text(result)}" for argument, result in rows) + "]"
        case Function(rows):
            return "(" + " @@ ".join(f"{text(argument)} :> {text(result)}" for argument, result in rows) + ")"
    return str(value)


#: Whitespace, then one token: a string, a number, an operator such as `:>`, a bracket, or a name.
_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?\d+|<<|>>|\|->|:>|@@|\.\.|/\\|[\[\]{}(),=]|[A-Za-z_]\w*)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_LETTER: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


class Parser:
    """A parser of states with a cache of values, because a step changes few variables."""

    def __init__(self) -> None:
        self._seen: dict[str, Value] = {}

    def state(self, text: str) -> dict[str, Value]:
        r"""Parses the variables of a state, by name: `/\ x = 1` and so on in any order, or `x = 1` if there is only one."""
        variables: dict[str, Value] = {}
        for conjunct in text.strip().removeprefix("/\\ ").split("\n/\\ "):  # no line within a value begins with this
            name, equals, value = conjunct.partition(" = ")
            if not equals or not name.isidentifier():
                raise NotAValue(conjunct, 0, "expected 'variable = value'")
            if name in variables:
                raise NotAValue(conjunct, 0, f"a second value of {name}")
            variables[name] = self._value(value)
        return variables

    def _value(self, text: str) -> Value:
        known = self._seen.get(text)
        if known is None:
            if len(self._seen) >= _MOST_KEPT:
                self._seen.clear()
            known = self._seen[text] = parse(text)
        return known


#: Maximum cached values: a bound on memory, far more than the values of one part of a graph.
_MOST_KEPT: Final = 100_000


def parse_state(text: str) -> dict[str, Value]:
    """Parses the variables of one state."""
    return Parser().state(text)


def parse(text: str) -> Value:
    """Parses a text that is one value."""
    tokens = _Tokens(text)
    value = _value(tokens)
    if tokens.kind:
        tokens.fail("expected the end")
    return value


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.next()

    def next(self) -> None:
        found = _TOKEN.match(self.text, self.end)
        if found is None:
            if self.text[self.end :].strip():
                self.start, self.kind = self.end, "?"
                self.fail("not a TLA+ value")
            self.kind, self.start = "", len(self.text)
            return
        self.kind, self.start, self.end = found[1], found.start(1), found.end()

    def take(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self.next()
        return True

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            self.fail(f"expected {kind!r}")

    def name(self) -> str:
        name = self.kind
        if not name.isidentifier():
            self.fail("expected a name")
        self.next()
        return name

    def fail(self, problem: str) -> NoReturn:
        raise NotAValue(self.text, self.start, problem)


def _value(tokens: _Tokens) -> Value:
    kind = tokens.kind
    if kind == "" or kind in (">>", "]", "}", ")", ",", "=", "|->", ":>", "@@", "..", "/\\"):
        tokens.fail("expected a value")
    tokens.next()
    match kind[0]:
        case '"':
            return _ESCAPED.sub(lambda found: _LETTER.get(found[1], found[1]), kind[1:-1])
        case "<":
            return tuple(_until(tokens, ">>"))
        case "{":
            return frozenset(_until(tokens, "}"))
        case "[":
            return _rows(tokens, tokens.name, "|->", ",", "]")
        case "(":
            return _rows(tokens, lambda: _value(tokens), ":>", "@@", ")")
    if kind.lstrip("-").isdigit():
        return frozenset(range(int(kind), _upper(tokens) + 1)) if tokens.take("..") else int(kind)
    return {"TRUE": True, "FALSE": False}.get(kind, ModelValue(kind))


def _until(tokens: _Tokens, closing: str) -> Iterator[Value]:
    if tokens.take(closing):
        return
    yield _value(tokens)
    while tokens.take(","):
        yield _value(tokens)
    tokens.expect(closing)


def _upper(tokens: _Tokens) -> int:
    upper = tokens.kind
    if not upper.lstrip("-").isdigit():
        tokens.fail("expected a number")
    tokens.next()
    return int(upper)


def _rows(tokens: _Tokens, argument: Callable[[], Value], arrow: str, between: str, closing: str) -> Value:
    rows: dict[Value, Value] = {}
    while True:
        known = argument()
        tokens.expect(arrow)
        rows.setdefault(known, _value(tokens))  # in `f @@ g`, f takes precedence
        if not tokens.take(between):
            break
    tokens.expect(closing)
    return function(rows)
