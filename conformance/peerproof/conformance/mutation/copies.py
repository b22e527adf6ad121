"""
Loads a second copy of the specifications in this process.

The suite keeps checking with the first copy, which it loaded before (`clauses.specification` keeps it). Therefore mutants do not
use `peerproof.spec.overrides`, which would also apply to the suite in the same process. Replacing names is not enough: a mutant
is the function itself with other code, even where a table or a decorator has kept the function since its module was loaded, and
some mutants are in code that runs only at import.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from inspect import CO_NEWLOCALS
from types import CodeType, FunctionType, ModuleType
from typing import Any

from peerproof.conformance.mutation.sites import Mutant
from peerproof.spec.forms import json_text
from peerproof.spec.overrides import overriding


class _Replacing(MetaPathFinder, Loader):
    """Finds one module, with the given code."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name = name
        self._code = code

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002  # so finders are called
        return spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._code.co_filename
        exec(self._code, vars(module))


class Copy:
    """Modules that are loaded again, beside those that are loaded already."""

    def __init__(self, packages: Iterable[str], names: Iterable[str]) -> None:
        """Loads modules by name, with the modules of the packages that they need; other importers keep the loaded ones."""
        self._packages = tuple(packages)
        first = _unload_modules(self._packages)
        for name in names:
            import_module(name)
        self._modules = _unload_modules(self._packages)
        _put_in(first)

    def use(self) -> None:
        """Makes later imports of these packages return the modules of this copy."""
        _unload_modules(self._packages)
        _put_in(self._modules)


def begin_again(packages: Iterable[str], mutant: Mutant | None = None) -> None:
    """Forgets all modules of these packages, so that later imports load new ones, one of them with the mutant."""
    _unload_modules(tuple(packages))
    if mutant is not None:
        sys.meta_path.insert(0, _Replacing(mutant.module.name, _compile(mutant)))


def change(mutant: Mutant, imported: frozenset[tuple[str, int]]) -> bool:
    """
    Puts the fault into its function, where that is loaded already.

    Returns False, with nothing changed, if that is not enough: the fault is in no function, or in one that runs at import, whose
    results exist already. `imported` has the path and number of each line that runs at import.
    """
    found = _find_function(sys.modules[mutant.module.name], mutant.within)
    if found is None:
        return False
    now = found.__code__
    inside = {(now.co_filename, line) for _, _, line in now.co_lines() if line and line != now.co_firstlineno}
    if not imported.isdisjoint(inside):
        return False
    for code in _functions(_compile(mutant)):
        same = (code.co_qualname, code.co_firstlineno) == (now.co_qualname, now.co_firstlineno)
        if same and code != now and code.co_freevars == now.co_freevars:
            found.__code__ = code
            return True
    return False


def _compile(mutant: Mutant) -> CodeType:
    return compile(mutant.tree(), str(mutant.module.path), "exec", dont_inherit=True)


def _functions(module: CodeType) -> Iterator[CodeType]:
    """Yields the functions of a module and of its classes, but not nested ones."""
    for code in module.co_consts:
        if isinstance(code, CodeType):
            yield code
            if not code.co_flags & CO_NEWLOCALS:  # a class
                yield from _functions(code)


def _find_function(module: ModuleType, within: str) -> FunctionType | None:
    """Returns the outermost function of a qualified name, without its decorators."""
    found: Any = module
    for part in within.split("."):
        found = vars(found).get(part)
        found = getattr(found, "fget", getattr(found, "__func__", found))
        found = inspect.unwrap(found) if callable(found) else None
        if isinstance(found, FunctionType):
            return found
        if not isinstance(found, type):
            return None
    return None


def _unload_modules(packages: tuple[str, ...]) -> dict[str, ModuleType]:
    inside = tuple(f"{package}." for package in packages)
    found = {name: module for name, module in sys.modules.items() if name in packages or name.startswith(inside)}
    for name in found:
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(child, None)
    for name in found:
        del sys.modules[name]
    return found


def _put_in(modules: Mapping[str, ModuleType]) -> None:
    sys.modules.update(modules)
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def avoid_shortcuts() -> None:
    """Disables the shortcuts of codecs in this process, which would pass by a mutant."""
    overriding({}).__enter__()


def remember_nothing() -> None:
    """Disables caches of functions, from the next copy on."""
    json_text.remembering = lambda function: function
    functools.lru_cache = functools.cache = _not_remembering


def _not_remembering(*given: Any, **_: Any) -> Any:
    """Replaces a caching decorator, used with options or without."""
    return given[0] if given and callable(given[0]) else lambda function: function
