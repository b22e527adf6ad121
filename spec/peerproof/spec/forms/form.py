"""
Declared forms: how the values of a protocol look as *plain* data.

Plain data is data that JSON can hold: YAML vectors show it, traces and adapters carry it. A form is declared once per message,
command, timer, notice and configuration (in the protocol's `codec.py`). The same declaration gives the bytes (`packing`), the
tables of the documentation and the Hypothesis strategies of the suite.

Two conventions hold everywhere:

- A 64-bit integer is a decimal string, because many JSON parsers round above 2^53. An integer and `{"u64": "…"}` are accepted
  as input too.
- A text is a string; one that is not UTF-8 is `{"hex": "fffe"}`. In Python it is a `str` with surrogate escapes, so that each
  byte string has exactly one text and each text one byte string (`octets`, `text`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Final

from peerproof.spec.errors import MalformedMessage, NotEnabled

U64_MAX: Final = 2**64 - 1

#: JSON values; a recursive type in mypy would burden every use.
Plain = Any


def octets(text: str) -> bytes:
    """Returns the bytes of a text. Raises UnicodeEncodeError for a lone surrogate that stands for no byte."""
    return text.encode("utf-8", "surrogateescape")


def text(octets: bytes) -> str:
    """Returns the text of any bytes; `octets` reverses it."""
    return octets.decode("utf-8", "surrogateescape")


def encode_string(name: str, string: str, most: int) -> bytes:
    """
    Returns the bytes of a string that is the text of at most `most` bytes. Raises NotEnabled.

    A Python string need not be the text of any bytes (a lone surrogate), nor the only one of its bytes ("é" written as two
    surrogate escapes); a node that kept such a string would differ from its peers, which decode its messages to another one.
    """
    try:
        raw = octets(string)
    except UnicodeEncodeError:
        raise NotEnabled("bad_value", f"a {name} must be the text of some bytes, not {string!a}") from None
    if not string.isascii() and text(raw) != string:
        raise NotEnabled("bad_value", f"a {name} must be the text of its bytes, {text(raw)!a}, not {string!a}")
    if len(raw) > most:
        raise NotEnabled("too_large", f"a {name} takes at most {most} bytes, not {len(raw)}")
    return raw


class Form:
    """The plain-data form of one kind of value."""

    def plain(self, value: Any) -> Plain:
        """Returns the plain data of a value that fits this form; by default the value itself."""
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """Returns the value of plain data. Raises MalformedMessage with the place `where` the data does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class U64(Form):
    """An unsigned integer of 64 bits, or of fewer."""

    most: int = U64_MAX

    def plain(self, value: Any) -> Plain:
        """A decimal string."""
        return str(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an integer, a decimal string, or `{"u64": "…"}`."""
        if type(plain) is str and plain.isascii() and plain.isdigit() and len(plain) < 20:  # noqa: PLR2004  # below 2^64
            plain = int(plain)
            if plain <= self.most:
                return plain
        if isinstance(plain, Mapping) and set(plain) == {"u64"}:
            plain = plain["u64"]
        if isinstance(plain, str) and plain.isascii() and plain.isdigit():
            plain = int(plain) if len(plain) <= 20 else U64_MAX + 1  # noqa: PLR2004  # no more digits in 2^64
        if type(plain) is not int or not 0 <= plain <= self.most:
            expected = "an unsigned 64-bit integer" if self.most == U64_MAX else f"an integer from 0 to {self.most}"
            raise misfit(where, expected, plain)
        return plain


@dataclass(frozen=True)
class Integer(Form):
    """An integer between bounds, small enough for any JSON reader."""

    least: int = 0
    most: int = 2**53

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an integer within the bounds."""
        if type(plain) is not int or not self.least <= plain <= self.most:
            raise misfit(where, f"an integer from {self.least} to {self.most}", plain)
        return plain


@dataclass(frozen=True)
class Text(Form):
    """A string of at most `most` bytes; any bytes, UTF-8 or not."""

    most: int

    def plain(self, value: Any) -> Plain:
        """A string, or `{"hex": …}` where the bytes are not UTF-8."""
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"hex": octets(value).hex()}
        return value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From a string or `{"hex": …}`."""
        if type(plain) is str and plain.isascii() and len(plain) <= self.most:
            return plain
        try:
            raw = bytes.fromhex(plain["hex"]) if isinstance(plain, Mapping) and set(plain) == {"hex"} else plain.encode()
        except (AttributeError, TypeError, ValueError):  # no str, or no hex, or a lone surrogate
            raise misfit(where, 'a string, or {"hex": …} for bytes that are not UTF-8', plain) from None
        if len(raw) > self.most:
            raise misfit(where, f"at most {self.most} bytes", plain)
        return text(raw)


@dataclass(frozen=True)
class Flag(Form):
    """True or false."""

    def value(self, plain: Plain, where: str = "") -> Any:
        """From true or false, nothing else."""
        if not isinstance(plain, bool):
            raise misfit(where, "true or false", plain)
        return plain


@dataclass(frozen=True)
class OneOf(Form):
    """A member of an enumeration, by its value."""

    enumeration: type[Enum]

    def plain(self, value: Any) -> Plain:
        """The member's value."""
        return value.value

    def value(self, plain: Plain, where: str = "") -> Any:
        """From a member's value."""
        try:
            return self.enumeration(plain)
        except ValueError:
            raise misfit(where, f"one of {', '.join(str(m.value) for m in self.enumeration)}", plain) from None


@dataclass(frozen=True)
class Optional(Form):
    """A value, or none."""

    form: Form

    def plain(self, value: Any) -> Plain:
        """Null for None."""
        return None if value is None else self.form.plain(value)

    def value(self, plain: Plain, where: str = "") -> Any:
        """From null or the value's plain data."""
        return None if plain is None else self.form.value(plain, where)


@dataclass(frozen=True)
class ListOf(Form):
    """A tuple of values of one form."""

    form: Form

    def plain(self, value: Any) -> Plain:
        """A list."""
        return [self.form.plain(item) for item in value]

    def value(self, plain: Plain, where: str = "") -> Any:
        """From a list."""
        if not isinstance(plain, list):
            raise misfit(where, "a list", plain)
        try:
            return tuple([self.form.value(item) for item in plain])
        except MalformedMessage:  # again, now with the index in the error
            return tuple(self.form.value(item, f"{where}[{index}]") for index, item in enumerate(plain))


class Record(Form):
    """A dataclass or named tuple, field by field. Plain data may omit a field that has a default in the class."""

    def __init__(self, kind: type[Any], /, **forms: Form) -> None:
        declared = [field.name for field in fields(kind)] if is_dataclass(kind) else list(kind._fields)
        assert list(forms) == declared, f"{kind.__name__} has the fields {declared}, not {list(forms)}"
        self.kind = kind
        self.forms: Mapping[str, Form] = forms
        self.optional = optional_fields(kind)

    def plain(self, value: Any) -> Plain:
        """An object with a member per field."""
        return {name: form.plain(getattr(value, name)) for name, form in self.forms.items()}

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an object with no members other than the fields."""
        if type(plain) is dict and plain.keys() == self.forms.keys():
            try:
                return self.kind(*[form.value(plain[name]) for name, form in self.forms.items()])
            except MalformedMessage:  # again, now with the field's name in the error
                pass
        return self.kind(**members(self.forms, self.optional, plain, where))


def optional_fields(kind: type[Any]) -> frozenset[str]:
    """Returns the fields of a dataclass that have a default."""
    return frozenset(
        field.name
        for field in (fields(kind) if is_dataclass(kind) else ())
        if field.default is not MISSING or field.default_factory is not MISSING
    )


def members(forms: Mapping[str, Form], optional: Collection[str], plain: Plain, where: str) -> dict[str, Any]:
    """Returns the values of an object's members, of which the `optional` ones may be missing. Raises MalformedMessage."""
    if not isinstance(plain, Mapping):
        raise misfit(where, f"an object with {', '.join(forms) or 'no members'}", plain)
    for name in plain:
        if name not in forms:
            raise misfit(_at(where, str(name)), f"one of {', '.join(forms) or 'no members'}", name)
    for name in forms:
        if name not in plain and name not in optional:
            raise misfit(where, f"a member {name!r}", plain)
    return {name: form.value(plain[name], _at(where, name)) for name, form in forms.items() if name in plain}


class Tagged(Form):
    """One of several records; `type` in the plain data, and a tag in the bytes, select the record."""

    def __init__(self, /, **cases: tuple[int, Record]) -> None:
        assert all("type" not in record.forms for _, record in cases.values()), "`type` says which record it is"
        self.cases: Mapping[str, Record] = {name: record for name, (_, record) in cases.items()}
        self.tags: Mapping[str, int] = {name: tag for name, (tag, _) in cases.items()}
        self.names: Mapping[type[Any], str] = {record.kind: name for name, record in self.cases.items()}

    def plain(self, value: Any) -> Plain:
        """The record's object, with `type` as its first member."""
        name = self.names[type(value)]
        return {"type": name, **self.cases[name].plain(value)}

    def value(self, plain: Plain, where: str = "") -> Any:
        """From an object whose `type` is one of the cases."""
        kind = plain.get("type") if isinstance(plain, Mapping) else None
        if not isinstance(kind, str) or kind not in self.cases:
            raise misfit(_at(where, "type"), f"one of {', '.join(self.cases)}", kind if isinstance(plain, Mapping) else plain)
        members = dict(plain)
        del members["type"]
        return self.cases[kind].value(members, where)


def misfit(where: str, expected: str, found: Plain) -> MalformedMessage:
    """Returns the error for plain data that does not fit its form."""
    shown = repr(found)
    shown = shown if len(shown) <= 60 else shown[:57] + "…"  # noqa: PLR2004  # enough to recognise it
    return MalformedMessage("bad_value", 0, f"{where + ': ' if where else ''}expected {expected}, found {shown}")


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
