"""Events and effects of a trace on one line each, for people."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from peerproof.conformance.diagrams.compact import Renderer, render_whole
from peerproof.conformance.diagrams.labels import message_text, visible
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Line

#: Microseconds; a clock that begins with its process does not run that long.
SINCE_1970: Final = 2**49


def origin_of(first: int) -> int:
    """Returns when a trace begins, in microseconds: with its first line if times count from 1970, else at 0."""
    return first if first >= SINCE_1970 else 0


def instant_text(t_us: int) -> str:
    """
    The time of an event: since 1970 as a date, else in milliseconds.

    >>> instant_text(1_500_000), instant_text(1_714_557_600_000_100)
    ('1,500 ms', '2024-05-01T10:00:00.000Z')
    """
    if t_us < SINCE_1970:
        return f"{t_us // 1000:,} ms"
    return datetime.fromtimestamp(t_us / 1_000_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_text(line: Line, render: Renderer = render_whole) -> str:
    """The event of a trace line: `recv from n0:1: delta []`, `timer round`, `update_local k v`."""
    match line.kind:
        case "start":
            text = "start"
        case "recv":
            text = f"recv from {line.peer}: {render('recv', line.args)}"
        case "sent":
            arrived = "arrived" if line.args.get("took") is not None else "did not arrive"
            text = f"sent to {line.peer}, {arrived}: {render('recv', line.args.get('message'))}"
        case "timer":
            text = f"timer {render('timer', line.args)}"
        case kind:
            text = render(kind, line.args)
    return visible(text)


def effect_text(effect: Plain) -> str:
    """An effect in plain form: `send to n0:1: delta []`, `set timer round in 1000 ms`."""
    match effect:
        case {"send": {"to": to, "message": message, **rest}} if not rest:
            text = f"send to {to}: {message_text(message)}"
        case {"notify": notice}:
            text = f"notify {message_text(notice)}"
        case {"set_timer": {"timer": timer, "after": after}}:
            text = f"set timer {message_text(timer)} in {after} ms"
        case {"cancel_timer": {"timer": timer}}:
            text = f"cancel timer {message_text(timer)}"
        case _:
            text = json.dumps(effect, ensure_ascii=False)
    return visible(text)
