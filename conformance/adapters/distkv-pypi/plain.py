"""Values of the original as the suite shows them, and back: JSON, and objects with one member for what JSON has not."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from msgpack import ExtType

#: Beyond this, readers of JSON round integers.
EXACT = 2**53


def shown(raw: Any) -> Any:
    """What msgpack has unpacked, with tuples for lists."""
    if isinstance(raw, bytes):
        return {"$bin": raw.hex()}
    if isinstance(raw, ExtType):
        return {"$ext": [raw.code, raw.data.hex()]}
    if isinstance(raw, (tuple, list)):
        return [shown(item) for item in raw]
    if isinstance(raw, Mapping):
        if all(isinstance(key, str) and key[:1] != "$" for key in raw):
            return {key: shown(item) for key, item in raw.items()}
        return {"$map": [[shown(key), shown(item)] for key, item in raw.items()]}
    if isinstance(raw, float):
        return raw if isfinite(raw) and not raw.is_integer() else {"$float": repr(raw)}
    if isinstance(raw, int) and not -EXACT <= raw <= EXACT:
        return {"$int": str(raw)}
    return raw


def read(plain: Any) -> Any:
    """What msgpack packs as that."""
    if isinstance(plain, list):
        return tuple(read(item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    match plain:
        case {"$bin": digits}:
            return bytes.fromhex(digits)
        case {"$int": digits}:
            return int(digits)
        case {"$float": digits}:
            return float(digits)
        case {"$ext": [code, digits]}:
            return ExtType(code, bytes.fromhex(digits))
        case {"$map": pairs}:
            return {read(key): read(item) for key, item in pairs}
    return {key: read(item) for key, item in plain.items()}
