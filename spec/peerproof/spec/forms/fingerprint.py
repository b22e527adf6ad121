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
from itertools import compress, count
from json.encoder import encode_basestring_ascii
from operator import attrgetter, is_not
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

    It keeps the canonical text of the last state, part by part, and the hash of all text before each field, and before each
    block of a long last field. A part whose value is the same object as before keeps its text; the text before the first change
    is not hashed again.
    """

    __slots__ = ("_block_hashes", "_blocks", "_fields", "_hashes", "_last", "_state")

    def __init__(self) -> None:
        self._state: Any = None
        self._last = ""
        self._fields: list[_Rendered] = []
        self._hashes: list[Any] = []  #: the hash of all text before each field
        self._blocks: list[bytes] = []  #: the text of the last field, without the rest that fills no block
        self._block_hashes: list[Any] = []  #: the hash of all text up to the end of each block

    def of(self, state: Any) -> str:
        """Returns the fingerprint of a state."""
        if state is self._state and self._last:
            return self._last
        kind: Any = type(state)  # a class; to mypy, whose instances may have no hash
        values_of = _fields_of(kind)
        if values_of is None:
            return fingerprint(state)
        before = self._fields
        if kind is not type(self._state):
            before = []
            self._hashes = [blake2b(f'["{kind.__name__}",'.encode(), digest_size=_SIZE)]
        self._state = state
        self._fields = _render_fields(values_of(state), before)
        changed = 0
        if before:
            while changed < len(before) - 1 and before[changed] is self._fields[changed]:
                changed += 1
        self._last = self._hash_from(changed)
        return self._last

    def _hash_from(self, changed: int) -> str:
        """Returns the hash of the fields; those before index `changed` are unchanged."""
        if changed < len(self._fields) - 1 or len(self._hashes) < len(self._fields):
            self._blocks, self._block_hashes = [], []
        del self._hashes[changed + 1 :]
        for _, text, _ in self._fields[changed:-1]:
            upto = self._hashes[-1].copy()
            upto.update(f"{text},".encode())
            self._hashes.append(upto)
        return self._hash_last_field(f"{self._fields[-1][1]}]".encode())

    def _hash_last_field(self, text: bytes) -> str:
        """Returns the hash of everything; this is the text of the last field, whose blocks before the first change are kept."""
        blocks, hashes = self._blocks, self._block_hashes
        kept = 0
        while kept < len(blocks) and text.startswith(blocks[kept], kept * _BLOCK):
            kept += 1
        del blocks[kept:], hashes[kept:]
        whole = (hashes[-1] if hashes else self._hashes[-1]).copy()
        at = kept * _BLOCK
        while len(text) - at >= _BLOCK:
            block = text[at : at + _BLOCK]
            whole.update(block)
            blocks.append(block)
            hashes.append(whole.copy())
            at += _BLOCK
        whole.update(text[at:])
        digest: str = whole.hexdigest()
        return digest


#: The bytes of a block: so many are hashed in a microsecond.
_BLOCK: Final = 1024

#: A value, its canonical text, and the cached data of its parts; a plain tuple, since millions of them are made.
_Rendered: TypeAlias = tuple[Any, str, Any]


def _render(value: Any, before: _Rendered | None) -> _Rendered:
    """Renders a value; `before` is the rendering of the previous value in its place."""
    kind: Any = type(value)
    if kind is int:
        return value, str(value), None
    if value is None:
        return None, "null", None
    if kind is str:
        return value, encode_basestring_ascii(value), None
    old = before[2] if before is not None and type(before[0]) is kind else None
    if kind is tuple:
        return _render_tuple(value, before if old is not None else None)
    if kind is Table:
        return _render_table(value, old)
    if values_of := _fields_of(kind):
        parts = _render_fields(values_of(value), old)
        return value, f'["{kind.__name__}",{",".join([text for _, text, _ in parts])}]', parts
    return value, _text(value), None


def _render_fields(values: tuple[Any, ...], old: list[_Rendered] | None) -> list[_Rendered]:
    if not old:
        return [_render(part, None) for part in values]
    return [before if part is before[0] else _render(part, before) for part, before in zip(values, old, strict=True)]


#: The keys of a table, its rows, the renderings of the rows, and of each key and its row the text.
_Rows: TypeAlias = tuple[list[Any], list[Any], list[_Rendered], list[str]]


def _render_table(table: Table[Any, Any], old: _Rows | None) -> _Rendered:
    """Renders a table. If it has the same keys as before, only the changed rows are rendered again."""
    keys, rows = list(table), list(table.values())
    if old is None or old[0] != keys:
        known = dict(zip(old[0], old[2], strict=True)) if old else {}
        parts = [_render_again(row, known.get(key)) for key, row in zip(keys, rows, strict=True)]
        texts = [f"[{_text(key)},{text}]" for key, (_, text, _) in zip(keys, parts, strict=True)]
    else:
        _, before, parts, texts = old
        parts, texts = parts.copy(), texts.copy()
        for index in compress(count(), map(is_not, rows, before)):
            parts[index] = _render(rows[index], parts[index])
            texts[index] = f"[{_text(keys[index])},{parts[index][1]}]"
    return table, f"[{','.join(texts)}]", (keys, rows, parts, texts)


def _render_again(value: Any, before: _Rendered | None) -> _Rendered:
    return before if before is not None and before[0] is value else _render(value, before)


def _render_tuple(value: tuple[Any, ...], before: _Rendered | None) -> _Rendered:
    """
    Renders a tuple; the part is None unless all items are integers, and else whether all are above 1.

    For integers, it reuses the text where items were added at the end or removed at the beginning, as in a sliding window. The
    types need not be looked at where all are above 1: no boolean is equal to those.
    """
    are_above_one = before[2] if before is not None else None
    if before is None or are_above_one is None or not value or type(value[-1]) is not int:
        return value, _text(value), _are_above_one(value)
    if not (are_above_one or {*map(type, value)} == {int}):
        return value, _text(value), None
    was, text, _ = before
    if value[:-1] == was[1:]:
        kept = text.partition(",")[2]
        text = f"[{kept[:-1]},{value[-1]}]" if kept else f"[{value[-1]}]"
        return value, text, (are_above_one and value[-1] > 1) or (was[0] <= 1 and min(value) > 1)
    if value[:-1] == was:
        return value, f"{text[:-1]},{value[-1]}]", are_above_one and value[-1] > 1
    return value, _text(value), _are_above_one(value)


def _are_above_one(items: tuple[Any, ...]) -> bool | None:
    """Returns whether all items are above 1, if all are integers."""
    return min(items) > 1 if {*map(type, items)} == {int} else None


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
    """Returns the canonical form of a value as JSON."""
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is int:
        return str(value)
    if isinstance(value, tuple):
        return f"[{','.join([_text(item) for item in value])}]"
    return json.dumps(canonical(value), separators=(",", ":"))
