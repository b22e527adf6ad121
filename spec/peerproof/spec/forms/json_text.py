"""
The JSON text of values, without plain data in between.

`writer(form)` writes the same text as `dumps(form.plain(value))`, several times as fast. A replay compares a trace with the
specification as text first, and as data only where the texts differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from peerproof.spec.core import CancelTimer, Notify, Send, SetTimer, Specification
from peerproof.spec.forms.form import U64, Form, Integer, ListOf, Optional, Plain, Record, Tagged, Text

Writer: TypeAlias = Callable[[Any], str]

#: A cache is cleared when it holds this many results; it does not take results for longer texts or longer tuples.
MOST_REMEMBERED: Final = 2**12
LONGEST_REMEMBERED: Final = 2**11


def dumps(plain: Plain, *, sort: bool = False) -> str:
    """Returns JSON without spaces; characters that are not ASCII are not escaped."""
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=False, sort_keys=sort)


def writer(form: Form, *, sort: bool = False) -> Writer:
    """Returns a function that writes values of this form, with their members as declared or sorted by name."""
    if isinstance(form, U64):
        return '"{}"'.format
    if isinstance(form, Integer):
        return str
    if isinstance(form, Text):
        return remembering(lambda value: dumps(form.plain(value)))
    if isinstance(form, Optional):
        write = writer(form.form, sort=sort)
        return lambda value: "null" if value is None else write(value)
    if isinstance(form, ListOf):
        item = writer(form.form, sort=sort)
        if isinstance(form.form, Record) and issubclass(form.form.kind, tuple):  # named tuples hash in C
            item = remembering(item)
        return lambda values: f"[{','.join(map(item, values))}]"
    if isinstance(form, Record):
        return _record(form, {}, sort=sort)
    if isinstance(form, Tagged):
        cases = {record.kind: _record(record, {"type": dumps(name)}, sort=sort) for name, record in form.cases.items()}
        return lambda value: cases[type(value)](value)
    return lambda value: dumps(form.plain(value), sort=sort)


def effect_writer(spec: Specification, *, sort: bool = False, on_message: Callable[[str, Any], None] | None = None) -> Writer:
    """Returns a function that writes effects in the form of `trace.effect_plain`; `on_message` gets each text and its message."""
    to = writer(Text(most=2**16))
    message, timer, notice = (writer(form, sort=sort) for form in (spec.MESSAGE.form, spec.TIMER, spec.NOTICE))

    def send(effect: Any) -> str:
        text = message(effect.message)
        if on_message is not None:
            on_message(text, effect.message)
        if sort:
            return f'{{"send":{{"message":{text},"to":{to(effect.to)}}}}}'
        return f'{{"send":{{"to":{to(effect.to)},"message":{text}}}}}'

    def set_timer(effect: Any) -> str:
        if sort:
            return f'{{"set_timer":{{"after":{effect.after},"timer":{timer(effect.timer)}}}}}'
        return f'{{"set_timer":{{"timer":{timer(effect.timer)},"after":{effect.after}}}}}'

    writers: dict[type[Any], Writer] = {
        Send: send,
        SetTimer: set_timer,
        CancelTimer: lambda effect: f'{{"cancel_timer":{{"timer":{timer(effect.timer)}}}}}',
        Notify: lambda effect: f'{{"notify":{notice(effect.notice)}}}',
    }
    return lambda effect: writers[type(effect)](effect)


def remembering(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """
    Returns the function with a cache for some of its results, none of them None.

    `functools.lru_cache` takes longer, to keep its order, which short functions do not need. Long texts are not cached, so that
    the memory is bounded.
    """
    known: dict[Any, Any] = {}

    def remembered(argument: Any) -> Any:
        result = known.get(argument)
        if result is None:
            result = function(argument)
            if len(argument) <= LONGEST_REMEMBERED:
                if len(known) >= MOST_REMEMBERED:
                    known.clear()
                known[argument] = result
        return result

    return remembered


def _record(form: Record, constant: dict[str, str], *, sort: bool) -> Writer:
    names = [*constant, *form.forms]
    if sort:
        names.sort()
    members = [f"{dumps(name)}:{constant.get(name, '%s')}" for name in names]  # names have no `%`
    template = f"{{{','.join(members)}}}"
    parts = [(name, writer(form.forms[name], sort=sort)) for name in names if name in form.forms]
    if len(parts) == 1:
        ((only, write_only),) = parts
        return lambda value: template % write_only(getattr(value, only))
    return lambda value: template % tuple([write(getattr(value, name)) for name, write in parts])
