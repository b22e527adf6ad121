"""
States with more in them than anybody wants to write.

In a list of a state, `{numbered: {from: 1, to: 65535, item: …}}` stands for that many items. In the texts of each, a row of `#`
is the number of the item in as many hexadecimal digits.
"""

from __future__ import annotations

import re
from typing import Any, Final

from peerproof.spec.forms.form import Plain

WORD: Final = "numbered"
_MEMBERS: Final = {"from", "to", "item"}
_DIGITS: Final = re.compile("#+")


class WrongNumbers(ValueError):
    """Something has the name, and is no such thing."""


def expand_numbered(plain: Plain) -> Plain:
    """Plain data with all items in it. Raises WrongNumbers."""
    if isinstance(plain, dict):
        return {name: expand_numbered(value) for name, value in plain.items()}
    if not isinstance(plain, list):
        return plain
    found: list[Plain] = []
    for item in plain:
        if isinstance(item, dict) and item.keys() == {WORD}:
            found += _items(item[WORD])
        else:
            found.append(expand_numbered(item))
    return found


def _items(numbered: Any) -> list[Plain]:
    if not isinstance(numbered, dict) or numbered.keys() != _MEMBERS:
        raise WrongNumbers(f"{WORD}: expected from, to and item")
    first, last = numbered["from"], numbered["to"]
    if type(first) is not int or type(last) is not int or not 0 <= first <= last:
        raise WrongNumbers(f"{WORD}: expected whole numbers, from not above to")
    return [_item(numbered["item"], number) for number in range(first, last + 1)]


def _item(plain: Plain, number: int) -> Plain:
    if isinstance(plain, dict):
        return {name: _item(value, number) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_item(value, number) for value in plain]
    if isinstance(plain, str) and "#" in plain:
        return _DIGITS.sub(lambda row: f"{number:0{len(row[0])}x}", plain)
    return plain
