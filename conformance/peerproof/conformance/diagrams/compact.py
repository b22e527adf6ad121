"""The compact form of messages, commands, timers and notices: one line, as diagrams of models have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from peerproof.conformance.diagrams.labels import message_text, plain_text
from peerproof.spec.forms.form import Form, ListOf, Optional, Plain, Record, Tagged
from peerproof.spec.protocols import PROTOCOLS

#: Renders plain data: of a kind of a line or effect of a trace (recv, api, timer or notify).
Renderer: TypeAlias = Callable[[str, Plain], str]

#: Stands for a member that is null.
NOTHING: Final = "–"

#: The member of which the members stand in the message itself.
_HEADER: Final = "header"


def render_whole(kind: str, plain: Plain) -> str:  # noqa: ARG001  # a `Renderer`
    """Renders plain data with the names of nested members."""
    return message_text(plain)


def select_renderer(protocol: str, *, is_full: bool = False) -> Renderer:
    """Returns the renderer of a protocol's plain data: compact, or `render_whole`."""
    if is_full or protocol not in PROTOCOLS:
        return render_whole
    spec = PROTOCOLS[protocol].specification.load()
    forms = {"recv": spec.MESSAGE.form, "api": spec.COMMAND, "timer": spec.TIMER, "notify": spec.NOTICE}
    return lambda kind, plain: compact_text(forms[kind], plain) if kind in forms else message_text(plain)


def compact_text(form: Tagged, plain: Plain) -> str:
    """
    Renders plain data on one line: its type, then the values of its members without their names.

    A record that describes a node is shown as its id. Null members of a header are left out, elsewhere `–` stands for them.
    What does not fit the form is shown whole.

    >>> from peerproof.spec.peter import MESSAGE
    >>> node = {"id": "0" * 31 + "5", "local_ip": "n", "global_ip": "n", "port": 6, "region": ""}
    >>> versions = {"routing_table": "3", "leaf_set": "2", "neighborhood_set": "2"}
    >>> header = {"sender": node, "key": "7" * 32, "versions": versions, "credentials": None, "hop": 0}
    >>> compact_text(MESSAGE.form, {"type": "subscribe", "header": header})
    'subscribe 00000000000000000000000000000005 77777777777777777777777777777777 [3, 2, 2] 0'
    """
    try:
        record = form.cases[plain["type"]]
        return " ".join([plain["type"], *_members(record, plain, _member)])
    except (KeyError, TypeError, AttributeError):
        return message_text(plain)


def _members(record: Record, plain: Mapping[str, Any], render: Callable[[Form, Plain], str]) -> Iterator[str]:
    """Yields the members of a record; for a header, its own members."""
    for name, form in record.forms.items():
        if name == _HEADER and isinstance(form, Record):
            yield from (render(inner, plain[name][each]) for each, inner in form.forms.items() if plain[name][each] is not None)
        elif name in plain:
            yield render(form, plain[name])


def _member(form: Form, value: Plain) -> str:
    """Renders a member of a message: its parts in square brackets, the items of a list without brackets of their own."""
    form = form.form if isinstance(form, Optional) else form
    match form:
        case ListOf(form=inner) if value is not None:
            return f"[{', '.join(_item(inner, item) for item in value)}]"
        case Record() if value is not None and not _is_node(form):
            return f"[{', '.join(_members(form, value, _part))}]"
    return _part(form, value)


def _item(form: Form, value: Plain) -> str:
    match form:
        case Tagged():
            return compact_text(form, value)
        case Record() if not _is_node(form):
            return " ".join(_members(form, value, _part))
    return _part(form, value)


def _part(form: Form, value: Plain) -> str:
    """Renders a value within a member: sequences and records in parentheses, any number of records in braces."""
    form = form.form if isinstance(form, Optional) else form
    if value is None:
        return NOTHING
    match form:
        case ListOf(form=inner):
            items = ", ".join(_part(inner, item) for item in value)
            return f"{{{items}}}" if isinstance(inner, Record) and not _is_node(inner) else f"({items})"
        case Record() if _is_node(form):
            return plain_text(value["id"])
        case Record():
            return f"({', '.join(_members(form, value, _part))})"
        case Tagged():
            return f"({compact_text(form, value)})"
    match value:
        case {"elements": [*_], "cut": _}:
            return chain_text(value)
        case {"node": _, "tick": _}:
            return _change_text(value)
    return plain_text(value)


def chain_text(chain: Mapping[str, Any]) -> str:
    """
    Renders a chain in the notation of DistKV's specification.

    >>> chain_text({"elements": [{"node": "n3", "tick": "1"}, {"node": "n2", "tick": "1"}], "cut": True})
    '[n3@1 n2@1 …]'
    """
    return f"[{' '.join([*map(_change_text, chain['elements']), *(['…'] if chain['cut'] else [])])}]"


def _change_text(element: Mapping[str, Any]) -> str:
    tick = element["tick"]
    return plain_text(element["node"]) if tick is None else f"{element['node']}@{plain_text(tick)}"


def _is_node(record: Record) -> bool:
    """Whether a record describes a node: it has its id and its port."""
    return {"id", "port"} <= record.forms.keys()
