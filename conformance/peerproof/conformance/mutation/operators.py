"""
Mutation operators: the small faults that can be put at a place of a program.

An operator takes one node of a syntax tree and yields its replacements. Changes that have no visible effect are left out:
annotations, decorators, docstrings, the texts of errors, and the names of the sites of choices.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Final, NamedTuple

#: The kind of a fault, its place, and the replacement, None for a deletion.
Change = tuple[str, "Place", "ast.AST | None"]

COMPARISONS: Final[dict[type[ast.cmpop], tuple[tuple[str, type[ast.cmpop]], ...]]] = {
    ast.Lt: (("boundary", ast.LtE), ("comparison", ast.GtE)),
    ast.LtE: (("boundary", ast.Lt), ("comparison", ast.Gt)),
    ast.Gt: (("boundary", ast.GtE), ("comparison", ast.LtE)),
    ast.GtE: (("boundary", ast.Gt), ("comparison", ast.Lt)),
    ast.Eq: (("comparison", ast.NotEq),),
    ast.NotEq: (("comparison", ast.Eq),),
    ast.Is: (("comparison", ast.IsNot),),
    ast.IsNot: (("comparison", ast.Is),),
    ast.In: (("comparison", ast.NotIn),),
    ast.NotIn: (("comparison", ast.In),),
}

ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}

FUNCTIONS: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}

TEXTS: Final = {"big": "little", "little": "big"}

#: Calls whose keywords are changes of a value.
CHANGING: Final = ("replace", "_replace")


class Place(NamedTuple):
    """The position of a node: a field of its parent, and the index if that is a list."""

    parent: ast.AST
    field: str
    position: int | None

    @property
    def node(self) -> Any:
        """The node at this place."""
        held = getattr(self.parent, self.field)
        return held if self.position is None else held[self.position]

    def put(self, node: ast.AST | None) -> None:
        """Replaces the node; None deletes it."""
        if self.position is None:
            setattr(self.parent, self.field, node)
        elif node is None:
            del getattr(self.parent, self.field)[self.position]
        else:
            getattr(self.parent, self.field)[self.position] = node


def _compare(node: ast.Compare, place: Place) -> Iterator[Change]:
    for index, operator in enumerate(node.ops):
        for kind, other in COMPARISONS[type(operator)]:
            changed = copy(node)
            changed.ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
            yield kind, place, changed


def _binary(node: ast.BinOp, place: Place) -> Iterator[Change]:
    if other := ARITHMETIC.get(type(node.op)):
        changed = copy(node)
        changed.op = other()
        yield "arithmetic", place, changed


def _boolean(node: ast.BoolOp, place: Place) -> Iterator[Change]:
    changed = copy(node)
    changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "logic", place, changed
    for index in range(len(node.values)):
        values = node.values[:index] + node.values[index + 1 :]
        fewer = copy(node)
        fewer.values = values
        yield "missing condition", place, values[0] if len(values) == 1 else fewer


def _unary(node: ast.UnaryOp, place: Place) -> Iterator[Change]:
    if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield "missing sign", place, node.operand


def _constant(node: ast.Constant, place: Place) -> Iterator[Change]:
    match node.value:
        case bool(value):
            yield "constant", place, ast.Constant(not value)
        case int(value):
            yield "off by one", place, ast.Constant(value + 1)
            if value > 0:
                yield "off by one", place, ast.Constant(value - 1)
        case str(value):
            yield from _text(value, place)
        case bytes(value) if value:
            yield "constant", place, ast.Constant(value[:-1] + bytes([value[-1] ^ 1]))


def _text(value: str, place: Place) -> Iterator[Change]:
    if value in TEXTS:
        yield "endianness", place, ast.Constant(TEXTS[value])
    elif value[:1] in (">", "!") and value[1:].isalnum():
        yield "endianness", place, ast.Constant("<" + value[1:])
    else:
        yield "constant", place, ast.Constant(value + "~")


def _choice(node: ast.IfExp, place: Place) -> Iterator[Change]:
    changed = copy(node)
    changed.body, changed.orelse = node.orelse, node.body
    yield "swapped branches", place, changed


def _if(node: ast.If, _: Place) -> Iterator[Change]:
    test = Place(node, "test", None)
    yield "missing guard", test, ast.Constant(False)
    yield "guard always", test, ast.Constant(True)
    if node.orelse:
        yield "swapped branches", test, ast.UnaryOp(ast.Not(), node.test)


def _while(node: ast.While, _: Place) -> Iterator[Change]:
    yield "missing loop", Place(node, "test", None), ast.Constant(False)


def _for(node: ast.For, _: Place) -> Iterator[Change]:
    yield "missing loop", Place(node, "iter", None), ast.Tuple([], ast.Load())


def _comprehension(node: ast.comprehension, _: Place) -> Iterator[Change]:
    for index in range(len(node.ifs)):
        yield "missing condition", Place(node, "ifs", index), ast.Constant(True)


def _case(node: ast.match_case, place: Place) -> Iterator[Change]:
    if node.guard is not None:
        yield "missing guard", Place(node, "guard", None), ast.Constant(True)
    last = place.position == len(getattr(place.parent, place.field)) - 1
    if not last and not _is_never(node.body):
        yield "missing case", place, None


def _statement(_: ast.stmt, place: Place) -> Iterator[Change]:
    yield "missing statement", place, ast.Pass()


def _expression(node: ast.Expr, place: Place) -> Iterator[Change]:
    if not isinstance(node.value, ast.Constant) and not _is_never([node]):
        yield "missing statement", place, ast.Pass()


def _assignment(node: ast.Assign | ast.AnnAssign, place: Place) -> Iterator[Change]:
    """Drops an assignment, but only if its names have values without it; otherwise only that would be detected."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    read = {inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)} if node.value else set[str]()
    if node.value and all(isinstance(to, ast.Attribute | ast.Subscript) or getattr(to, "id", None) in read for to in targets):
        yield "missing statement", place, ast.Pass()


def _call(node: ast.Call, place: Place) -> Iterator[Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name) and name in FUNCTIONS:
        changed = copy(node)
        changed.func = ast.Name(FUNCTIONS[name], ast.Load())
        if name == "sorted":
            changed.keywords = []
        yield "function", place, changed
    for index in range(len(node.keywords) if name in CHANGING else 0):
        yield "missing change", Place(node, "keywords", index), None


def _tuple(node: ast.Tuple, place: Place) -> Iterator[Change]:
    match place.parent:
        case ast.Compare() | ast.Subscript() | ast.Call(func=ast.Name("isinstance")):
            return
    if not isinstance(node.ctx, ast.Load):
        return
    for index in range(len(node.elts) - 1):
        first, second = node.elts[index : index + 2]
        changed = copy(node)
        changed.elts = [*node.elts[:index], second, first, *node.elts[index + 2 :]]
        yield "swapped order", place, changed
    if any(isinstance(element, ast.Starred) for element in node.elts) or isinstance(place.parent, ast.Call):
        for index in range(len(node.elts)):
            yield "missing element", Place(node, "elts", index), None


def _slice(node: ast.Slice, _: Place) -> Iterator[Change]:
    for bound in ("lower", "upper"):
        if getattr(node, bound) is not None:
            yield "missing bound", Place(node, bound, None), None


def _is_never(body: list[Any]) -> bool:
    """Returns True if the body contains assert_never."""
    return any(isinstance(node, ast.Expr) and ast.unparse(node).startswith("assert_never(") for node in body)


#: The operators by class of node.
OPERATORS: Final[dict[type[ast.AST], Callable[[Any, Place], Iterator[Change]]]] = {
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.comprehension: _comprehension,
    ast.match_case: _case,
    ast.Expr: _expression,
    **dict.fromkeys((ast.Assign, ast.AnnAssign), _assignment),
    **dict.fromkeys((ast.AugAssign, ast.Delete, ast.Raise, ast.Break, ast.Continue), _statement),
    ast.Call: _call,
    ast.Tuple: _tuple,
    ast.Slice: _slice,
}
