"""The state of a node as named fields, each with its value as text: what tables of nodes show and what searches compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from peerproof.conformance.diagrams.compact import chain_text
from peerproof.conformance.diagrams.labels import plain_text, visible
from peerproof.conformance.models.run_diagram import value_text
from peerproof.spec.core import Specification

#: Name of a field, such as `store[2].version`, and its value as text.
Fields: TypeAlias = Mapping[str, str]


def fields_of_variables(variables: Mapping[Any, Any]) -> Fields:
    """
    Returns the leaves of a model's variables, which are nested functions.

    >>> fields_of_variables({"store": {1: {"version": 0, "pairs": frozenset()}}})
    {'store[1].version': '0', 'store[1].pairs': '{}'}
    """
    return dict(_variables(variables, ""))


def fields_of_plain(plain: Any) -> Fields:
    """
    Returns the leaves of a state in plain form. Of a list of objects, each is named by its first member if that is unique.

    >>> fields_of_plain({"left": False, "rows": [{"addr": "a:1", "version": "7", "pairs": []}]})
    {'left': 'false', 'rows[a:1].version': '7', 'rows[a:1].pairs': '[]'}
    """
    return dict(_plain(plain, ""))


def fields_of_state(spec: Specification, state: Any) -> Fields:
    """Returns the fields of a node's state by its specification, as `fields_of_tables`."""
    return fields_of_tables(spec.STATE.plain(state))


def fields_of_tables(plain: Any) -> Fields:
    """
    Returns the fields of a state in plain form, in which a node is its id, and a whole table, or its version, is one field.

    >>> nodes = [{"id": name, "local_ip": "n", "global_ip": "n", "port": 1, "region": ""} for name in ("a", "b")]
    >>> cells = [{"row": 0, "column": place, "node": node} for place, node in enumerate(nodes)]
    >>> fields_of_tables({"routing_table": cells, "leaf_set": {"left": nodes, "right": []}})
    {'routing_table': 'row 0: 0 a, 1 b', 'leaf_set.left': '["a", "b"]', 'leaf_set.right': '[]'}
    """
    return fields_of_plain(_with_tables(plain))


def _with_tables(plain: Any) -> Any:
    match plain:
        case {"id": own, "port": _, "region": _}:
            return own
        case {"elements": [*_], "cut": _}:
            return chain_text(plain)
        case [{"row": _, "column": _, "node": _}, *_]:
            rows: dict[int, list[str]] = {}
            for cell in plain:
                rows.setdefault(cell["row"], []).append(f"{cell['column']} {_with_tables(cell['node'])}")
            return "\n".join(f"row {row}: {', '.join(cells)}" for row, cells in rows.items())
        case {"routing_table": str(one), "leaf_set": str(two), "neighborhood_set": str(three)}:
            return f"[{one}, {two}, {three}]"
        case Mapping():
            return {name: _with_tables(value) for name, value in plain.items()}
        case list():
            return [*map(_with_tables, plain)]
    return plain


def changed_fields(before: Fields, after: Fields) -> dict[str, str | None]:
    """
    Returns the fields that differ, with their values afterwards; None where a field is gone.

    >>> changed_fields({"a": "1", "b": "2"}, {"a": "1", "c": "3"})
    {'c': '3', 'b': None}
    """
    found: dict[str, str | None] = {name: value for name, value in after.items() if before.get(name) != value}
    return found | {name: None for name in before if name not in after}


def has_value(fields: Fields, field: str, value: str) -> bool:
    """
    Whether a field has this value; its name may be the end of a name, after a dot.

    >>> has_value({"table[2].status": "suspicious"}, "status", "suspicious")
    True
    """
    return any(found == value and is_named(name, field) for name, found in fields.items())


def is_named(name: str, field: str) -> bool:
    """Whether this is the name of a field, or its end after a dot."""
    return name == field or name.endswith(f".{field}")


def _variables(values: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = f"{prefix}.{key}" if prefix and isinstance(key, str) else f"{prefix}[{value_text(key)}]" if prefix else str(key)
        if isinstance(value, Mapping) and value:
            yield from _variables(value, name)
        else:
            yield name, visible(value_text(value))


def _plain(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value and set(value) != {"u64"}:
        for key, part in value.items():
            yield from _plain(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(isinstance(part, Mapping) for part in value):
        for key, part in zip(_keys(value), value, strict=True):
            is_named = isinstance(key, str) and len(part) > 1
            yield from _plain(dict([*part.items()][1:]) if is_named else part, f"{name}[{key}]")
    else:
        yield visible(name), visible(plain_text(value))


def _keys(parts: Sequence[Any]) -> Sequence[str | int]:
    """Returns what names each object of a list: its first member, or its place if that is not unique."""
    first = [key for part in parts if isinstance(part, Mapping) for key in [*part.values()][:1] if isinstance(key, str)]
    return first if len(set(first)) == len(parts) else range(len(parts))
