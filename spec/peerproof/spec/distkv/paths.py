"""
Paths: the lists of names that identify entries. [D-32…D-36]

A path is stored as its canonical bytes, like a value, with the empty byte string written as the empty string. So two paths are
equal if their bytes are equal: 1, 1.0 and true are three names, and no text is normalised. [D-34, D-35, DA-27]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NewType, TypeAlias

from peerproof.spec.distkv.values import plain_of_raw, raw_of_plain
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.forms.messagepack import array_header, pack, unpack

#: A name on a path; None is valid only as the first one, for the meta hierarchy. [D-33, D-36, DA-26]
Name: TypeAlias = str | bytes | int | float | bool | None

#: The canonical MessagePack of a list of names.
Path = NewType("Path", bytes)

#: The path of the root entry, without names. [D-105]
ROOT: Final = Path(b"\x90")

_NAMES: Final = frozenset((str, bytes, int, float, bool))


def path_of(names: Iterable[Name]) -> Path:
    """Returns the path of these names. Raises NotEnabled if one is invalid."""
    parts = []
    for place, name in enumerate(names):
        if name is None and place > 0:
            raise NotEnabled("bad_value", "null is no name, but in the first place, where it means the meta hierarchy")
        if name is not None and type(name) not in _NAMES:
            raise NotEnabled("bad_value", f"a name is a string, bytes or a number, not {name!r}")
        if name != name:  # noqa: PLR0124  # only a NaN differs from itself
            raise NotEnabled("bad_value", "a name is a number or a string, and NaN is neither")
        parts.append(pack("" if name == b"" else name))
    return Path(array_header(len(parts)) + b"".join(parts))


def names_of(path: Path) -> tuple[Name, ...]:
    """Returns the names of a path."""
    names: tuple[Name, ...] = unpack(path)
    return names


def is_meta(path: Path) -> bool:
    """Whether a path is in the meta hierarchy, which is not directly accessible. [D-36]"""
    return names_of(path)[:1] == (None,)


def read(raw: Any) -> Path:
    """Decodes a received path. Raises MalformedMessage."""
    if type(raw) is not tuple:
        raise MalformedMessage("bad_type", 0, f"a path is a list of names, not {raw!r}")
    try:
        return path_of(raw)
    except NotEnabled as error:
        raise MalformedMessage("bad_value", 0, str(error)) from None


def plain_of_path(path: Path) -> Plain:
    """Returns the list of a path's names, each in the form of values."""
    return [plain_of_raw(name) for name in names_of(path)]


def path_of_plain(plain: Plain) -> Path:
    """Returns the path from plain data. Raises NotEnabled."""
    if not isinstance(plain, list):
        raise NotEnabled("bad_value", f"a path is a list of names, not {plain!r}")
    return path_of(raw_of_plain(name, 0) for name in plain)
