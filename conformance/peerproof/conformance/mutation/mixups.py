"""
Typical faults with values: the old state for the new one, another of several, half of a pair, a forgotten reset.

While `operators` looks at one place, these look at a function: its names and their types. A late effect is a change of `step` as
a whole.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Final

from peerproof.conformance.mutation import late_effects
from peerproof.conformance.mutation.operators import Change, Place
from peerproof.conformance.mutation.value_types import MAPPINGS, Scope, ValueTypes

#: The name that functions give to values that they do not need.
UNUSED: Final = "_"

#: Maximum number of other names tried for one name at one place.
OTHERS: Final = 2

#: Types that say too little about the meaning of a value.
COMMON: Final = frozenset({"", "int", "str", "bool", "bytes", "float", "object", "Any", "Pick"})

#: Comparisons that look at all members of their operands.
WHOLE: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

#: Parts of a function and of an assignment without behaviour.
SILENT: Final = ("returns", "annotation", "decorator_list", "args")

#: The parameters of a node's `step`.
STEP: Final = ["state", "event", "pick"]

#: An effect, and the class name of its content.
EffectKind = tuple[str, str]


@dataclass(frozen=True)
class Mixups:
    """Finds the values that can be mixed up in the functions of a specification."""

    types: ValueTypes
    effects: Sequence[EffectKind] = ()  #: those that its `step` can have

    def faults(self, function: ast.FunctionDef, place: Place) -> Iterator[Change]:
        """Yields the faults of a function at this place."""
        scope = self.types.scope(function)
        bound = _bindings(function)
        for found, skipped in _expressions(function):
            match found.node:
                case ast.Name(ctx=ast.Load()) if not skipped:
                    yield from self._other_names(found, scope, bound)
                case ast.Assign([ast.Tuple() as targets]):
                    yield from _forgotten(targets, bound, found.node.lineno)
                case ast.Subscript(ctx=ast.Load()):
                    yield from self._other_element(found, scope)
                case ast.Compare(ops=[operator], comparators=[_]) if isinstance(operator, WHOLE):
                    yield from self._members(found, scope)
                case ast.Lambda(body=ast.Tuple(elements)):
                    for element in elements:
                        yield "one member", Place(found.node, "body", None), element
                case ast.Call(ast.Name(name)) if name in self.types.classes:
                    yield from self._kept_fields(found, name, scope, bound)
        if isinstance(place.parent, ast.Module) and [arg.arg for arg in function.args.args] == STEP and function.name == "step":
            yield from self._late(function, place)

    def _other_names(self, found: Place, scope: Scope, bound: dict[str, int]) -> Iterator[Change]:
        """Yields other names of the same type that exist there as well; of states, the earlier one."""
        name, kind = found.node.id, scope.get(found.node.id, "")
        if kind in COMMON or found.node.lineno < bound.get(name, 0):
            return
        others = [
            other
            for other, other_kind in scope.items()
            if other_kind == kind and other != name and bound.get(other, 1 << 30) < found.node.lineno
        ]
        for other in others[:OTHERS]:
            older = bound[other] < bound.get(name, 0) and kind in self.types.classes
            yield "old value" if older else "another of several", found, ast.Name(other, ast.Load())

    def _other_element(self, found: Place, scope: Scope) -> Iterator[Change]:
        """Yields the last element for the first, and the row of another key."""
        node = found.node
        match node.slice:
            case ast.Constant(0):
                yield "another of several", found, _with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
            case ast.UnaryOp(ast.USub(), ast.Constant(1)):
                yield "another of several", found, _with(node, slice=ast.Constant(0))
            case ast.Name() | ast.Attribute() as key:
                if (self.types.of(node.value, scope) or "").partition("[")[0] in MAPPINGS:
                    rows, key_text = ast.unparse(node.value), ast.unparse(key)
                    other = f"next((other for other in {rows} if other != {key_text}), {key_text})"
                    yield "another of several", found, _with(node, slice=ast.parse(other, mode="eval").body)

    def _members(self, found: Place, scope: Scope) -> Iterator[Change]:
        """Yields comparisons of a single member instead of the whole."""
        node = found.node
        left, right = node.left, node.comparators[0]
        match left, right:
            case ast.Tuple(firsts), ast.Tuple(seconds) if len(firsts) == len(seconds) > 1:
                for first, second in zip(firsts, seconds, strict=True):
                    yield "one member", found, ast.Compare(first, node.ops, [second])
                return
        kind = self.types.of(left, scope)
        if kind in self.types.compared and self.types.of(right, scope) in (kind, None) and not isinstance(right, ast.Constant):
            fields = self.types.classes[kind]
            for field in fields if len(fields) > 1 else ():
                first, second = (ast.Attribute(side, field, ast.Load()) for side in (left, right))
                yield "one member", found, ast.Compare(first, node.ops, [second])

    def _kept_fields(self, found: Place, name: str, scope: Scope, bound: dict[str, int]) -> Iterator[Change]:
        """Yields new values that keep a field of the old one: a forgotten reset."""
        node = found.node
        olds = [old for old, kind in scope.items() if kind == name and bound.get(old, 1 << 30) < node.lineno]
        fields = list(self.types.classes[name])
        given = {keyword.arg: keyword.value for keyword in node.keywords} | dict(zip(fields, node.args, strict=False))
        for old in olds[:1]:
            for field in fields:
                if field not in given or isinstance(given[field], ast.Constant | ast.Tuple):
                    kept = ast.keyword(field, ast.Attribute(ast.Name(old, ast.Load()), field, ast.Load()))
                    yield "forgotten reset", found, ast.Call(ast.Name("replace", ast.Load()), [node], [kept])

    def _late(self, step: ast.FunctionDef, place: Place) -> Iterator[Change]:
        for effect, about in self.effects:
            changed = copy(step)
            late = f"__import__({late_effects.__name__!r}, fromlist=['late']).late({effect!r}, {about!r})"
            changed.decorator_list = [ast.parse(late, mode="eval").body]
            yield "late effect", place, changed


def _forgotten(targets: ast.Tuple, bound: dict[str, int], line: int) -> Iterator[Change]:
    """Yields assignments of several values in which one is not assigned, so that the old one stays."""
    for index, target in enumerate(targets.elts):
        if isinstance(target, ast.Name) and bound.get(target.id, 1 << 30) < line:
            yield "old value", Place(targets, "elts", index), ast.Name(UNUSED, ast.Store())


def _bindings(function: ast.FunctionDef) -> dict[str, int]:
    """Returns the line on which each name of a function gets its first value."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    found = {argument.arg: function.lineno for argument in arguments}
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign):
            for node in (node for target in statement.targets for node in ast.walk(target)):
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, statement.lineno)
        if isinstance(statement, ast.For):
            for node in ast.walk(statement.target):
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, statement.lineno)
    return found


def _expressions(parent: ast.AST) -> Iterator[tuple[Place, bool]]:
    """Yields the nodes of a function, without nested functions; True if a node only names the called function."""
    for name, held in ast.iter_fields(parent):
        if isinstance(parent, ast.FunctionDef | ast.arg | ast.AnnAssign) and name in SILENT:
            continue
        for index, node in enumerate(held) if isinstance(held, list) else ((None, held),):
            if isinstance(node, ast.AST) and not isinstance(node, ast.FunctionDef | ast.Assert | ast.Raise):
                yield Place(parent, name, index), isinstance(parent, ast.Call) and name == "func"
                yield from _expressions(node)


def _with(node: Any, **changed: Any) -> Any:
    other = deepcopy(node)
    for name, value in changed.items():
        setattr(other, name, value)
    return other
