"""
Overrides: other definitions in the place of a specification's own, while a block runs or while a function is called.

An override names a place by its dotted name, such as `peerproof.spec.swim.gossip.fanout` or
`peerproof.spec.wendy.ids.Ring.prefix`, and says what stands there instead:

- The name of a function or class in the module that defines it stands for all references: each module of a specification that
  has imported the definition by name, also as another name, sees the override.
- The name of an import, in the module that imports it, stands for the reference of that module only. So does the name of a
  constant, and of what is in a class.
- The name of a builtin function gives a module its own: `peerproof.spec.scuttlebutt.reconcile.dict`.

What remembers its results (`functools.lru_cache`) does not while overrides are in force: what it remembered would outlive them.
References that are not names stay as they are: those in tables, in partial functions and in default values. Properties and
bounded models (`peerproof.spec.swim.properties`, `peerproof.spec.swim.model`) keep their references as well: they judge, and what
they define as an override may call the original. Of two overrides of one reference the later one counts.

>>> from peerproof.spec.swim import gossip
>>> with overriding(names_in(gossip, fanout=lambda nodes: nodes - 1)):
...     gossip.fanout(9)
8
>>> gossip.fanout(9)
4
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Place -> what stands there instead.
Overrides: TypeAlias = Mapping[str, Any]

#: Where specifications are.
_SPECIFICATIONS: Final = __name__.rpartition(".")[0] + "."

#: What judges a specification keeps its references: properties, and folders of bounded models.
_JUDGES: Final = frozenset({"model", "properties"})

_MISSING: Final = object()


#: A module or class, the name of an attribute, and a value of it. No named tuple: these are made at each step of a model.
_Reference: TypeAlias = tuple[Any, str, Any]

#: What stood where overrides are in force, by a number for each entry, the outermost ones first.
_replaced: Final[dict[int, list[_Reference]]] = {}
_numbers: Final = count()


def names_in(where: ModuleType | type[Any], **definitions: Any) -> dict[str, Any]:
    """
    The overrides of these names in a module or class.

    >>> from peerproof.spec.wendy.ids import Ring
    >>> list(names_in(Ring, prefix=min))
    ['peerproof.spec.wendy.ids.Ring.prefix']
    """
    owner = where.__name__ if isinstance(where, ModuleType) else f"{where.__module__}.{where.__qualname__}"
    return {f"{owner}.{name}": definition for name, definition in definitions.items()}


class overriding:  # noqa: N801  # used as a function, like those of `contextlib`
    """
    A context in which overrides are in force; it may be entered again, also within itself or another.

    What stood there stands there again afterwards: also after an exception, and if another context that overrides other places
    was entered meanwhile and is left later, as by a thread that has been given up. Raises LookupError on entry if there is no
    such place. References are looked for on the first entry: modules that are loaded later keep theirs.
    """

    def __init__(self, overrides: Overrides) -> None:
        self._overrides = overrides
        self._found: list[_Reference] | None = None
        self._entries: list[int] = []

    def __enter__(self) -> None:
        if self._found is None:
            found = [(owner, name, other) for place, other in self._overrides.items() for owner, name in _references(place)]
            self._found = [*_forgetful(self._overrides), *found]
        self._entries.append(next(_numbers))
        _replaced[self._entries[-1]] = [(owner, name, owner.__dict__.get(name, _MISSING)) for owner, name, _ in self._found]
        for owner, name, other in self._found:
            setattr(owner, name, other)

    def __exit__(self, *_: object) -> None:
        for owner, name, before in _replaced.pop(self._entries.pop()):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def overridden(function: Callable[P, R], overrides: Overrides) -> Callable[P, R]:
    """
    The function, during each call of which the overrides are in force; the function itself if there are none.

    >>> from peerproof.spec.swim import gossip
    >>> overridden(lambda: gossip.fanout(9), names_in(gossip, fanout=lambda nodes: nodes - 1))()
    8
    """
    if not overrides:
        return function
    context = overriding(overrides)

    def call(*arguments: P.args, **options: P.kwargs) -> R:
        with context:
            return function(*arguments, **options)

    return call


def _references(place: str) -> Iterator[tuple[Any, str]]:
    """The owners and names of all that an override of this place overrides."""
    path, _, name = place.rpartition(".")
    try:
        owner = resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(f"there is no {place} to override: {error}") from None
    is_module = isinstance(owner, ModuleType)
    if not is_module and not isinstance(owner, type):
        raise LookupError(f"there is no {place} to override: {path} is neither a module nor a class")
    if name not in vars(owner) and not (is_module and hasattr(builtins, name)):
        raise LookupError(f"there is no {place} to override: {path} has no {name!r}")

    originals = {(where, named): value for references in reversed(_replaced.values()) for where, named, value in references}
    original = originals.get((owner, name), vars(owner).get(name))
    yield owner, name
    if not is_module or getattr(original, "__module__", None) != owner.__name__ or not hasattr(original, "__qualname__"):
        return
    for module in _modules_beside(owner.__name__):
        for reference, value in vars(module).items():
            if originals.get((module, reference), value) is original and (module, reference) != (owner, name):
                yield module, reference


def _forgetful(overrides: Overrides) -> Iterator[_Reference]:
    """What remembers its results in the modules beside, without its memory, which would outlive the overrides."""
    for owner in {place.rpartition(".")[0] for place in overrides}:
        for module in _modules_beside(owner):
            for name, value in vars(module).items():
                if hasattr(value, "cache_clear") and hasattr(value, "__wrapped__"):
                    yield module, name, value.__wrapped__


def _modules_beside(defining: str) -> Iterator[ModuleType]:
    """The modules of specifications, and those of the package that a definition is in; without those that judge."""
    package = defining.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        is_beside = name.startswith(_SPECIFICATIONS) or package in (name, name.rpartition(".")[0])
        if is_beside and _JUDGES.isdisjoint(name.split(".")):
            yield module
