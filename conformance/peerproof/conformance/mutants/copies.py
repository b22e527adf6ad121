"""
A second copy of the specifications, in this process.

The suite goes on judging by the first one, which it got before (`clauses.specification` keeps it): so what is wrong in the second
is not held to be right.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import CodeType, ModuleType
from typing import Any

from peerproof.conformance.mutants.places import Mutant
from peerproof.spec import jsontext


class _Replacing(MetaPathFinder, Loader):
    """Finds one module, whose code is given."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name = name
        self._code = code

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002  # so finders are called
        """Only of that module."""
        return spec_from_loader(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        """What is in it."""
        module.__file__ = self._code.co_filename
        exec(self._code, vars(module))


def begin_again(packages: Iterable[str], mutant: Mutant | None = None) -> None:
    """Forget all modules of these packages: who imports them from now on gets others, and of one module the mutant."""
    forgotten = tuple(packages)
    for name in [*sys.modules]:
        if name in forgotten or name.startswith(tuple(f"{package}." for package in forgotten)):
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                vars(sys.modules[parent]).pop(child, None)
            del sys.modules[name]
    if mutant is not None:
        code = compile(mutant.tree(), str(mutant.module.path), "exec", dont_inherit=True)
        sys.meta_path.insert(0, _Replacing(mutant.module.name, code))


def remember_nothing() -> None:
    """Let functions that remember their results compute them each time, from the next copy on."""
    jsontext.remembering = lambda function: function
    functools.lru_cache = functools.cache = _not_remembering


def _not_remembering(*given: Any, **_: Any) -> Any:
    """With options or without."""
    return given[0] if given and callable(given[0]) else lambda function: function
