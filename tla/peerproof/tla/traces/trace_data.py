"""
Traces in the format of the module TraceData: events and effects of each node, as values of TLA+.

The conversion is the same for all protocols and follows their declared forms: a record becomes a record, a named tuple a tuple,
a text its number, an absent value `<<>>`; of a protocol's own form it takes the value if that is a text, such as a map that is
kept as JSON, or else the plain data, such as the digits of an id. Data that does not fit the forms is marked, so that no step of
a module explains it.
TLC's integers have 31 bits; a trace is checked only up to the first larger integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from peerproof.spec.core import Instant, NodeId, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms import form as forms
from peerproof.spec.forms.form import U64, Form, Integer, ListOf, OneOf, Optional, Plain, Record, Tagged, Text, octets
from peerproof.spec.traces.trace import TEXT, Line, parse_config, parse_sent
from peerproof.tla.traces.shared_forms import reduced

TLC_INTEGER_MAX: Final = 2**31 - 1

_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)

Tokens: TypeAlias = Callable[[Any], str]


class TooLarge(Exception):
    """An integer is too large for TLC."""


@dataclass(slots=True)
class Trace:
    """One node's lines, as far as TLC can represent them."""

    run: str
    node: str
    events: list[str] = field(default_factory=list)  #: members of records
    ends: str | None = None  #: why some lines are left out


class TraceData:
    """The traces of nodes, collected line by line; `write` writes the two files."""

    def __init__(self, spec: Specification, most_events: int) -> None:
        self.traces: dict[tuple[str, str], Trace] = {}
        self.events = 0
        self._most = most_events
        self._spec = spec
        self._strings: dict[str, int] = {}
        text = self._text
        self._message, self._timer, self._notice = (tokens(form, text) for form in (spec.MESSAGE.form, spec.TIMER, spec.NOTICE))
        self._kinds: dict[str, tuple[Any, Tokens]] = {  # form of `args` by kind of line, and its writer
            "start": (spec.CONFIG, tokens(spec.CONFIG, text)),
            "recv": (spec.MESSAGE, self._message),
            "timer": (spec.TIMER, self._timer),
            "api": (spec.COMMAND, tokens(spec.COMMAND, text)),
        }

    def add(self, line: Line) -> None:
        """Adds the next line of a node."""
        trace = self.traces.get((line.run, line.node))
        if trace is None:
            trace = self.traces[line.run, line.node] = Trace(line.run, line.node)
        if trace.ends is None and self.events >= self._most:
            trace.ends = f"at most {self._most:,} events are passed to TLC"
        if trace.ends is None:
            try:
                trace.events.append(self._event(line))
            except TooLarge as problem:
                trace.ends = f"the line with seq {line.seq} has {problem}, and TLC's integers end at 2^31 - 1"
            else:
                self.events += 1

    def write(self, folder: Path) -> None:
        """Writes the files `events` and `strings`. Traces are numbered from 1 as they stand in `traces`."""
        with (folder / "events").open("w", encoding="ascii") as file:
            for number, trace in enumerate(self.traces.values(), start=1):
                file.writelines(f"{{ trace {number} {event} }}\n" for event in trace.events)
        ranks = {string: rank for rank, string in enumerate(sorted(self._strings, key=octets), start=1)}
        with (folder / "strings").open("w", encoding="ascii") as file:
            file.write(f"{self.events}\n")
            file.writelines(f"{ranks[string]} .{octets(string).hex()}\n" for string in self._strings)

    def _text(self, string: str) -> str:
        return f"${self._strings.setdefault(string, len(self._strings))}"

    def _event(self, line: Line) -> str:
        node, peer = self._text(line.node), self._text(line.peer or "")
        kind = line.kind if line.kind in (*self._kinds, "sent") else "unknown"
        head = f"node {node} seq {integer(line.seq)} kind '{kind} peer {peer}"
        try:
            args, picks, effects = self._args(line), self._picks(line), " ".join(map(self._effect, line.effects))
            refused = "'" if line.refused is None else _word(line.refused)
        except MalformedMessage:
            return f"{head} readable 'no args ( ) picks ( ) effects ( ) refused '"
        return f"{head} readable 'yes args {args} picks ( {picks} ) effects ( {effects} ) refused {refused}"

    def _args(self, line: Line) -> str:
        if line.kind == "sent":
            sent = parse_sent(self._spec, Instant(0), NodeId(""), line.args)
            return f"{{ message {self._message(sent.message)} took {_DURATION(sent.took)} }}"
        if line.kind not in self._kinds:
            raise MalformedMessage("bad_value", 0, f"kind: {line.kind!r}")
        form, tokens_of = self._kinds[line.kind]
        return tokens_of(parse_config(self._spec, line.args) if line.kind == "start" else form.value(line.args))

    def _picks(self, line: Line) -> str:
        return " ".join(f"( {_word(place)} ( {' '.join(map(self._option, options))} ) )" for place, options in line.picks)

    def _option(self, option: str | int) -> str:
        return self._text(option) if isinstance(option, str) else integer(-option - 1)

    def _effect(self, plain: Plain) -> str:
        match plain:
            case {"send": {"to": to, "message": message, **others}, **more} if not others and not more:
                shown = self._message(_exactly(self._spec.MESSAGE.form, message))
                return f"{{ effect 'send to {self._text(_exactly(TEXT, to))} message {shown} }}"
            case {"set_timer": {"timer": timer, "after": after, **others}, **more} if not others and not more:
                shown = self._timer(_exactly(self._spec.TIMER, timer))
                return f"{{ effect 'set_timer timer {shown} after {integer(_exactly(Integer(), after))} }}"
            case {"cancel_timer": {"timer": timer, **others}, **more} if not others and not more:
                return f"{{ effect 'cancel_timer timer {self._timer(_exactly(self._spec.TIMER, timer))} }}"
            case {"notify": notice, **more} if not more:
                return f"{{ effect 'notify notice {self._notice(_exactly(self._spec.NOTICE, notice))} }}"
        raise MalformedMessage("bad_value", 0, "effects: unknown effect")


def tokens(form: Form, text: Tokens) -> Tokens:
    """Returns a function that writes values of a form, and uses `text` for texts. The function raises TooLarge."""
    if isinstance(form, (U64, Integer)):
        return integer
    if isinstance(form, Text):
        return text
    if isinstance(form, OneOf):
        return lambda value: _word(str(value.value))
    if isinstance(form, Optional):
        item = tokens(form.form, text)
        return lambda value: "( )" if value is None else f"( {item(value)} )"
    if isinstance(form, ListOf):
        item = tokens(form.form, text)
        return lambda values: f"( {' '.join(map(item, values))} )"
    if isinstance(form, Record):
        return _record(form, text)
    if isinstance(form, Tagged):
        cases = {record.kind: _record(record, text, name) for name, record in form.cases.items()}
        return lambda value: cases[type(value)](value)
    if (found := reduced(form)) is not None:
        shared, convert = found
        write = tokens(shared, text)
        return lambda value: write(convert(value))
    return lambda value: _plain(value if isinstance(value, str) else form.plain(value), text)


def _plain(plain: Plain, text: Tokens) -> str:
    """Writes plain data that is a string, a number, true or false. A lone surrogate counts as the three bytes it would have."""
    if isinstance(plain, bool):
        return "?1" if plain else "?0"
    if isinstance(plain, int):
        return integer(plain)
    if isinstance(plain, str):
        return text(plain if plain.isascii() else forms.text(plain.encode("utf-8", "surrogatepass")))
    raise TypeError(f"TLC has no representation of {plain!r}")


def integer(value: int) -> str:
    """Writes an integer. Raises TooLarge."""
    if not -TLC_INTEGER_MAX <= value <= TLC_INTEGER_MAX:
        raise TooLarge(f"the integer {value}")
    return str(value)


def _record(form: Record, text: Tokens, tag: str | None = None) -> Tokens:
    parts = [(name, tokens(part, text)) for name, part in form.forms.items()]
    if issubclass(form.kind, tuple) and tag is None:
        return lambda value: f"( {' '.join([part(getattr(value, name)) for name, part in parts])} )"
    head = "" if tag is None else f"type {_word(tag)} "
    return lambda value: f"{{ {head}{' '.join([f'{name} {part(getattr(value, name))}' for name, part in parts])} }}"


_DURATION: Final = tokens(Optional(Integer()), str)


def _word(word: str) -> str:
    if not _WORD.fullmatch(word):
        raise MalformedMessage("bad_value", 0, f"{word!r} is not a word")
    return f"'{word}"


def _exactly(form: Form, plain: Plain) -> Any:
    """Parses plain data, which must be the canonical form of the value. Raises MalformedMessage."""
    try:
        value = form.value(plain)
    except MalformedMessage:
        value = form.value(_integral(plain))
    if form.plain(value) != plain:
        raise MalformedMessage("bad_value", 0, "not the canonical form")
    return value


def _integral(plain: Plain) -> Plain:
    """Returns the data with whole floats as integers, because JSON's 1 and 1.0 are equal."""
    match plain:
        case bool():
            return int(plain)
        case float() if plain.is_integer():
            return int(plain)
        case dict():
            return {name: _integral(member) for name, member in plain.items()}
        case list():
            return [_integral(item) for item in plain]
    return plain
