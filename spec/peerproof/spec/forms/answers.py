"""Shapes of the answers to queries: plain data that is compared as it is, or in its one canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, NamedTuple

from peerproof.spec.forms.form import Flag, Form, ListOf, Plain, members, misfit


class Answer(NamedTuple):
    """The answer to a query."""

    about: str  #: a sentence
    form: Any  #: a Form, or a StateForm


class Count(Form):
    """A number, 0 or more."""

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an integer."""
        if type(plain) is not int or plain < 0:
            raise misfit(where, "a number, 0 or more", plain)
        return plain


class Members(Form):
    """An object with exactly these members."""

    def __init__(self, /, **forms: Form) -> None:
        self.forms: Final[Mapping[str, Form]] = forms

    def plain(self, value: Any) -> Plain:
        """An object with each member in its form."""
        return {name: form.plain(value[name]) for name, form in self.forms.items()}

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such an object."""
        return members(self.forms, (), plain, where)


class Items(Form):
    """A list with exactly these items."""

    def __init__(self, /, **forms: Form) -> None:
        self.forms: Final[Mapping[str, Form]] = forms

    def plain(self, value: Any) -> Plain:
        """A list with each item in its form."""
        return [form.plain(item) for form, item in zip(self.forms.values(), value, strict=True)]

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such a list."""
        if not isinstance(plain, list) or len(plain) != len(self.forms):
            raise misfit(where, f"a list of {', '.join(self.forms)}", plain)
        return [form.value(item, f"{where}.{name}") for (name, form), item in zip(self.forms.items(), plain, strict=True)]


@dataclass(frozen=True)
class Sorted(ListOf):
    """A list of objects without an order of its own; its canonical form is sorted by one of their members."""

    member: str

    def plain(self, value: Any) -> Plain:
        """A sorted list."""
        return super().plain(sorted(value, key=itemgetter(self.member)))


@dataclass(frozen=True)
class Keyed(Form):
    """An object with one member for each key."""

    key: Form
    form: Form

    def plain(self, value: Any) -> Plain:
        """An object with keys and values in their forms."""
        return {str(self.key.plain(key)): self.form.plain(one) for key, one in value.items()}

    def value(self, plain: Plain, where: str = "") -> Any:
        """From such an object."""
        if not isinstance(plain, Mapping):
            raise misfit(where, "an object", plain)
        return {self.key.value(key, where): self.form.value(value, f"{where}.{key}") for key, value in plain.items()}


FLAG: Final = Flag()
COUNT: Final = Count()
