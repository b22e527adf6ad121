"""
Mappings, which assign the fields of other programs' logs. They are YAML; errors have line and column.

    format: 1
    protocol: scuttlebutt
    impl: gossipd
    node: {field: node}
    time: {field: ts, format: iso8601}
    events:
    - when: {field: msg, is: received}
      kind: recv
      peer: {field: from}
      bytes: {field: datagram, encoding: hex}

docs/how-to/ingest-logs.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from peerproof.conformance.suite.schema import did_you_mean, one_of
from peerproof.conformance.suite.strict_yaml import Document, Path, VectorError, parse
from peerproof.pipeline.ingest import fields
from peerproof.pipeline.ingest.fields import Condition, Getter, Names
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.core import Specification
from peerproof.spec.protocols import PROTOCOLS

KINDS: Final = ("start", "recv", "send", "sent", "timer", "api", "state")

#: Kinds of events with a message.
MESSAGES: Final = ("recv", "send", "sent")
ORDERS: Final = ("time", "file")
FORMAT: Final = 1

_TOP: Final = ("format", "protocol", "impl", "run", "node", "names", "time", "seq", "order", "ignore", "events")
_EVENT: Final = ("when", "kind", "peer", "bytes", "message", "took", "args", "refused", "state")
_FIELD: Final = ("field", "values", "default", "named")
_TESTS: Final = ("is", "in", "matches", "missing")


@dataclass(frozen=True, slots=True)
class EventRule:
    """One kind of line: its conditions, and the getters of its event."""

    when: tuple[Condition, ...]
    kind: str
    peer: Getter | None
    octets: Getter | None  #: the message's bytes
    message: Getter | None  #: its plain data, or that of the event
    refused: Getter | None
    state: Getter | None
    took: Getter | None  #: microseconds until a sent message was confirmed; its value is None if it was not


@dataclass(frozen=True, slots=True)
class LogMapping:
    """A mapping. Getters take a decoded line."""

    specification: Specification
    impl: Getter
    run: Getter | None  #: None: each file is a run
    node: Getter
    names: Names  #: counts the names that its getters have met
    time: Getter
    seq: Getter | None  #: None: events are numbered in order
    order: str
    ignore: tuple[Condition, ...]
    events: tuple[EventRule, ...]


def load(source: bytes, file: str) -> LogMapping:
    """Loads a mapping. Raises VectorError, whose message is `file:line:column: what is wrong, what was expected`."""
    return _Loader(parse(source, file)).mapping()


class _Loader:
    """Converts a document to a mapping, and reports errors with their positions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.names = Names({})

    def mapping(self) -> LogMapping:
        data = self.members((), _TOP, ("format", "protocol", "node", "time", "events"))
        if data["format"] != FORMAT or data["format"] is True:
            raise self.document.error(("format",), f"expected {FORMAT}, found {data['format']!r}")
        if data["protocol"] not in RUNTIMES:
            raise self.wrong(("protocol",), list(RUNTIMES), data["protocol"])
        specification = PROTOCOLS[data["protocol"]].specification.load()
        self.names = Names(self.table(("names",)) if "names" in data else {})
        if "seq" in data and "order" in data:
            raise self.document.error(("order",), "'order' and 'seq' exclude each other")
        order = data.get("order", "time")
        if order not in ORDERS:
            raise self.wrong(("order",), ORDERS, order)
        return LogMapping(
            specification,
            impl=self.text(("impl",)) if "impl" in data else lambda _: "unknown",
            run=self.text(("run",)) if "run" in data else None,
            node=self.node(("node",)),
            names=self.names,
            time=self.time(),
            seq=self.whole(("seq",)) if "seq" in data else None,
            order=order,
            ignore=tuple(self.condition(("ignore", index)) for index, _ in enumerate(self.list_at(("ignore",), empty=True))),
            events=tuple(self.event(("events", index)) for index, _ in enumerate(self.list_at(("events",)))),
        )

    def event(self, path: Path) -> EventRule:
        data = self.members(path, _EVENT, ("kind",))
        kind = data["kind"]
        if kind not in KINDS:
            raise self.wrong((*path, "kind"), KINDS, kind)
        if kind in MESSAGES:
            self.needs(path, data, kind, (("peer",), ("bytes", "message")))
            self.excludes(path, data, kind, ("args",))
        else:
            self.needs(path, data, kind, (("args",),))
            self.excludes(path, data, kind, ("peer", "bytes", "message"))
        if kind != "api":
            self.excludes(path, data, kind, ("refused",))
        if kind != "sent":
            self.excludes(path, data, kind, ("took",))
        what = "message" if kind in MESSAGES else "args"
        return EventRule(
            when=self.conditions((*path, "when")) if "when" in data else (),
            kind=kind,
            peer=self.node((*path, "peer")) if "peer" in data else None,
            octets=self.octets((*path, "bytes")) if "bytes" in data else None,
            message=self.template((*path, what)) if what in data else None,
            refused=self.text((*path, "refused")) if "refused" in data else None,
            state=self.text((*path, "state")) if "state" in data else None,
            took=self.took((*path, "took")) if "took" in data else None,
        )

    def took(self, path: Path) -> Getter:
        data = self.members(path, ("field", "unit"), ("field", "unit"))
        if data["unit"] not in fields.UNITS:
            raise self.wrong((*path, "unit"), list(fields.UNITS), data["unit"])
        return fields.duration(self.field(path), data["unit"])

    def conditions(self, path: Path) -> tuple[Condition, ...]:
        if isinstance(self.at(path), list):
            return tuple(self.condition((*path, index)) for index, _ in enumerate(self.list_at(path)))
        return (self.condition(path),)

    def condition(self, path: Path) -> Condition:
        data = self.members(path, ("field", *_TESTS), ("field",))
        tests = [test for test in _TESTS if test in data]
        if len(tests) != 1:
            found = f"found {' and '.join(tests)}" if tests else "found none of them"
            raise self.document.error(path, f"expected exactly one of {', '.join(_TESTS)}; {found}")
        (test,) = tests
        field, value = self.field(path), data[test]
        if test == "matches":
            return fields.matches(field, self.pattern((*path, test)))
        if test == "missing":
            if not isinstance(value, bool):
                raise self.wrong((*path, test), (True, False), value)
            return fields.is_missing(field, value)
        return fields.is_one_of(field, self.list_at((*path, test)) if test == "in" else [value])

    def pattern(self, path: Path) -> str:
        value = self.at(path)
        try:
            re.compile(value)
        except (TypeError, re.error) as error:
            raise self.document.error(path, f"expected a regular expression, found {value!r} ({error})") from None
        return str(value)

    def time(self) -> Getter:
        path = ("time",)
        data = self.members(path, ("field", "unit", "format"), ("field",))
        if ("unit" in data) == ("format" in data):
            raise self.document.error(
                path, "expected exactly one of unit, format; found " + ("both" if "unit" in data else "none")
            )
        field = self.field(path)
        get, name = fields.require(field), fields.field_name(field)
        if "unit" in data:
            if data["unit"] not in fields.UNITS:
                raise self.wrong((*path, "unit"), list(fields.UNITS), data["unit"])
            return fields.number_time(get, data["unit"], name)
        form = data["format"]
        if form != fields.ISO8601 and (not isinstance(form, str) or "%" not in form):
            message = f"expected {fields.ISO8601} or a format of strptime, as '%Y-%m-%d %H:%M:%S.%f'; found {form!r}"
            raise self.document.error((*path, "format"), message)
        return fields.text_time(get, form, name)

    def octets(self, path: Path) -> Getter:
        data = self.members(path, ("field", "encoding"), ("field", "encoding"))
        if data["encoding"] not in fields.ENCODINGS:
            raise self.wrong((*path, "encoding"), list(fields.ENCODINGS), data["encoding"])
        field = self.field(path)
        return fields.octets(fields.require(field), data["encoding"], fields.field_name(field))

    def template(self, path: Path) -> Getter:
        self.check_template(path)
        return fields.template(self.at(path), self.leaf)

    def check_template(self, path: Path) -> None:
        part = self.at(path)
        if isinstance(part, Mapping) and "field" in part:
            self.check_field(path)
        elif isinstance(part, Mapping) and "each" in part:
            self.members(path, ("each", "as"), ("each", "as"))
            self.field(path, "each")
            self.check_template((*path, "as"))
        elif isinstance(part, Mapping | list):
            for key in part if isinstance(part, Mapping) else range(len(part)):
                self.check_template((*path, key))

    def check_field(self, path: Path) -> None:
        data = self.members(path, _FIELD, ("field",))
        self.field(path)
        if "values" in data:
            self.mapping_at((*path, "values"))
        if "named" in data and data["named"] is not True:
            raise self.wrong((*path, "named"), (True,), data["named"])

    def leaf(self, data: Mapping[str, Any]) -> Getter:
        """Returns the getter of a valid `{field: …}`."""
        name = fields.field_name(data["field"])
        get = fields.require(data["field"], default=data.get("default", fields.NOTHING))
        if "values" in data:
            get = fields.translate(get, data["values"], name)
        return self.named(get) if data.get("named") else get

    def named(self, get: Getter) -> Getter:
        address = self.names.address
        return lambda line: address(get(line))

    def text(self, path: Path) -> Getter:
        value = self.at(path)
        if isinstance(value, str):
            return lambda _: value
        if not isinstance(value, Mapping):
            raise self.document.error(path, f"expected a text or {{field: …}}, found {value!r}")
        self.check_field(path)
        return fields.text(self.leaf(value), fields.field_name(value["field"]))

    def node(self, path: Path) -> Getter:
        return fields.text(self.named(self.text(path)), str(path[-1]))

    def whole(self, path: Path) -> Getter:
        self.check_field(path)
        data = self.at(path)
        return fields.whole(self.leaf(data), fields.field_name(data["field"]))

    def table(self, path: Path) -> Mapping[str, str]:
        data = self.mapping_at(path)
        for key, value in data.items():
            if not isinstance(value, str):
                raise self.document.error((*path, key), f"expected a node's address, found {value!r}")
        return data

    def field(self, path: Path, member: str = "field") -> str | list[str]:
        value = self.at((*path, member))
        fits = isinstance(value, str) or (isinstance(value, list) and value and all(isinstance(part, str) for part in value))
        if not fits or not value:
            expected = "expected the name of a field, a.b for one within another, or [a.b] if its name has a dot"
            raise self.document.error((*path, member), f"{expected}; found {value!r}")
        return cast("str | list[str]", value)

    def members(self, path: Path, known: Sequence[str], needed: Sequence[str]) -> Mapping[str, Any]:
        data = self.mapping_at(path, f" with {', '.join(needed)}")
        for key in data:
            if key not in known:
                message = f"unknown field {key!r}{did_you_mean(key, known)}; expected {one_of(known)}"
                raise self.document.error((*path, key), message, at_key=True)
        for key in needed:
            if key not in data:
                raise self.document.error(path, f"missing field {key!r}" + (f" of {path[-1]!r}" if path else ""))
        return data

    def mapping_at(self, path: Path, what: str = "") -> Mapping[str, Any]:
        data = self.at(path)
        if not isinstance(data, Mapping):
            raise self.document.error(path, f"expected a mapping{what}, found {data!r}")
        return data

    def list_at(self, path: Path, *, empty: bool = False) -> Sequence[Any]:
        data = self.at(path) if not empty or path[0] in self.document.data else []
        if not isinstance(data, list) or not (data or empty):
            raise self.document.error(path, f"expected a list{'' if empty else ' of at least one'}, found {data!r}")
        return data

    def needs(self, path: Path, data: Mapping[str, Any], kind: str, groups: Sequence[Sequence[str]]) -> None:
        for group in groups:
            found = [name for name in group if name in data]
            if len(found) != 1:
                expected = f"exactly one of {', '.join(group)}" if len(group) > 1 else f"a field {group[0]!r}"
                raise self.document.error(path, f"an event of kind {kind} needs {expected}")

    def excludes(self, path: Path, data: Mapping[str, Any], kind: str, names: Sequence[str]) -> None:
        for name in names:
            if name in data:
                raise self.document.error((*path, name), f"an event of kind {kind} has no {name}", at_key=True)

    def wrong(self, path: Path, expected: Sequence[Any], found: Any) -> VectorError:
        close = did_you_mean(found, expected) if isinstance(found, str) else ""
        return self.document.error(path, f"expected {one_of(expected)}, found {found!r}{close}")

    def at(self, path: Path) -> Any:
        data = self.document.data
        for part in path:
            data = data[part]
        return data
