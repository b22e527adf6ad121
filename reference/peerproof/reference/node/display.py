"""
What a running node knows, for people as a table and for programs as JSON lines; both only when it has changed.

Texts come from strangers: what a terminal would obey is shown as an escape.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from peerproof.spec.core import Instant
from peerproof.spec.forms.form import Plain


def json_line(self_id: str, now: Instant, known: Mapping[str, Plain]) -> str:
    """The knowledge as a JSON line."""
    return json.dumps({"node": self_id, "t_ms": now, **known})


def table(self_id: str, known: dict[str, Plain]) -> str:
    """
    The knowledge as a table: a row per peer and, below one another, a row per item of its list.

    The first answer is a list of objects whose first member names the peer; what a further such list says stands beside the
    peer that it is about. An answer that is one object, of the node itself, is a line above.
    If the first answer is no list, nothing is about peers, and all is shown as it is.
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
        beside = {name: value for name, value in statuses.get(_name(record), {}).items() if name not in record}
        if _name(record) == text(self_id):
            beside = {"status": "(this node)"}
        rows += _rows({**record, **beside})
    return "\n".join([*lines, align_rows(rows)] if rows else lines)


def align_rows(rows: Iterable[dict[str, str]]) -> str:
    """Rows under headings, columns wide enough for their longest text."""
    rows = list(rows)
    headings = list(dict.fromkeys(name for row in rows for name in row))
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in rows)) for name in headings}
    lines = [{name: name.upper() for name in headings}, *rows]
    return "\n".join("  ".join(line.get(name, "").ljust(widths[name]) for name in headings).rstrip() for line in lines)


def text(value: Plain) -> str:
    """A plain value on one line, with escapes for what is not printable."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return f"0x{value['hex']}"
    shown = value if isinstance(value, str) else json.dumps(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def _plainly(known: dict[str, Plain]) -> Iterator[str]:
    """Answers that are about no peers: what is one object on a line, an item of a list on a line of its own."""
    for name, answer in known.items():
        if isinstance(answer, dict):
            yield f"{name}: " + "  ".join(f"{member}={text(value)}" for member, value in answer.items())
        else:
            yield f"{name}:"
            for item in answer:
                yield "  " + "  ".join(map(text, item if isinstance(item, list) else [item]))


def _name(record: dict[str, Plain]) -> str:
    return text(next(iter(record.values())))


def _rows(record: dict[str, Plain]) -> list[dict[str, str]]:
    """One row, or one for each item of the record's lists, whose members become columns with the list's name in front."""
    own = {name: text(value) for name, value in record.items() if not isinstance(value, list)}
    items = [
        {(name if name not in own else f"{name} of {heading}"): text(value) for name, value in item.items()}
        for heading, listed in record.items()
        if isinstance(listed, list)
        for item in listed
    ]
    first, *others = items or [{}]
    return [own | first, *others]
