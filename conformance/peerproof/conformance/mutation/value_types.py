"""
The types of values in a specification, as far as its annotations say: enough to know which values can be mixed up.

Nothing is imported or run: classes, their fields, and the parameters and results of functions are read from the syntax trees. A
name with several types, or without an annotation, has no type here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

#: Generic types whose first argument is the type of their items, and mappings.
HOLDING: Final = ("tuple", "frozenset", "set", "list", "Sequence", "Collection", "Iterable", "Iterator")
MAPPINGS: Final = ("Table", "Mapping", "dict")

Scope = dict[str, str]


class ValueTypes:
    """The types of some modules, each as the text of its annotation."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        """Reads all modules; the names of one module are known in the others."""
        self.classes: dict[str, dict[str, str]] = {}  #: class -> field -> type, in order
        self.compared: set[str] = set()  #: classes whose values compare as a whole, member by member
        self.returns: dict[str, str | None] = {}
        self._members: dict[str, str | None] = {}
        self._aliases: dict[str, str] = {}
        for node in (node for tree in trees for node in ast.walk(tree)):
            match node:
                case ast.ClassDef(name, bases):
                    self._read_class(node)
                    if any(ast.unparse(base).partition("[")[0] == "NamedTuple" for base in bases) or _is_ordered(node):
                        self.compared.add(name)
                case ast.FunctionDef(name):
                    _note(self.returns, name, node.returns)
                case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias"), ast.expr() as value):
                    self._aliases[name] = ast.unparse(value)
                case ast.Assign([ast.Name(name)], ast.Subscript() as value):
                    self._aliases[name] = ast.unparse(value)

    def _read_class(self, node: ast.ClassDef) -> None:
        fields: dict[str, str] = {}
        for inner in node.body:
            match inner:
                case ast.AnnAssign(ast.Name(name), annotation):
                    fields[name] = _plain_type(annotation)
                    _note(self._members, name, annotation)
                case ast.FunctionDef(name, decorator_list=[_, *_]):
                    _note(self._members, name, inner.returns)
        self.classes[node.name] = fields

    def scope(self, function: ast.FunctionDef) -> Scope:
        """Returns the names of a function with types: its parameters, and names that are assigned, looped over or matched."""
        found: Scope = {arg.arg: self._whole(_plain_type(arg.annotation)) for arg in _parameters(function) if arg.annotation}
        for node in ast.walk(function):
            match node:
                case ast.Assign([target], value) | ast.NamedExpr(target, value):
                    self._bind(target, self.of(value, found), found)
                case ast.For(target, held) | ast.comprehension(target, held):
                    self._bind(target, self._held(held, found), found)
                case ast.MatchClass(ast.Name(name), patterns):
                    for field, pattern in zip(self.classes.get(name, {}).values(), patterns, strict=False):
                        if isinstance(pattern, ast.MatchAs) and pattern.name and pattern.pattern is None:
                            found.setdefault(pattern.name, field)
        return found

    def _bind(self, target: ast.expr, kind: str | None, scope: Scope) -> None:
        match target:
            case ast.Name(name) if kind:
                scope.setdefault(name, kind)
            case ast.Tuple(elements) if kind:
                for element, part in zip(elements, self._parts(kind), strict=False):
                    self._bind(element, part, scope)

    def _parts(self, kind: str) -> list[str]:
        """Returns the types of the parts into which a value of this type is unpacked."""
        name, arguments = _split(kind)
        if name == "tuple" and "..." not in arguments:
            return arguments
        if name == "Step":
            return arguments[:1]
        return list(self.classes.get(name, {}).values()) if name in self.compared else []

    def _held(self, node: ast.expr, scope: Scope) -> str | None:
        match node:
            case ast.Call(ast.Attribute(inner, "items")):
                name, arguments = _split(self.of(inner, scope) or "")
                return f"tuple[{', '.join(arguments)}]" if name in MAPPINGS and len(arguments) > 1 else None
            case ast.Call(ast.Attribute(inner, "values")):
                name, arguments = _split(self.of(inner, scope) or "")
                return arguments[-1] if name in MAPPINGS and arguments else None
        name, arguments = _split(self.of(node, scope) or "")
        if name in MAPPINGS:
            return arguments[0] if arguments else None
        return arguments[0] if name in HOLDING and arguments else None

    def of(self, node: ast.expr, scope: Scope) -> str | None:
        """Returns the type of an expression, or None."""
        found: str | None = None
        match node:
            case ast.Name(name):
                found = scope.get(name)
            case ast.Attribute(value, name):
                owner = self.classes.get(self.of(value, scope) or "", {})
                found = owner.get(name) or self._members.get(name)
            case ast.Call(ast.Name("replace"), [first, *_]):
                found = self.of(first, scope)
            case ast.Call(ast.Attribute(first, "_replace")):
                found = self.of(first, scope)
            case ast.Call(ast.Name(name)):
                found = name if name in self.classes else self.returns.get(name)
            case ast.Subscript(value) if not isinstance(node.slice, ast.Slice):
                name, arguments = _split(self.of(value, scope) or "")
                found = arguments[-1] if name in MAPPINGS and arguments else None
                found = arguments[0] if name == "tuple" and arguments[1:] == ["..."] else found
            case ast.IfExp(_, first, second):
                found = self.of(first, scope) if self.of(first, scope) == self.of(second, scope) else None
        return self._whole(found) if found else None

    def _whole(self, kind: str) -> str:
        return self._aliases.get(kind, kind)


def _parameters(function: ast.FunctionDef) -> Iterator[ast.arg]:
    yield from (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)


def _is_ordered(node: ast.ClassDef) -> bool:
    return any("order=True" in ast.unparse(decorator) for decorator in node.decorator_list)


def _note(held: dict[str, str | None], name: str, annotation: ast.expr | None) -> None:
    """Records the type of a name; a name with two different types gets none."""
    kind = _plain_type(annotation) if annotation else None
    held[name] = kind if held.get(name, kind) == kind else None


def _plain_type(annotation: ast.expr | None) -> str:
    text = ast.unparse(annotation) if annotation else ""
    return text.strip("'\"").removesuffix(" | None").removeprefix("None | ")


def _split(kind: str) -> tuple[str, list[str]]:
    """Splits a generic type into its name and arguments."""
    if not kind:
        return "", []
    node = ast.parse(kind, mode="eval").body
    match node:
        case ast.Subscript(ast.Name(name), ast.Tuple(arguments)):
            return name, [ast.unparse(argument) for argument in arguments]
        case ast.Subscript(ast.Name(name), argument):
            return name, [ast.unparse(argument)]
    return kind, []
