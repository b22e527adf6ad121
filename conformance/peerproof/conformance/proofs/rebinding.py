"""
The specification's own code with other globals: `len`, `dict` and the like replaced by what works on Z3 terms.

The code objects are those that run; only names that they look up outside of themselves mean something else. Functions are taken
as the modules have them at the time, replaced ones too.
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any


def rebound(module: ModuleType, **instead: Any) -> SimpleNamespace:
    """The functions of a module, and those of the specification that they call, with these names replaced."""
    return SimpleNamespace(**_rebound(vars(module), instead, {}))


def _rebound(names: dict[str, Any], instead: dict[str, Any], done: dict[int, dict[str, Any]]) -> dict[str, Any]:
    if id(names) in done:
        return done[id(names)]
    found = done[id(names)] = {**names, **instead}
    for name, value in names.items():
        if isinstance(value, FunctionType) and name not in instead and _is_ours(value):
            copy = FunctionType(
                value.__code__, _rebound(value.__globals__, instead, done), name, value.__defaults__, value.__closure__
            )
            copy.__kwdefaults__ = value.__kwdefaults__
            found[name] = copy
    return found


def _is_ours(function: FunctionType) -> bool:
    return function.__globals__["__name__"].partition(".")[0] not in sys.stdlib_module_names
