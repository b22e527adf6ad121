"""Labels of diagrams: plain values on one line, without invisible characters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

#: The most characters of a value in a report.
MOST_SHOWN: Final = 400

#: The prefix of a label that marks the fault.
MARK = "✗ "


def visible(text: str) -> str:
    """Returns a text with escapes for invisible characters and for those that change how others are shown."""
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
