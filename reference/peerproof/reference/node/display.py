"""
Rendering of a node's query answers, as a table and as JSON lines.

Texts come from peers, so characters that are not printable, such as terminal control sequences, are escaped.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping

from peerproof.spec.core import Instant
from peerproof.spec.forms.form import Plain


def json_line(self_id: str, now: Instant, known: Mapping[str, Plain]) -> str:
    """Renders the answers as a JSON line."""
    return json.dumps({"node": self_id, "t_ms": now, **known})


def without(plain: Plain, members: Collection[str]) -> Plain:
    """
    Returns plain data without these members of its objects.

    >>> without({"nodes": [{"status": "normal", "tx": "7"}]}, ["tx"])
    {'nodes': [{'status': 'normal'}]}
    """
    if isinstance(plain, Mapping):
        return {name: without(value, members) for name, value in plain.items() if name not in members}
    return [without(item, members) for item in plain] if isinstance(plain, list) else plain


def table(self_id: str, known: dict[str, Plain]) -> str:
    """
    Renders the answers as a table, with one row per peer, or one per item of the peer's list.

    The first answer is a list of objects whose first member names the peer. A further list of such objects adds columns to the
    rows of its peers. An answer that is a single object is about the node itself and becomes a line above the table.
    If the first answer is no list, no answer is about peers, and each is shown without a table.
    """
    peers, *others = known.values()
    if not isinstance(peers, list):
        return "\n".join(_plainly(known))
    lines = [
        "  ".join(f"{name}={text(value)}" for name, value in of_self.items()) for of_self in others if isinstance(of_self, dict)
    ]
    statuses = {_name(row): row for listed in others if isinstance(listed, list) for row in listed}
    rows: list[dict[str, str]] = []
    for record in peers:
        added = {name: value for name, value in statuses.get(_name(record), {}).items() if name not in record}
        if _name(record) == text(self_id):
            added = {"status": "(this node)"}
        rows += _rows({**record, **added})
    return "\n".join([*lines, align_rows(rows)] if rows else lines)


def align_rows(rows: Iterable[dict[str, str]]) -> str:
    """Renders rows under headings, with aligned columns."""
    rows = list(rows)
    headings = list(dict.fromkeys(name for row in rows for name in row))
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in rows)) for name in headings}
    lines = [{name: name.upper() for name in headings}, *rows]
    return "\n".join("  ".join(line.get(name, "").ljust(widths[name]) for name in headings).rstrip() for line in lines)


def text(value: Plain) -> str:
    """Renders a plain value on one line; characters that are not printable are escaped."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return f"0x{value['hex']}"
    shown = value if isinstance(value, str) else json.dumps(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def _plainly(known: dict[str, Plain]) -> Iterator[str]:
    """Renders answers that are not about peers: an object on one line, a list of objects as a table, other items line by line."""
    for name, answer in known.items():
        if isinstance(answer, dict):
            yield f"{name}: " + "  ".join(f"{member}={text(value)}" for member, value in answer.items())
        elif answer and isinstance(answer[0], dict):
            yield f"{name}:"
            rows = align_rows({member: text(value) for member, value in row.items()} for row in answer)
            yield from (f"  {line}" for line in rows.splitlines())
        else:
            yield f"{name}:"
            for item in answer:
                yield "  " + "  ".join(map(text, item if isinstance(item, list) else [item]))


def _name(record: dict[str, Plain]) -> str:
    return text(next(iter(record.values())))


def _rows(record: dict[str, Plain]) -> list[dict[str, str]]:
    """
    Returns one row, or one for each item of the record's lists.

    The members of an item become columns; a name that the record has too is written `member of list`.
    """
    own = {name: text(value) for name, value in record.items() if not isinstance(value, list)}
    items = [
        {(name if name not in own else f"{name} of {heading}"): text(value) for name, value in item.items()}
        for heading, listed in record.items()
        if isinstance(listed, list)
        for item in listed
    ]
    first, *others = items or [{}]
    return [own | first, *others]
