"""
Overrides: replacements for definitions of a specification, in force while a block or a function runs.

An override maps a place, a dotted name such as `peerproof.spec.swim.gossip.fanout` or `peerproof.spec.wendy.ids.Ring.prefix`, to
its replacement:

- The name of a function or class in its defining module stands for all references: each module of a specification that has
  imported the definition, under any name, sees the override.
- The name of an import, in the module that imports it, stands for the reference of that module only. So does the name of a
  constant, and of a member of a class.
- The name of a builtin function gives a module its own: `peerproof.spec.scuttlebutt.reconcile.dict`.

Caches of results (`functools.lru_cache`) are off while overrides are in force: a cached result would outlive the override.
References that are not names stay as they are: those in tables, in partial functions and in default values. Properties and
bounded models (`peerproof.spec.swim.properties`, `peerproof.spec.swim.model`) keep their references as well: they check the
specification, and their overrides may call the original. Of two overrides of one reference the later one counts.

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
from functools import cache
from itertools import count
from pkgutil import resolve_name
from threading import RLock
from types import ModuleType
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Place -> its replacement.
Overrides: TypeAlias = Mapping[str, Any]

#: The packages of specifications.
_SPECIFICATIONS: Final = __name__.rpartition(".")[0] + "."

#: Modules that check a specification and so keep their references: properties, and folders of bounded models.
_JUDGES: Final = frozenset({"model", "properties"})

_MISSING: Final = object()


#: A module or class, an attribute's name, and a value of it. No named tuple: these are made at each step of a model.
_Reference: TypeAlias = tuple[Any, str, Any]

#: The original values where overrides are in force, by a number for each entry, the outermost ones first.
in_force: Final[dict[int, list[_Reference]]] = {}
_numbers: Final = count()
#: Held while overrides come into force or are restored, which another thread must not see half done.
_exclusively: Final = RLock()

#: The type of functions with a cache.
_CACHED: Final = type(cache(len))


def names_in(where: ModuleType | type[Any], **definitions: Any) -> dict[str, Any]:
    """
    Returns the overrides of these names in a module or class.

    >>> from peerproof.spec.wendy.ids import Ring
    >>> list(names_in(Ring, prefix=min))
    ['peerproof.spec.wendy.ids.Ring.prefix']
    """
    owner = where.__name__ if isinstance(where, ModuleType) else f"{where.__module__}.{where.__qualname__}"
    return {f"{owner}.{name}": definition for name, definition in definitions.items()}


class overriding:  # noqa: N801  # used as a function, like those of `contextlib`
    """
    A context in which overrides are in force; it can be entered again, also within itself or another.

    On exit the original definitions are restored: also after an exception, and also if another context was entered meanwhile and
    exits later, as in an abandoned thread; what that one overrides stays overridden until then. Raises LookupError on entry if a
    place does not exist. References are looked up on the first entry: modules that are loaded later keep theirs.
    """

    def __init__(self, overrides: Overrides) -> None:
        self._overrides = overrides
        self._found: list[_Reference] | None = None
        self._entries: list[int] = []

    def __enter__(self) -> None:
        with _exclusively:
            if self._found is None:
                found = _look_up(tuple(self._overrides))
                replacements = [(owner, name, self._overrides[place]) for owner, name, place in found.references]
                self._found = [*found.forgetful, *replacements]
            self._entries.append(next(_numbers))
            in_force[self._entries[-1]] = [(owner, name, owner.__dict__.get(name, _MISSING)) for owner, name, _ in self._found]
            for owner, name, other in self._found:
                setattr(owner, name, other)

    def __exit__(self, *_: object) -> None:
        with _exclusively:
            entry = self._entries.pop()
            references = in_force.pop(entry)
            if in_force and next(reversed(in_force)) > entry:
                references = _hand_on(references, [later for number, later in in_force.items() if number > entry])
            for owner, name, before in references:
                if before is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)


def _hand_on(references: list[_Reference], later: list[list[_Reference]]) -> list[_Reference]:
    """
    Hands original values on to the first of the later entries that overrides the same reference, which restores them on its exit.

    Returns the references that none of them overrides.
    """
    remaining = []
    for owner, name, before in references:
        for entry in later:
            same = [at for at, (where, named, _) in enumerate(entry) if where is owner and named == name]
            for at in same:
                entry[at] = (owner, name, before)
            if same:
                break
        else:
            remaining.append((owner, name, before))
    return remaining


def overridden(function: Callable[P, R], overrides: Overrides) -> Callable[P, R]:
    """
    Returns a function during each call of which the overrides are in force; the function itself if there are none.

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


class _LookedUp(NamedTuple):
    """What overrides of some places replace."""

    modules: tuple[int, list[ModuleType]]  #: how many were loaded, and those that it is about
    forgetful: list[_Reference]
    references: list[tuple[Any, str, str]]  #: the last one is the place


_looked_up: Final[dict[tuple[str, ...], _LookedUp]] = {}


def _look_up(places: tuple[str, ...]) -> _LookedUp:
    """Returns what overrides of these places replace; it is looked up once, and again when modules have been loaded."""
    found = _looked_up.get(places)
    if found is not None:
        count_then, modules = found.modules
        if count_then == len(sys.modules) and all(sys.modules.get(module.__name__) is module for module in modules):
            return found
    references = [(owner, name, place) for place in places for owner, name in _references(place)]
    forgetful = [*_forgetful(places)]
    owners = {id(owner): owner for owner, _, _ in (*references, *forgetful) if isinstance(owner, ModuleType)}
    _looked_up[places] = _LookedUp((len(sys.modules), [*owners.values()]), forgetful, references)
    return _looked_up[places]


def _originals() -> dict[tuple[Any, str], Any]:
    """Returns the values that overrides in force have replaced."""
    return {(where, named): value for references in reversed(in_force.values()) for where, named, value in references}


def _references(place: str) -> Iterator[tuple[Any, str]]:
    """Yields the owners and names of all references that an override of this place replaces."""
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

    originals = _originals()
    original = originals.get((owner, name), vars(owner).get(name))
    yield owner, name
    if not is_module or getattr(original, "__module__", None) != owner.__name__ or not hasattr(original, "__qualname__"):
        return
    for module in _modules_beside(owner.__name__):
        for reference, value in vars(module).items():
            if originals.get((module, reference), value) is original and (module, reference) != (owner, name):
                yield module, reference


def _forgetful(places: tuple[str, ...]) -> Iterator[_Reference]:
    """Yields the cached functions of the modules beside, without their caches, which would outlive the overrides."""
    originals = _originals()
    for owner in {place.rpartition(".")[0].rpartition(".")[0]: place.rpartition(".")[0] for place in places}.values():
        for module in _modules_beside(owner):
            for name, value in vars(module).items():
                original = originals.get((module, name), value)
                if isinstance(original, _CACHED):
                    yield module, name, original.__wrapped__


def _modules_beside(defining: str) -> Iterator[ModuleType]:
    """Yields the modules of specifications, and those of the definition's package, except those that check specifications."""
    package = defining.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        is_beside = name.startswith(_SPECIFICATIONS) or package in (name, name.rpartition(".")[0])
        if is_beside and _JUDGES.isdisjoint(name.split(".")):
            yield module
