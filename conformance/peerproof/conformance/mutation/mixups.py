"""
Mistakes that people make with values: the old state for the new one, another of several, half of a pair, a reset forgotten.

Where `operators` looks at one place, these look at a function: which names it has, and of what types. An effect that comes a
timer too late is a change of `step` as a whole.
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

#: Names that a function gives to what it does not need.
UNUSED: Final = "_"

#: Of one name at one place, so many others are tried.
OTHERS: Final = 2

#: Types that say too little of what a value is for.
COMMON: Final = frozenset({"", "int", "str", "bool", "bytes", "float", "object", "Any", "Pick"})

#: Comparisons that look at all members of their operands.
WHOLE: Final = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

#: Parts of a function and of an assignment in which nothing happens.
SILENT: Final = ("returns", "annotation", "decorator_list", "args")

#: What the `step` of a node takes.
STEP: Final = ["state", "event", "pick"]

#: An effect, and the name of the class of what it is about.
EffectKind = tuple[str, str]


@dataclass(frozen=True)
class Mixups:
    """What can be mixed up in the functions of a specification."""

    types: ValueTypes
    effects: Sequence[EffectKind] = ()  #: those that its `step` can have

    def mistakes(self, function: ast.FunctionDef, place: Place) -> Iterator[Change]:
        """The mistakes in a function that stands at this place."""
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
        """A name for another of the same type that is there as well; of states, the one from before."""
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
        """The last for the first; the row of another key."""
        node = found.node
        match node.slice:
            case ast.Constant(0):
                yield "another of several", found, _with(node, slice=ast.UnaryOp(ast.USub(), ast.Constant(1)))
            case ast.UnaryOp(ast.USub(), ast.Constant(1)):
                yield "another of several", found, _with(node, slice=ast.Constant(0))
            case ast.Name() | ast.Attribute() as key:
                if (self.types.of(node.value, scope) or "").partition("[")[0] in MAPPINGS:
                    rows, wanted = ast.unparse(node.value), ast.unparse(key)
                    other = f"next((other for other in {rows} if other != {wanted}), {wanted})"
                    yield "another of several", found, _with(node, slice=ast.parse(other, mode="eval").body)

    def _members(self, found: Place, scope: Scope) -> Iterator[Change]:
        """One member of what is compared as a whole."""
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
        """A value that is made anew keeps a field of the one that is there: the reset is forgotten."""
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
    """Of several values that come out, one is not taken: the old one stays."""
    for index, target in enumerate(targets.elts):
        if isinstance(target, ast.Name) and bound.get(target.id, 1 << 30) < line:
            yield "old value", Place(targets, "elts", index), ast.Name(UNUSED, ast.Store())


def _bindings(function: ast.FunctionDef) -> dict[str, int]:
    """The line on which each name of a function has its first value."""
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
    """What is in a function, but not in functions in it; and whether it only names what is called or asked."""
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
