"""Texts of a diagram: plain values on one line, with nothing invisible in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: What a label begins with if it is what is wrong.
MARK = "✗ "


def visible(text: str) -> str:
    """A text with whatever would not be seen, or would change how the rest is seen, written out."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\u{{{ord(c):x}}}" for c in text)


def message_text(message: Any) -> str:
    """A message in plain form, on one line: its type, then its fields without their names."""
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
    """A plain value on one line, a text without its quotes."""
    match value:
        case str():
            return value
        case {"u64": str() as digits}:
            return digits
    return json.dumps(value, ensure_ascii=False)
