"""
The plain-data form of whole states: a form for each field of the state's class.

Sets and tables become lists. The same declaration reads and writes a state, so a snapshot names its fields once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from typing import Any, Final

from peerproof.spec.core import NodeId, Table
from peerproof.spec.forms.form import Form, ListOf, Plain, Record, members, misfit, optional_fields


@dataclass(frozen=True)
class ShownAs(Form):
    """Values with the plain data of other values: sets and tables as tuples."""

    form: Form
    show: Callable[[Any], Any]  #: value -> the value that represents it
    read: Callable[[Any], Any]
    expected: str = ""  #: what the plain data must be, for the error, if `read` must not drop anything

    def plain(self, value: Any) -> Plain:
        """The plain data of the value that represents it."""
        return self.form.plain(self.show(value))

    def value(self, plain: Plain, where: str = "") -> Any:
        """From the plain data of the value that represents it."""
        shown = self.form.value(plain, where)
        value = self.read(shown)
        if self.expected and len(value) < len(shown):
            raise misfit(where, self.expected, plain)
        return value


def set_of(form: Form, key: Callable[[Any], Any] | None = None) -> ShownAs:
    """Returns the form of a frozenset as a list, sorted by a key."""
    return ShownAs(ListOf(form), lambda value: sorted(value, key=key), frozenset)


def table_of(form: Form, show: Callable[..., Any], read: Callable[[Any], tuple[Any, Any]] = tuple, expected: str = "") -> ShownAs:
    """Returns the form of a table as a list: `show` maps a key and its row to an item, `read` maps an item back."""
    return ShownAs(
        ListOf(form), lambda table: [show(*row) for row in table.items()], lambda items: Table(dict(map(read, items))), expected
    )


def rows_by(form: Form, key: Callable[[Any], Any]) -> ShownAs:
    """Returns the form of a table as the list of its rows, each of which contains its key."""
    return table_of(form, lambda _, row: row, lambda row: (key(row), row))


def rows_of(kind: type[Any], name: str, key: Form, /, expected: str = "", **forms: Form) -> ShownAs:
    """Returns the form of a table as a list of objects: the key, under `name`, and the fields of the row, a value of `kind`."""
    defaults = {known.name: known for known in fields(kind)} if is_dataclass(kind) else {}
    own = [(part, Any, _same_default(defaults[part])) if part in defaults else (part, Any) for part in forms]
    entry = make_dataclass(kind.__name__, [(name, Any), *own], frozen=True)
    return table_of(
        Record(entry, **{name: key}, **forms),
        lambda known, row: entry(known, *[getattr(row, part) for part in forms]),
        lambda item: (getattr(item, name), kind(*[getattr(item, part) for part in forms])),
        expected,
    )


def _same_default(known: Any) -> Any:
    if known.default_factory is not MISSING:
        return field(default_factory=known.default_factory)
    return field(default=known.default) if known.default is not MISSING else field()


class StateForm:
    """
    The plain-data form of a protocol's states: objects with the fields of the state.

    The node's name and configuration are not included. A field with a default in the state's class may be missing. A protocol
    whose states show other values as well overrides `field_values` and `state`; one whose fields depend on each other, `check`.
    """

    def __init__(self, kind: type[Any], /, **forms: Form) -> None:
        self.kind: Final = kind
        self.forms: Final[Mapping[str, Form]] = forms
        self._optional: Final = optional_fields(kind) | (forms.keys() - {known.name for known in fields(kind)})

    def plain(self, state: Any) -> Plain:
        """Returns the plain data of a state."""
        shown = self.field_values(state)
        return {name: form.plain(shown[name]) for name, form in self.forms.items()}

    def value(self, plain: Plain, self_id: NodeId, config: Any, where: str = "") -> Any:
        """Returns the state of the node with this name from plain data. Raises MalformedMessage for an impossible state."""
        state = self.state(plain, self_id, config, members(self.forms, self._optional, plain, where))
        self.check(state, plain)
        return state

    def field_values(self, state: Any) -> Mapping[str, Any]:
        """Returns the values to show, by the names of their forms."""
        return {name: getattr(state, name) for name in self.forms}

    def state(self, plain: Plain, self_id: NodeId, config: Any, shown: dict[str, Any]) -> Any:  # noqa: ARG002  # for errors
        """Returns the state of a node that has these values."""
        return self.kind(self_id, config, **shown)

    def check(self, state: Any, plain: Plain) -> None:
        """Raises MalformedMessage for a state that no node can be in."""


@dataclass(frozen=True)
class StatesOf(Form):
    """The states of one node, for a protocol on top of another one."""

    form: StateForm
    self_id: NodeId
    config: Any

    def value(self, plain: Plain, where: str = "") -> Any:
        """See `StateForm`."""
        return self.form.value(plain, self.self_id, self.config, where)
