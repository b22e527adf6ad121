"""
Functions of log lines that implement the fields of a mapping.

A `Getter` takes a decoded line and returns a value, or raises Unreadable with the name of the field; a `Condition` tests a line.
A template is plain data in which `{field: …}` stands for the value of a field, and `{each: …, as: …}` for a list with an element
for each element of a list in the line.
"""

from __future__ import annotations

import base64
import re
from binascii import Error as BinasciiError
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from peerproof.conformance.captures.refusals import Unreadable
from peerproof.spec.forms.form import Plain

Getter: TypeAlias = Callable[[Any], Any]
Condition: TypeAlias = Callable[[Any], bool]

#: The value of a missing field.
NOTHING: Final = object()

#: Unit of time -> microseconds, as numerator and denominator.
UNITS: Final[Mapping[str, tuple[int, int]]] = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}
ISO8601: Final = "iso8601"

#: Encoding of bytes -> its decoder, which raises ValueError.
ENCODINGS: Final[Mapping[str, Callable[[str], bytes]]] = {
    "hex": bytes.fromhex,
    "base64": lambda text: base64.b64decode(text + "=" * (-len(text) % 4), validate=True),
    "base64url": lambda text: base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True),
}

MAX_TIME: Final = 2**53
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def path_of(field: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the path to a field: a text is split at its dots, a list is the path itself. `.` is the line itself."""
    if isinstance(field, str):
        return () if field == "." else tuple(field.split("."))
    return tuple(field)


def lookup(field: str | Sequence[str]) -> Getter:
    """Returns a getter of a field; its value is NOTHING if the field is missing."""
    path = path_of(field)
    if len(path) == 1:
        (only,) = path
        return lambda line: line.get(only, NOTHING) if type(line) is dict else NOTHING

    def get(line: Any) -> Any:
        for part in path:
            if type(line) is dict:
                line = line.get(part, NOTHING)
            elif type(line) is list and part.isdigit() and int(part) < len(line):
                line = line[int(part)]
            else:
                return NOTHING
        return line

    return get


def require(field: str | Sequence[str], *, default: Any = NOTHING) -> Getter:
    """Returns a getter of a field that raises Unreadable if the field is missing and there is no default."""
    get = lookup(field)
    name = field_name(field)

    def get_required(line: Any) -> Any:
        value = get(line)
        if value is not NOTHING:
            return value
        if default is NOTHING:
            raise Unreadable("missing_field", f"no field {name}")
        return default

    return get_required


def translate(get: Getter, values: Mapping[str, Any], name: str) -> Getter:
    """Returns a getter that translates values by a table; other values are errors."""

    def get_translated(line: Any) -> Any:
        value = get(line)
        key = value if isinstance(value, str) else _as_text(value)
        if key is not None and key in values:
            return values[key]
        raise Unreadable("bad_field", f"{name}: expected one of {', '.join(values)}, found {_short(value)}")

    return get_translated


#: The most names that are counted of those without an entry.
MOST_UNLISTED: Final = 100

_ADDRESS: Final = re.compile(r".*:\d{1,5}")


class Names:
    """The table of a mapping from nodes' names to addresses, with counts of how often names occur."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self.addresses: Final = addresses
        self.listed: Final[Counter[str]] = Counter()
        self.unlisted: Final[Counter[str]] = Counter()  #: of names that are neither in the table nor addresses
        self._targets: Final = frozenset(addresses.values())

    def address(self, value: Any) -> Any:
        """Returns the address of a name; any other value unchanged."""
        key = value if isinstance(value, str) else _as_text(value)
        if key is None or not self.addresses:
            return value
        if key in self.addresses:
            self.listed[key] += 1
            return self.addresses[key]
        is_name = key not in self._targets and not _ADDRESS.fullmatch(key)
        if is_name and (key in self.unlisted or len(self.unlisted) < MOST_UNLISTED):
            self.unlisted[key] += 1
        return value


def text(get: Getter, name: str) -> Getter:
    """Returns a getter of a text; a number becomes its digits."""

    def get_text(line: Any) -> str:
        value = get(line)
        if type(value) is str:
            return value
        if type(value) is int:
            return str(value)
        raise Unreadable("bad_field", f"{name}: expected a text, found {_short(value)}")

    return get_text


def whole(get: Getter, name: str) -> Getter:
    """Returns a getter of an integer from 0 to 2^53, or a text of its digits."""

    def get_whole(line: Any) -> int:
        value = get(line)
        if type(value) is str and value.isascii() and value.isdigit() and len(value) <= 16:  # noqa: PLR2004  # digits of 2^53
            value = int(value)
        if type(value) is not int or not 0 <= value <= MAX_TIME:
            raise Unreadable("bad_field", f"{name}: expected an integer from 0 to 2^53, found {_short(value)}")
        return value

    return get_whole


def octets(get: Getter, encoding: str, name: str) -> Getter:
    """Returns a getter of encoded bytes."""
    decode = ENCODINGS[encoding]

    def get_octets(line: Any) -> bytes:
        value = get(line)
        try:
            return decode(value)
        except (TypeError, ValueError, BinasciiError) as error:
            raise Unreadable("bad_field", f"{name}: expected bytes in {encoding}, found {_short(value)} ({error})") from None

    return get_octets


def number_time(get: Getter, unit: str, name: str) -> Getter:
    """Returns a getter of microseconds, from a number in this unit, or its text."""
    times, divisor = UNITS[unit]

    def get_time(line: Any) -> int:
        value = get(line)
        try:
            if type(value) is str:
                value = int(value) if value.lstrip("-").isdigit() else float(value)
            if type(value) is int:
                return _in_range(value * times // divisor, name)
            if type(value) is float:
                return _in_range(round(value * times / divisor), name)
        except (ValueError, OverflowError):
            pass
        raise Unreadable("bad_field", f"{name}: expected a number of {unit}, found {_short(value)}")

    return get_time


def duration(field: str | Sequence[str], unit: str) -> Getter:
    """Returns a getter of microseconds, from a number in this unit; None if the field is missing or null."""
    get = lookup(field)
    get_number = number_time(get, unit, field_name(field))
    return lambda line: None if get(line) in (NOTHING, None) else get_number(line)


def text_time(get: Getter, form: str, name: str) -> Getter:
    """Returns a getter of microseconds since 1970, from a time in ISO 8601 or a `strptime` format; the default zone is UTC."""

    def get_time(line: Any) -> int:
        value = get(line)
        try:
            moment = datetime.fromisoformat(value) if form == ISO8601 else datetime.strptime(value, form)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return _in_range((moment - _EPOCH) // _MICROSECOND, name)
        except (TypeError, ValueError, OverflowError):
            expected = "a time in ISO 8601" if form == ISO8601 else f"a time as {form}"
            raise Unreadable("bad_field", f"{name}: expected {expected}, found {_short(value)}") from None

    return get_time


def template(plain: Plain, leaf: Callable[[Mapping[str, Any]], Getter]) -> Getter:
    """Returns a getter of plain data from a template; `leaf` makes the getter of a `{field: …}`."""
    if isinstance(plain, Mapping) and "field" in plain:
        return leaf(plain)
    if isinstance(plain, Mapping) and "each" in plain:
        return _each(require(plain["each"]), template(plain["as"], leaf), field_name(plain["each"]))
    if isinstance(plain, Mapping):
        members = [(name, template(part, leaf)) for name, part in plain.items()]
        return lambda line: {name: get(line) for name, get in members}
    if isinstance(plain, list):
        items = [template(part, leaf) for part in plain]
        return lambda line: [get(line) for get in items]
    return lambda _: plain


def _each(get: Getter, make: Getter, name: str) -> Getter:
    def get_each(line: Any) -> list[Any]:
        value = get(line)
        if value is None:  # as Go writes an empty slice
            return []
        if type(value) is dict:
            value = [{"key": key, "value": member} for key, member in value.items()]
        if type(value) is not list:
            raise Unreadable("bad_field", f"{name}: expected a list or an object, found {_short(value)}")
        return [make(item) for item in value]

    return get_each


def is_one_of(field: str | Sequence[str], values: Sequence[Any]) -> Condition:
    """Returns a condition: a field has one of some values. Numbers and booleans differ from their texts."""
    get = lookup(field)
    known = [(type(value), value) for value in values]

    def check(line: Any) -> bool:
        value = get(line)
        return (type(value), value) in known

    return check


def is_missing(field: str | Sequence[str], missing: bool) -> Condition:  # `missing` is the word of the mapping
    """Returns a condition: a field is missing or null, or with `missing` false, the opposite."""
    get = lookup(field)
    return lambda line: (get(line) in (NOTHING, None)) is missing


def matches(field: str | Sequence[str], pattern: str) -> Condition:
    """Returns a condition: a regular expression matches a part of a text."""
    get, search = lookup(field), re.compile(pattern).search

    def check(line: Any) -> bool:
        value = get(line)
        return type(value) is str and search(value) is not None

    return check


def field_name(field: str | Sequence[str]) -> str:
    """Renders a field for messages."""
    return repr(field) if isinstance(field, str) else "/".join(field)


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else None


def _in_range(microseconds: int, name: str) -> int:
    if not 0 <= microseconds <= MAX_TIME:
        raise Unreadable("bad_field", f"{name}: {microseconds} microseconds is not a time from 0 to 2^53")
    return microseconds


def _short(value: Any) -> str:
    if value is NOTHING:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004  # enough to recognise it
