"""
The mutants of a protocol's specification: each module that its node is made of, changed in one place.

A mutant is named by its function, the kind of its fault, and a digest of the change, so the name stays the same while lines move
and other functions change.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.mutation.mixups import Mixups
from peerproof.conformance.mutation.operators import OPERATORS, Place
from peerproof.conformance.mutation.value_types import ValueTypes
from peerproof.spec.protocols import PROTOCOLS

#: The entry points of a node's behaviour: its steps, and the encoding of its messages.
ROOTS: Final = ("step", "MESSAGE")

#: The end of the name of a module that only does faster what the codec beside it does; it has no mutants.
SHORTCUT: Final = ".shortcut"

#: Fields of a node whose content has no visible behaviour.
SILENT: Final = frozenset(
    {(ast.FunctionDef, "returns"), (ast.FunctionDef, "decorator_list"), (ast.arg, "annotation"), (ast.AnnAssign, "annotation")}
    | {(ast.ClassDef, "decorator_list"), (ast.ClassDef, "bases"), (ast.ClassDef, "keywords"), (ast.Raise, "exc")}
)

#: Maximum characters of a change when it is shown.
SHORT: Final = 80

#: Calls whose first argument is a name for people, or a type.
NAMING: Final = ("pick", "cast", "NewType", "TypeVar", "encode_string")


@dataclass(frozen=True)
class Module:
    """A module of a specification."""

    name: str
    path: Path

    @cached_property
    def source(self) -> str:
        """The source text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; mutants are put into it temporarily."""
        return ast.parse(self.source, str(self.path))


@dataclass(frozen=True, eq=False)
class Mutant:
    """A module with one fault."""

    id: str
    module: Module
    within: str  #: the function or class, by its qualified name
    kind: str
    place: Place
    original: ast.AST
    changed: ast.AST | None
    lines: range  #: line numbers of the change in the source

    @property
    def places(self) -> set[tuple[str, int]]:
        """The path and number of each of these lines."""
        return {(str(self.module.path), line) for line in self.lines}

    @property
    def change(self) -> str:
        """The original and the replacement, on one line."""
        return f"{_short(self.original)} -> {_short(self.changed)}"

    def tree(self) -> ast.Module:
        """Returns the module's tree with the fault in it. Restore the original before the next mutant."""
        self.place.put(self.changed)
        return ast.fix_missing_locations(self.module.tree)

    def diff(self) -> str:
        """Returns the change as a unified diff; for a decorated function, only the decorator."""
        if isinstance(self.changed, ast.FunctionDef):
            return f"{self.module.name}: {self.change}"
        before = self.module.source.splitlines()
        node = _with_position(self.original)
        start, end = _offset(before, node.lineno, node.col_offset), _offset(before, node.end_lineno, node.end_col_offset)
        text = "\n".join(before).encode()
        put = ast.unparse(self.changed) if self.changed is not None else ""
        put = put.replace("\n", "\n" + " " * node.col_offset)
        after = (text[:start] + put.encode() + text[end:]).decode().splitlines()
        name = self.module.name
        return "\n".join(difflib.unified_diff(before, after, name, name, lineterm="", n=0))


def modules(protocol: str) -> list[Module]:
    """Returns the modules of the package that `step`, the codec and the framing import, directly or indirectly; no shortcuts."""
    row = PROTOCOLS[protocol]
    package = row.specification.target
    specification = _module(package)
    found: dict[str, Module] = {}
    waiting = [*_find_imports(specification, package, ROOTS), *([row.framing.target] if row.framing else [])]
    if specification is not None and specification.path.stem != "__init__":  # a module, not a package
        waiting.append(package)
    while waiting:
        name = waiting.pop()
        if name not in found and (module := _module(name)) is not None:
            found[name] = module
            waiting += _find_imports(module, package)
    return [found[name] for name in sorted(found) if not name.endswith(SHORTCUT)]


def _module(name: str) -> Module | None:
    spec = find_spec(name)
    return Module(name, Path(spec.origin)) if spec is not None and spec.origin is not None else None


def _find_imports(module: Module | None, package: str, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the modules of a package that a module imports from, or imports one of these names from."""
    assert module is not None, f"there is no package {package}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and f"{node.module}.".startswith(f"{package}."):
            taken = {alias.name for alias in node.names}
            if not names or taken & set(names):
                yield from [node.module] if node.module != package else (f"{package}.{name}" for name in taken)


def find_mixups(protocol: str, found: Iterable[Module]) -> Mixups:
    """Returns the mixups for the modules of a protocol."""
    specification = PROTOCOLS[protocol].specification.load()
    forms = {"Send": specification.MESSAGE.form, "Notify": specification.NOTICE, "SetTimer": specification.TIMER}
    effects = [(effect, kind.__name__) for effect, form in forms.items() for kind in form.names]
    return Mixups(ValueTypes(module.tree for module in found), effects)


def mutants(module: Module, mixups: Mixups | None = None) -> list[Mutant]:
    """Returns all mutants of a module in text order; without `mixups`, only this module's own types are known."""
    made: list[Mutant] = []
    seen: Counter[str] = Counter()
    mixups = mixups or Mixups(ValueTypes([module.tree]))
    for found, within in _places(module.tree, ""):
        operator = OPERATORS.get(type(found.node))
        if isinstance(found.node, ast.FunctionDef):
            operator = mixups.faults
        for kind, place, changed in operator(found.node, found) if operator else ():
            original = place.node
            text = f"{within}: {kind}: {ast.dump(original)} -> {ast.dump(changed) if changed else None}"
            seen[text] += 1
            digest = sha256(f"{text} {seen[text]}".encode()).hexdigest()[:8]
            name = module.name.removeprefix("peerproof.spec.") + (f".{within}" if within else "")
            at = _with_position(original)
            lines = range(at.lineno, at.end_lineno + 1)
            name += f"/{kind.replace(' ', '-')}/{digest}"
            made.append(Mutant(name, module, within, kind, place, original, changed, lines))
    return made


def _places(parent: ast.AST, within: str) -> Iterator[tuple[Place, str]]:
    """Yields the places below a node where a fault can be put."""
    for name, held in ast.iter_fields(parent):
        if (type(parent), name) in SILENT:
            continue
        for index, node in enumerate(held) if isinstance(held, list) else ((None, held),):
            if not isinstance(node, ast.AST) or _is_silent(node, parent, name, index):
                continue
            inner = f"{within}.{node.name}".lstrip(".") if isinstance(node, ast.FunctionDef | ast.ClassDef) else within
            yield Place(parent, name, index), inner
            yield from _places(node, inner)


def _is_silent(node: ast.AST, parent: ast.AST, field: str, index: int | None) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
            return True
        case ast.AnnAssign(annotation=ast.Name("TypeAlias")) | ast.If(ast.Name("TYPE_CHECKING")):
            return True
        case ast.Assign([ast.Name("__all__")]):
            return True
    match parent:
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
            return field == "args" and index == 0 and name in NAMING
    return False


def _with_position(node: ast.AST) -> Any:
    """Returns a node with lines and columns; if it has none, they are taken from the nodes in it."""
    if hasattr(node, "lineno"):
        return node
    inside: list[Any] = [inner for inner in ast.walk(node) if hasattr(inner, "lineno")]
    first: Any = min(inside, key=lambda inner: (inner.lineno, inner.col_offset))
    last: Any = max(inside, key=lambda inner: (inner.end_lineno, inner.end_col_offset))
    whole = copy(first)
    whole.end_lineno, whole.end_col_offset = last.end_lineno, last.end_col_offset
    return whole


def _offset(lines: list[str], line: int, column: int) -> int:
    """Returns the offset of a place of the source, in bytes."""
    return sum(len(text.encode()) + 1 for text in lines[: line - 1]) + column


def _short(node: ast.AST | None) -> str:
    if node is None:
        return "nothing"
    if isinstance(node, ast.FunctionDef):  # only a decorator changes
        return " ".join([*(f"@{ast.unparse(decorator).rpartition(').')[2]}" for decorator in node.decorator_list), node.name])
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"
