"""
Fingerprints: 64 bits that are equal for equal states, on every machine and in every process.

`fingerprint` defines them: a hash of the state's canonical JSON. `Fingerprints` computes the same for successive states, at a
cost in proportion to the changes between them: a step replaces few of the values in a state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import Any, Final, TypeAlias

from peerproof.spec.core import Table
from peerproof.spec.forms.form import Plain

_SIZE: Final = 8


def canonical(value: Any) -> Plain:
    """Converts any value of a specification to JSON data, the same for equal values in every process; for fingerprints only."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return [[canonical(key), canonical(value[key])] for key in sorted(value)]
    if isinstance(value, (frozenset, set)):
        return sorted(canonical(item) for item in value)
    if isinstance(value, (tuple, list)):
        return [canonical(item) for item in value]
    if is_dataclass(value):
        return [type(value).__name__, *(canonical(getattr(value, field.name)) for field in fields(value))]
    raise TypeError(f"{value!r} has no canonical form")


def fingerprint(state: Any) -> str:
    """Returns the fingerprint of a state: 64 bits as 16 hexadecimal digits."""
    return blake2b(_text(state).encode(), digest_size=_SIZE).hexdigest()


class Fingerprints:
    """
    Computes the fingerprints of successive states: `Fingerprints().of(state) == fingerprint(state)`.

    It keeps the canonical text of the last state, part by part. A part whose value is the same object as before keeps its text;
    the text before the first changed field is not hashed again.
    """

    __slots__ = ("_fields", "_hashes", "_last", "_state")

    def __init__(self) -> None:
        self._state: Any = None
        self._last = ""
        self._fields: list[_Rendered] = []
        self._hashes: list[Any] = []  #: the hash of all text before each field

    def of(self, state: Any) -> str:
        """Returns the fingerprint of a state."""
        if state is self._state and self._last:
            return self._last
        kind: Any = type(state)  # a class; to mypy, whose instances may have no hash
        values_of = _fields_of(kind)
        if values_of is None:
            return fingerprint(state)
        if kind is not type(self._state):
            self._fields = []
            self._hashes = [blake2b(f'["{kind.__name__}",'.encode(), digest_size=_SIZE)]
        self._state = state
        before = self._fields
        self._fields = _render_fields(state, values_of, before)
        changed = 0
        if before:
            while changed < len(before) - 1 and before[changed] is self._fields[changed]:
                changed += 1
        self._last = self._hash_from(changed)
        return self._last

    def _hash_from(self, changed: int) -> str:
        """Returns the hash of the fields; those before index `changed` are unchanged."""
        del self._hashes[changed + 1 :]
        for _, text, _ in self._fields[changed:-1]:
            upto = self._hashes[-1].copy()
            upto.update(f"{text},".encode())
            self._hashes.append(upto)
        whole = self._hashes[-1].copy()
        whole.update(f"{self._fields[-1][1]}]".encode())
        digest: str = whole.hexdigest()
        return digest


#: A value, its canonical text, and the cached data of its parts; a plain tuple, since millions of them are made.
_Rendered: TypeAlias = tuple[Any, str, Any]


def _render(value: Any, before: _Rendered | None) -> _Rendered:
    """Renders a value; `before` is the rendering of the previous value in its place."""
    if value is None:
        return None, "null", None
    kind: Any = type(value)
    if kind is int:
        return value, str(value), None
    if kind is str:
        return value, encode_basestring_ascii(value), None
    old = before[2] if before is not None and type(before[0]) is kind else None
    if kind is Table:
        return _render_table(value, old or {})
    if kind is tuple:
        return _render_tuple(value, before if old else None)
    if values_of := _fields_of(kind):
        parts = _render_fields(value, values_of, old)
        return value, f'["{kind.__name__}",{",".join([part[1] for part in parts])}]', parts
    return value, _text(value), None


def _render_fields(value: Any, values_of: Callable[[Any], tuple[Any, ...]], old: list[_Rendered] | None) -> list[_Rendered]:
    if not old:
        return [_render(part, None) for part in values_of(value)]
    return [before if part is before[0] else _render(part, before) for part, before in zip(values_of(value), old, strict=True)]


def _render_table(table: Table[Any, Any], old: dict[Any, tuple[Any, str, _Rendered]]) -> _Rendered:
    """Renders a table. The parts are its rows: of each the value, its text with that of its key, and the rendering of the row."""
    rows: dict[Any, tuple[Any, str, _Rendered]] = {}
    for key, row in table.items():
        before = old.get(key)
        if before is None or before[0] is not row:
            rendered = _render(row, before[2] if before else None)
            before = row, f"[{_text(key)},{rendered[1]}]", rendered
        rows[key] = before
    return table, f"[{','.join([row[1] for row in rows.values()])}]", rows


def _render_tuple(value: tuple[Any, ...], before: _Rendered | None) -> _Rendered:
    """
    Renders a tuple; the part is whether all items are integers.

    For integers, it reuses the text where items were added at the end or removed at the beginning, as in a sliding window.
    """
    if before is not None and value and type(value[-1]) is int and bool not in map(type, value):  # True equals 1
        if value[:-1] == before[0][1:]:
            kept = before[1].partition(",")[2]
            return value, f"[{kept[:-1]},{value[-1]}]" if kept else f"[{value[-1]}]", True
        if value[:-1] == before[0]:
            return value, f"{before[1][:-1]},{value[-1]}]", True
    return value, _text(value), bool(value) and all(type(item) is int for item in value)


@cache
def _fields_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Returns a getter for the field values of a dataclass; None for a class that has another canonical form."""
    if issubclass(kind, (str, int, Enum, Mapping, frozenset, set, tuple, list)) or not is_dataclass(kind):
        return None
    assert kind.__name__.isascii(), kind  # then the name is its own JSON
    match [field.name for field in fields(kind)]:
        case []:
            return None
        case [name]:
            only = attrgetter(name)
            return lambda value: (only(value),)
        case names:
            return attrgetter(*names)


def _text(value: Any) -> str:
    if type(value) is str:
        return encode_basestring_ascii(value)
    return json.dumps(canonical(value), separators=(",", ":"))
