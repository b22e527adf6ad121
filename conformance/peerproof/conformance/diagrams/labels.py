"""Labels of diagrams: plain values on one line, without invisible characters."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

#: The most characters of a value in a report.
MOST_SHOWN: Final = 400

#: The prefix of a label that marks the fault.
MARK = "✗ "


def visible(text: str) -> str:
    """Returns a text with escapes for invisible characters and for those that change how others are shown."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else f"\\u{{{ord(c):x}}}" for c in text)


def message_text(message: Any) -> str:
    """A message in plain form on one line: its type, then its fields without their names."""
    if not isinstance(message, Mapping) or "type" not in message:
        return plain_text(message)
    fields = (value for name, value in message.items() if name != "type")
    return " ".join([str(message["type"]), *(_field(field) for field in fields)])


def _field(value: Any) -> str:
    if isinstance(value, list):
        items = (" ".join(map(plain_text, item.values())) if isinstance(item, Mapping) else plain_text(item) for item in value)
        return f"[{', '.join(items)}]"
    return plain_text(value)


def plain_text(value: Any) -> str:
    """A plain value on one line, a string without its quotes unless it is empty."""
    match value:
        case "":
            return '""'
        case str():
            return value
        case {"u64": str() as digits}:
            return digits
    return json.dumps(value, ensure_ascii=False)


#: UUIDs, and ids of 128 bits.
_ID: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})(?![0-9A-Za-z])")
_SHORT: Final = 8


def id_shortener(texts: Iterable[str], kept: Iterable[str] = ()) -> Callable[[str], str]:
    """
    Returns a function that cuts the long ids of these texts to 8 digits, if they differ there; ids in `kept` stay whole.

    >>> one, other = "833dde17f62208cf58fc13205267301c", "833dde17000000000000000000000000"
    >>> id_shortener([one])(f"node {one}, port 1")
    'node 833dde17, port 1'
    >>> id_shortener([one], [other])(one) == one
    True
    """
    ids = {found for text in texts for found in _ID.findall(text)}
    whole = {found for text in kept for found in _ID.findall(text)}
    count = Counter(each[:_SHORT] for each in ids | whole)
    short = {each: each[:_SHORT] for each in ids - whole if count[each[:_SHORT]] == 1}
    return lambda text: _ID.sub(lambda found: short.get(found[0], found[0]), text)


def window_texts(one: str, other: str, most: int = MOST_SHOWN) -> tuple[str, str]:
    """
    Shortens two texts for a report: shows the same part of both, around their first difference.

    >>> window_texts("a" * 1000 + "b", "a" * 1000, 20)
    ('(990 characters) …aaaaaaaaaab', '(990 characters) …aaaaaaaaaa')
    """
    if max(len(one), len(other)) <= most:
        return one, other
    alike = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    begin = max(0, next(alike, min(len(one), len(other))) - most // 2)
    begin -= begin % 2  # bytes are pairs of digits
    return _window(one, begin, most), _window(other, begin, most)


def _window(text: str, begin: int, most: int) -> str:
    before = f"({min(begin, len(text)):,} characters) …" if begin else ""
    cut = begin + most < len(text)
    return f"{before}{text[begin : begin + most]}" + (f"… ({len(text):,} characters in all)" if cut else "")
