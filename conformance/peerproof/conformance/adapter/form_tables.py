"""
Tables of a protocol's messages, commands, events, queries and configuration, made from the declarations of the codecs.

`peerproof explain PROTOCOL` prints them for authors of adapters; the site shows them too.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from peerproof.conformance.adapter.answers import query_answers
from peerproof.conformance.adapter.messages import MALFORMED
from peerproof.spec.errors import REASONS
from peerproof.spec.forms.answers import Items, Keyed
from peerproof.spec.forms.form import U64, U64_MAX, Form, Integer, ListOf, OneOf, Optional, Plain, Record, Tagged, Text
from peerproof.spec.forms.state_form import ShownAs
from peerproof.spec.protocols import PROTOCOLS

#: What says on the wire which kind of message it is, by transport; in DistKV it is the name of the event.
_TAGS: Final = {"udp": "type byte", "tcp": "`Purpose`"}

#: Every JSON reader is exact up to here; as an upper bound it says nothing about the protocol.
JSON_EXACT: Final = 2**53

INTRODUCTION: Final = (
    "From the declarations that encode and decode them. The plain form is what vectors, traces and adapters show.",
    'An integer *as a decimal string* is one there (`"7"`), because half of the readers of JSON round above 2^53. The suite',
    "sends it so, also in configurations, and answers to queries and events must have it so; in the reply to `decode`, in traces",
    'and in vectors a number or `{"u64": "7"}` will do too. All other integers are numbers; in replies the suite also takes them',
    'as decimal strings. A text that is not UTF-8 is `{"hex": "fffe"}`. An answer to a query may have another form with the same',
    "meaning in `peerproof run`, which knows these tables; the runners in other languages compare it as it is.",
    "",
)


def message_tables(protocol: str) -> Iterator[str]:
    """
    Yields the lines, in Markdown, of all tables of one protocol. Raises KeyError.

    >>> next(line for line in message_tables("scuttlebutt") if "| `entries[].version`" in line)
    '| `entries[].version` | unsigned 64-bit integer, as a decimal string |'
    """
    spec = PROTOCOLS[protocol].specification.load()
    tag = _TAGS.get(spec.TRANSPORT, "") if len(set(spec.MESSAGE.form.tags.values())) > 1 else ""
    for title, form, named in (
        ("Messages", spec.MESSAGE.form, tag),
        *((name.capitalize(), form, "") for name, form in nested(spec.MESSAGE.form)),
        ("Timers", spec.TIMER, ""),
    ):
        yield from (f"### {title} of {protocol}", "")
        yield from tagged(form, named)
    yield from (f"### Configuration of {protocol}", "")
    yield from members(spec.CONFIG, with_defaults=True, with_about=True)
    yield from adapter_tables(protocol)


def configured(record: Record) -> dict[str, Any]:
    """Returns the default of each member that has one, as plain data."""
    made = {f.name: f.default_factory() if f.default_factory is not MISSING else f.default for f in fields(record.kind)}
    return {name: record.forms[name].plain(value) for name, value in made.items() if value is not MISSING}


def nested(form: Tagged) -> Iterator[tuple[str, Tagged]]:
    """Yields the name and form of each list within messages whose items are of several kinds."""
    found = {
        name: part.form
        for record in form.cases.values()
        for name, part in record.forms.items()
        if isinstance(part, ListOf) and isinstance(part.form, Tagged)
    }
    yield from found.items()


def adapter_tables(protocol: str) -> Iterator[str]:
    """Yields tables of the calls, queries, events and choices of a protocol, with the form of every member."""
    row, spec = PROTOCOLS[protocol], PROTOCOLS[protocol].specification.load()
    yield from ("", f"### Calls of {protocol}", "")
    if any(record.optional for record in spec.COMMAND.cases.values()):
        yield from ("A request may leave out a member that has a default.", "")
    yield from tagged(spec.COMMAND, with_defaults=True)
    if row.refusals:
        yield from (f"### Refusals of {protocol}", "", "| class of `refused` | when |", "| --- | --- |")
        yield from (f"| `{reason}` | {when} |" for reason, when in row.refusals.items())
    yield from ("", f"### Queries of {protocol}", "")
    for name, answer in query_answers(protocol).items():
        yield from (f"**`{name}`** — {answer.about}", "")
        yield from shape(answer.form)
    yield from ("", f"### Events of {protocol}", "")
    for name, record in spec.NOTICE.cases.items():
        optional = ", optional" if name in row.optional_events else ""
        yield from (f"**`{name}`**{optional} — {about(record.kind)}", "")
        yield from members(record)
    yield from (f"**`{MALFORMED}`**, optional — What came in is no message.", "")
    yield from (
        "| member | form |",
        "| --- | --- |",
        f"| `class` | one of {words(REASONS)} |",
        "| `offset` | the byte at which that shows, counted from 0; 0 also if that is unknown |",
        "",
    )
    if row.sites:
        yield from (f"### Questions of chance of {protocol}", "", "| site | what is chosen |", "| --- | --- |")
        yield from (f"| `{site}` | {chosen} |" for site, chosen in row.sites.items())


def shape(form: Any) -> Iterator[str]:
    """Yields a table of the members of an answer, or a sentence if it has none."""
    rows = list(described_answer(form, ""))
    if rows and rows[0][0] == "" and len(rows) == 1:
        yield from (rows[0][1][0].upper() + rows[0][1][1:] + ".", "")
        return
    yield from ("| member | form |", "| --- | --- |")
    yield from (f"| {f'`{path}`' if path else 'the answer'} | {kind} |" for path, kind in rows)
    yield ""


def described_answer(form: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yields the path and the form of an answer and of everything in it."""
    if isinstance(form, ShownAs):
        form = form.form
    inner, within = form, path
    if isinstance(inner, Optional):
        inner = inner.form.form if isinstance(inner.form, ShownAs) else inner.form
    if isinstance(inner, ListOf):
        inner, within = inner.form.form if isinstance(inner.form, ShownAs) else inner.form, f"{path}[]"
    if isinstance(inner, Keyed):
        inner, within = inner.form, f"{path}.KEY" if path else "KEY"
    yield path, sentence_of_answer(form)
    for name, part in getattr(inner, "forms", {}).items():
        yield from described_answer(part, f"{within}.{name}" if within else name)


def sentence_of_answer(form: Any) -> str:
    """Describes the form of an answer in words."""
    match form:
        case ShownAs(inner):
            return sentence_of_answer(inner)
        case Optional(inner):
            return sentence_of_answer(inner) + ", or null"
        case ListOf(inner) if hasattr(inner, "forms") or isinstance(inner, ShownAs):
            return f"list, each {sentence_of_answer(inner)}"
        case Items():
            return "a list of " + ", ".join(form.forms)
        case Keyed(key, _):
            return f"object; its keys: {sentence(key)}"
        case _ if hasattr(form, "forms"):
            return "an object"
    return sentence(form)


def about(kind: type[Any]) -> str:
    """Returns the first line of a class's docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0]


def message_legend(protocol: str) -> dict[str, Plain]:
    """
    Returns the types of a protocol's messages with what they and their fields mean, as plain data.

    Each type has groups: its own fields, and those of each kind of item in its lists. A field has its path, its form, and what
    its declaration says about it. Raises KeyError.

    >>> message_legend("swim")["ack"]["groups"][0]["fields"][3]
    {'name': 'incarnation.tx', 'form': 'integer, 0 to 9223372036854775807, as a decimal string', 'about': ''}
    """
    return {name: _legend_entry(record) for name, record in PROTOCOLS[protocol].specification.load().MESSAGE.form.cases.items()}


def _legend_entry(record: Record) -> dict[str, Plain]:
    own = _legend_group("", record)
    lists = [
        (name, part.form) for name, part in record.forms.items() if isinstance(part, ListOf) and isinstance(part.form, Tagged)
    ]
    kinds = [_legend_group(f"{kind} in {name}", inner) for name, form in lists for kind, inner in form.cases.items()]
    return {"about": whole_text(record.kind), "groups": [own, *kinds]}


def _legend_group(title: str, record: Record) -> Plain:
    fields: list[Plain] = [{"name": name, "form": form, "about": about} for name, form, about in explained(record)]
    return {"title": title, "about": whole_text(record.kind) if title else "", "fields": fields}


def explained(record: Record, within: str = "") -> Iterator[tuple[str, str, str]]:
    """Yields the path of each member, its form in words, and what its declaration says: its comment, or its own docstring."""
    comments = field_comments(record.kind)
    for name, form in record.forms.items():
        inner, items = within_lists(form)
        own = whole_text(inner.kind) if isinstance(inner, Record) else ""
        yield within + name, sentence(form), comments.get(name) or own
        if isinstance(inner, Record):
            yield from explained(inner, f"{within}{name}{items}.")


def whole_text(kind: type[Any]) -> str:
    """Returns the docstring of a class on one line; empty if it has none of its own."""
    text = " ".join((inspect.getdoc(kind) or "").split())
    return "" if text.startswith(f"{kind.__name__}(") else text


def field_comments(kind: type[Any]) -> dict[str, str]:
    """Returns the comments of a class's fields that are for readers, those with a colon."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # there is no source, as for a class that was made by a call
        return {}
    return dict(re.findall(r"^ +(\w+): .*  #: (.+)$", source, re.MULTILINE))


def tagged(form: Tagged, tag: str = "", *, with_defaults: bool = False) -> Iterator[str]:
    """Yields a table for each case, or only a sentence where it has no members; `tag` is what the number of a case is called."""
    for name, record in form.cases.items():
        heading = f"`{name}`" + (f", {tag} {form.tags[name]}" if tag and "purpose" not in record.forms else "")
        about = (record.kind.__doc__ or "").strip().splitlines()[0]
        yield from (f"**{heading}** — {about}", "")
        yield from members(record, with_defaults=with_defaults)


def members(record: Record, *, with_defaults: bool = False, with_about: bool = False) -> Iterator[str]:
    """Yields a table of a record's members, those of nested records by path."""
    given = dict(defaults(configured(record))) if with_defaults else {}
    rows = [
        [f"`{path}`", form, *[given.get(path, "")] * bool(given), *[about] * with_about]
        for path, form, about in explained(record)
    ]
    if rows:
        heading = ["member", "form", *["default"] * bool(given), *["what it is"] * with_about]
        yield from (f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *rows))
        yield ""


def within_lists(form: Form) -> tuple[Form, str]:
    """Returns what an optional form or a list consists of, and what the path to it has more: `[]` for each list."""
    items = ""
    while isinstance(form, ListOf | Optional):
        items += "[]" if isinstance(form, ListOf) else ""
        form = form.form
    return form, items


def sentence(form: Form) -> str:
    """Describes a form in words."""
    match form:
        case U64(most):
            return f"{'unsigned 64-bit integer' if most == U64_MAX else f'integer, 0 to {most}'}, as a decimal string"
        case Integer(least, most):
            return f"integer, {least} to {most}" if most < JSON_EXACT else f"integer, at least {least}"
        case Text(most):
            return f"text, at most {most} bytes"
        case OneOf(enumeration):
            return "one of " + ", ".join(f"`{member.value}`" for member in enumeration)
        case Optional(inner):
            return sentence(inner) + ", or null"
        case ListOf(inner):
            return "list of " + ("records" if isinstance(inner, Record | Tagged) else sentence(inner))
        case Record():
            return "record"
        case Tagged():
            return "one of " + ", ".join(f"`{name}`" for name in form.cases)
    about = (type(form).__doc__ or "").strip().splitlines()[0].rstrip(".")  # of a form that the protocol defines itself
    each = getattr(form, "form", None)
    return about[0].lower() + about[1:] + (f" Each: {sentence(each)}" if isinstance(each, Form) else "")


def defaults(plain: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Yields the path of each member and its default as JSON."""
    for name, value in plain.items():
        yield within + name, f"`{json.dumps(value)}`"
        if isinstance(value, dict):
            yield from defaults(value, within + name + ".")


def words(of: Iterable[str]) -> str:
    """Renders words as code."""
    return ", ".join(f"`{word}`" for word in of)
