"""
A strict subset of YAML that all parsers read alike.

It has no anchors, aliases, tags, directives, merge keys or duplicate keys; one document a file; and no plain scalar that some
parsers read as something other than text: `no`, `017`, `1:30`, `1e3`, `2024-01-01`. Such a scalar must be quoted. Numbers are
integers, or fractions in their shortest form: some parsers read 1.0 as an integer. The result is JSON data with the position
of each part, for error messages.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

#: From the root of a document: member names and list indices.
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH: Final = 128
MAX_INTEGER: Final = 2**53
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_FRACTION: Final = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]*[1-9]")
_CONSTANTS: Final = {"true": True, "false": False, "null": None}

#: How some parsers read a plain scalar, and what to write instead; the first matching row counts.
_AMBIGUOUS: Final = tuple(
    (re.compile(pattern), taken_for, instead)
    for pattern, taken_for, instead in (
        (r"|~|Null|NULL", "null", "write null, or leave the field out"),
        (r"(?i:true|false|yes|no|on|off|y|n)", "a boolean", "write true or false, or quote it"),
        (r"[-+]?0[0-9_]+|0o[0-7_]+", "an octal number", "quote it"),
        (r"[-+]?0[xb][0-9a-fA-F_]+", "a number", "quote it"),
        (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", "a number to the base 60", "quote it"),
        (
            r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*\.?[0-9_]*)([eE][-+]?[0-9]+)?",
            "a number",
            "write a whole number, a fraction in its shortest form, as 0.5, or quote it",
        ),
        (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "a number", "quote it"),
        (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", "a date", "quote it"),
        (r"=|<<", "a key of its own kind", "quote it"),
    )
)


class Place(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int


class VectorError(Exception):
    """A file of the suite is invalid: `file:line:column: what is wrong, and what was expected`."""

    def __init__(self, file: str, place: Place | None, message: str, tip: str | None = None) -> None:
        super().__init__(f"{file}:{place.line}:{place.column}: {message}" if place else f"{file}: {message}")
        self.file = file
        self.line = place.line if place else 0
        self.column = place.column if place else 0
        self.message = message
        self.tip = tip  #: what to do next, if there is anything to say


@dataclass(frozen=True)
class Document:
    """The data of a file, and the positions of its parts."""

    file: str
    data: Any
    values: dict[Path, Place]
    keys: dict[Path, Place]

    def error(self, path: Path, message: str, *, at_key: bool = False) -> VectorError:
        """Returns an error about the part at this path, or about its key."""
        places = self.keys if at_key and path in self.keys else self.values
        while path not in places:
            path = path[:-1]
        return VectorError(self.file, places[path], message)


def parse(source: bytes, file: str) -> Document:
    """Parses a document. Raises VectorError; `file` is the file's name in errors."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times as fast, but optional
    builder = _Builder(file)
    try:
        for event in yaml.parse(source.decode(), Loader=loader):
            builder.on(event)
    except UnicodeDecodeError as error:
        before = source[: error.start].decode()
        raise VectorError(file, _place_after(before), f"byte {source[error.start]:02x} is not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        raise VectorError(file, place, f"not YAML: {', '.join(filter(None, (error.context, error.problem)))}") from None
    except yaml.reader.ReaderError as error:
        place = _place_after(source.decode()[: error.position])
        raise VectorError(file, place, f"not YAML: {error.reason}") from None
    return builder.document()


def _place_after(before: str) -> Place:
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


class _Builder:
    """Builds a document from the events of YAML's parser, without recursion, so that nesting is no problem."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.open: list[Any] = []  #: collections around the current position
        self.path: list[str | int] = []  #: the known path: a mapping between two members adds nothing
        self.root: list[Any] = []

    def document(self) -> Document:
        if not self.root:
            raise VectorError(self.file, Place(1, 1), "the file is empty; expected a mapping")
        return Document(self.file, self.root[0], self.values, self.keys)

    def on(self, event: Any) -> None:
        kind = type(event).__name__
        place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
        if kind == "AliasEvent":
            raise VectorError(self.file, place, f"alias *{event.anchor}: aliases are not allowed; write the value out")
        if getattr(event, "anchor", None):
            raise VectorError(self.file, place, f"anchor &{event.anchor}: anchors are not allowed")
        if getattr(event, "tag", None):
            raise VectorError(self.file, place, f"tag {event.tag}: tags are not allowed")
        match kind:
            case "DocumentStartEvent":
                if event.version or event.tags:
                    raise VectorError(self.file, place, "directives are not allowed")
                if self.root:
                    raise VectorError(self.file, place, "a second document; expected one in a file")
            case "ScalarEvent":
                value = event.value if event.style in ("'", '"', "|", ">") else self.plain(event.value, place)
                self.put(value, place)
            case "MappingStartEvent":
                self.enter({}, place)
            case "SequenceStartEvent":
                self.enter([], place)
            case "MappingEndEvent" | "SequenceEndEvent":
                self.open.pop()
                self.leave()

    def plain(self, text: str, place: Place) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            if len(text) > 17 or abs(int(text)) > MAX_INTEGER:  # noqa: PLR2004  # 2^53 has no more digits, with a sign
                raise VectorError(self.file, place, f'{text} is above 2^53, where readers round; write {{u64: "{text}"}}')
            return int(text)
        if _FRACTION.fullmatch(text) and repr(number := float(text)) == text:
            return number
        for pattern, taken_for, instead in _AMBIGUOUS:
            if pattern.fullmatch(text):
                raise VectorError(self.file, place, f"{text or 'nothing'} is {taken_for} to some readers; {instead}")
        return text

    def put(self, value: Any, place: Place) -> None:
        """Takes a scalar as the name of a member or as a value."""
        if self.open and isinstance(self.open[-1], dict) and not self.in_member():
            self.member(value, place)
        else:
            self.attach(value, place)
            self.leave()

    def enter(self, collection: Any, place: Place) -> None:
        if self.open and isinstance(self.open[-1], dict) and not self.in_member():
            raise VectorError(self.file, place, "a key must be a string")
        if len(self.open) == MAX_DEPTH:
            raise VectorError(self.file, place, f"nested deeper than {MAX_DEPTH}")
        self.attach(collection, place)
        self.open.append(collection)

    def in_member(self) -> bool:
        """Whether the innermost mapping has a key without a value."""
        return len(self.path) == len(self.open)

    def member(self, key: Any, place: Place) -> None:
        if not isinstance(key, str):
            raise VectorError(self.file, place, f"a key must be a string, not {json.dumps(key)}; quote it")
        self.path.append(key)
        if (first := self.keys.setdefault(tuple(self.path), place)) != place:
            raise VectorError(self.file, place, f"key {key!r} occurs twice, first in line {first.line}")

    def attach(self, value: Any, place: Place) -> None:
        if not self.open:
            self.root.append(value)
        elif isinstance(parent := self.open[-1], dict):
            parent[self.path[-1]] = value
        else:
            self.path.append(len(parent))
            parent.append(value)
        self.values[tuple(self.path)] = place

    def leave(self) -> None:
        if self.path:
            self.path.pop()
