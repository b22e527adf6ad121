"""Writes vectors as readable YAML: one step a line, with decoded bytes as comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.labels import message_text
from peerproof.spec.errors import MalformedMessage

_PLAIN: Final = re.compile(r"[a-z][a-z0-9_.]*(-[a-z0-9_.]+)*|[A-Z]{1,3}-[0-9]{2,3}")
_TAKEN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE: Final = re.compile("[\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff]")


def document(
    protocol: str, about: str, vectors: Iterable[Mapping[str, Any]], notes: Mapping[str, Mapping[str, str]] | None = None
) -> str:
    """A vector file with these vectors."""
    lines = ["format: 1", f"protocol: {protocol}", f"about: {_flow(about)}"]
    if notes:
        lines += ["notes:", *(f"  {flag}: {_flow(dict(note))}" for flag, note in notes.items())]
    lines.append("vectors:")
    for number, vector in enumerate(vectors):
        lines += [*([""] if number else []), *_lines(protocol, vector)]
    return "\n".join(lines) + "\n"


def _lines(protocol: str, vector: Mapping[str, Any]) -> Iterator[str]:
    for position, (name, value) in enumerate(vector.items()):
        begin = "- " if position == 0 else "  "
        if name in ("setup", "steps"):
            yield f"{begin}{name}:"
            yield from (f"  - {_flow(step)}{_remark(protocol, step)}" for step in value)
        elif name == "nodes":
            yield f"{begin}{name}:"
            yield from (f"    {node}: {_flow(about)}" for node, about in value.items())
        else:
            yield f"{begin}{name}: {value if name == 'id' else _flow(value)}"


def _flow(value: Any) -> str:
    """A value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_flow(name)}: {_flow(part)}" for name, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case str() if _PLAIN.fullmatch(value) and value not in _TAKEN:
            return value
        case str():
            quoted = json.dumps(value, ensure_ascii=False)
            return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
    return json.dumps(value)


def _remark(protocol: str, step: Mapping[str, Any]) -> str:
    """The decoded bytes of a step, as a comment."""
    sent: Sequence[Mapping[str, Any]] = [step["send"]] if "send" in step else []
    for messages in step.get("expect", {}).get("messages", {}).values():
        sent = [*sent, *messages]
    text = "; ".join(_reading(protocol, bytes.fromhex(one["bytes"])) for one in sent)
    return f"  # {text}" if text and text.isprintable() else ""


def _reading(protocol: str, data: bytes) -> str:
    message = specification(protocol).MESSAGE
    try:
        return message_text(message.plain(message.decode(data)))
    except MalformedMessage as error:
        return f"{data.hex() or 'nothing'} ({error.reason})"
