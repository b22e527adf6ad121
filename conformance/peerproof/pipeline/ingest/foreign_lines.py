"""
Conversion of log lines of other programs to rows of `traces`, by a mapping.

Messages are checked with the protocol's codec, so that every message of the table is valid. A row has the bytes or the plain
data, whichever the log has.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from peerproof.conformance.captures.refusals import Unreadable
from peerproof.conformance.traces.events import Event, column_text, json_text, message_type
from peerproof.pipeline.ingest.mapping import MESSAGES, EventRule, LogMapping
from peerproof.spec.errors import MalformedMessage

#: The number of an event whose log has no numbers; it is replaced when the events of its node are sorted.
UNNUMBERED: Final = -1

#: The counts of names begin with these.
LISTED: Final = "name: "
UNLISTED: Final = "name without an entry: "

_decode: Final = msgspec.json.Decoder().decode


class ForeignLines:
    """Converts lines to rows."""

    def __init__(self, mapping: LogMapping, run: str) -> None:
        """`run`: the run of lines that do not name theirs."""
        self._mapping = mapping
        self._run = run
        self._protocol = mapping.specification.NAME

    def __call__(self, data: bytes, file: str, offset: int) -> Event | None:
        """Returns the row of a line at this byte of a file, or None if the mapping ignores it. Raises Unreadable."""
        line = _decode(data)
        if type(line) is not dict:
            raise Unreadable("not_json", "expected a JSON object")
        mapping = self._mapping
        for condition in mapping.ignore:
            if condition(line):
                return None
        rule = self._rule(line)
        msg_type, payload, args = self._content(rule, line)
        return Event(
            column_text(mapping.run(line)) if mapping.run else self._run,
            self._protocol,
            column_text(mapping.impl(line)),
            column_text(mapping.node(line)),
            mapping.seq(line) if mapping.seq else UNNUMBERED,
            mapping.time(line),
            rule.kind,
            column_text(rule.peer(line)) if rule.peer else None,
            msg_type,
            None if payload is None else len(payload),
            payload,
            args,
            None,
            None,
            column_text(rule.state(line)) if rule.state else None,
            column_text(rule.refused(line)) if rule.refused else None,
            file,
            offset,
        )

    def count_names(self) -> dict[str, int]:
        """Returns how often names of nodes have occurred: those of the table, and those without an entry."""
        names = self._mapping.names
        found = {f"{LISTED}{column_text(name)}": count for name, count in names.listed.items()}
        return found | {f"{UNLISTED}{column_text(name)}": count for name, count in names.unlisted.items()}

    def _rule(self, line: Any) -> EventRule:
        for rule in self._mapping.events:
            for condition in rule.when:
                if not condition(line):
                    break
            else:
                return rule
        raise Unreadable("unmatched", "no event of the mapping fits this line: add one, or a rule that ignores it")

    def _content(self, rule: EventRule, line: Any) -> tuple[str | None, bytes | None, str | None]:
        """Returns type, bytes and plain data of the event."""
        codec = self._mapping.specification.MESSAGE
        try:
            if rule.kind == "sent":
                return self._send_outcome(rule, line)
            if rule.octets:
                payload = rule.octets(line)
                return codec.form.names[type(codec.decode(payload))], payload, None
            assert rule.message
            plain = rule.message(line)
            if rule.kind != "state":
                form = self._form(rule.kind)
                plain = form.plain(form.value(plain))
            return message_type(rule.kind, plain), None, json_text(plain)
        except MalformedMessage as error:
            if rule.octets or rule.kind in MESSAGES:
                did = "received" if rule.kind == "recv" else "sent"
                what = "bytes that are" if rule.octets else "something that is"
                said = f"node {column_text(self._mapping.node(line))} {did} {what} no message"
                raise Unreadable("not_a_message", f"{said}: {error.reason}: {error.detail}") from None
            raise Unreadable("bad_field", f"not a valid {rule.kind} of {self._protocol}: {error.detail}") from None

    def _send_outcome(self, rule: EventRule, line: Any) -> tuple[str | None, bytes | None, str | None]:
        """Returns type, bytes and plain data of the outcome of a send."""
        codec = self._mapping.specification.MESSAGE
        message = codec.decode(rule.octets(line)) if rule.octets else codec.value(rule.message(line) if rule.message else None)
        args = {"took": rule.took(line) if rule.took else None, "message": codec.plain(message)}
        return message_type(rule.kind, args), None, json_text(args)

    def _form(self, kind: str) -> Any:
        specification = self._mapping.specification
        if kind == "timer":
            return specification.TIMER
        if kind == "api":
            return specification.COMMAND
        return specification.CONFIG if kind == "start" else specification.MESSAGE
