"""
The reference pages that are made from the code: commands, messages, clause matrix, adapter protocol and so on.

    python docs/generate.py [--into docs/reference]

`make docs` runs it before it builds the site; what it writes is not kept in the repository, so it cannot become stale.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from typing import Any

from peerproof.cli.main import COMMANDS, usage
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.errors import REASONS
from peerproof.spec.forms.answers import Items, Keyed
from peerproof.spec.forms.form import U64, U64_MAX, Form, Integer, ListOf, OneOf, Optional, Record, Tagged, Text
from peerproof.spec.forms.state_form import ShownAs
from peerproof.spec.protocols import PROTOCOLS

HELP_WIDTH = "100"

#: Commands that have options of each protocol's own.
OF_PROTOCOLS = ("node", "simulate")

#: Stages of the pipeline, each a command of its own.
STAGES = ("simulate", "ingest", "validate", "measure", "report", "run", "matrix", "status", "gc", "warm")

#: Up to here every JSON reader is exact; as an upper bound it says nothing about the protocol.
JSON_EXACT = 2**53


def main() -> int:
    """Writes the pages."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "reference")
    into: Path = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    for page in (commands, messages, tables, clauses, decisions, vectors, adapter, library):
        (into / f"{page.__name__}.md").write_text("\n".join(page()) + "\n", encoding="utf-8")
    return 0


def commands() -> Iterator[str]:
    """Each command's own help."""
    yield from ("# Commands", "", "What each command says about itself when asked with `--help`.", "")
    yield from fenced(usage())
    for name, _, about in COMMANDS:
        yield from (f"## peerproof {name}", "", about[0].upper() + about[1:] + ".", "")
        yield from fenced(output(name, "--help"))
        for protocol in RUNTIMES if name in OF_PROTOCOLS else ():
            yield from (f"### peerproof {name} {protocol}", "")
            yield from fenced(output(name, protocol, "--help"))
        for stage in STAGES if name == "pipeline" else ():
            yield from (f"### peerproof pipeline {stage}", "")
            yield from fenced(output(name, stage, "--help"))


def messages() -> Iterator[str]:
    """Each protocol's messages, commands, notices and configuration, from the declarations that the codecs are made of."""
    yield from ("# Messages", "", "From the declarations that encode and decode them. The plain form is what vectors, traces")
    yield from ("and adapters show: a 64-bit integer is a decimal string, a text that is not UTF-8 is `{hex: …}`.", "")
    for protocol in RUNTIMES.values():
        spec = protocol.specification()
        yield from (f"## {protocol.name}", "")
        for title, form, tags in (
            ("Messages", spec.MESSAGE.form, len(set(spec.MESSAGE.form.tags.values())) > 1),
            *((name.capitalize(), form, False) for name, form in nested(spec.MESSAGE.form)),
            ("Commands of the application", spec.COMMAND, False),
            ("Events that the application is told of", spec.NOTICE, False),
            ("Timers", spec.TIMER, False),
        ):
            yield from (f"### {title}", "")
            yield from tagged(form, with_tags=tags)
        yield from ("### Configuration", "")
        yield from members(spec.CONFIG, dict(defaults(configured(spec.CONFIG))))


def configured(record: Record) -> dict[str, Any]:
    """The plain defaults of a configuration's members, of those that have one."""
    made = {f.name: f.default_factory() if f.default_factory is not MISSING else f.default for f in fields(record.kind)}
    return {name: record.forms[name].plain(value) for name, value in made.items() if value is not MISSING}


def nested(form: Tagged) -> Iterator[tuple[str, Tagged]]:
    """The lists within messages whose items are of several kinds."""
    found = {
        name: part.form
        for record in form.cases.values()
        for name, part in record.forms.items()
        if isinstance(part, ListOf) and isinstance(part.form, Tagged)
    }
    yield from found.items()


def tables() -> Iterator[str]:
    """What the stages of the pipeline read and write."""
    from peerproof.pipeline.storage.tables import documentation

    yield from ("# Tables of the pipeline", "")
    yield documentation()


def clauses() -> Iterator[str]:
    """Which code, vectors and properties hold each clause, as `peerproof coverage` finds it."""
    yield from ("---", "hide: [toc]", "---", "", "# Clause matrix", "")  # the table needs the whole width
    yield "For each clause and decision: the code that cites it, the vectors and the properties"
    yield from ("that hold it. What no vector can show says why in its text.", "")
    yield output("coverage", "--format", "markdown", allowed=(0, 1))  # a hole is shown, and fails elsewhere


def decisions() -> Iterator[str]:
    """What each document leaves open, and how it was settled; and where a known implementation does something else."""
    from peerproof.conformance.clauses import catalogue as clauses
    from peerproof.conformance.clauses.catalogue import in_order
    from peerproof.conformance.readings import readings_of
    from peerproof.conformance.vectors.suite import load as suite
    from peerproof.conformance.vectors.suite import load_basis

    yield from ("# What the documents leave open", "", "A document has gaps, and two people fill them differently. Each gap")
    yield from ("that was found is a decision here, with its reason. What known implementations do otherwise follows.", "")
    yield from ("What follows from reading a document otherwise is tried:", "")
    yield from ("| protocol | other readings | of clauses | vectors that rest on them | of all | only *should* by them |",)
    yield f"| --- |{' ---: |' * 5}"
    everything = suite()
    for protocol in clauses.protocols():
        readings, basis = readings_of(protocol), load_basis(everything.root, protocol)
        own = sum(vector.protocol == protocol for vector in everything.vectors)
        counts = (len(readings), len({one.clause for one in readings}), len(basis.decisions), own, len(basis.weak))
        yield f"| {protocol} | {' | '.join(f'{count:,}' for count in counts)} |"
    yield ""
    for protocol in clauses.protocols():
        items = clauses.load(protocol).items
        yield from (f"## {protocol}", "")
        for kind, title in (("A", "Decisions"), ("D", "Divergences of the original")):
            found = sorted((item for item in items if re.match(rf"[A-Z]{kind}-", item)), key=in_order)
            yield from (f"### {title}", "", *(f"- **{item}** {items[item].text}" for item in found), "")
        if readings := readings_of(protocol):
            yield from ("### Other readings", "", "| clause | reading | an implementation that takes it |", "| --- | --- | --- |")
            yield from (f"| {one.clause} | `{one.name}` | {one.text} |" for one in readings)
            yield ""


def vectors() -> Iterator[str]:
    """Each object of a vector file and its fields, from the schema that files are held to."""
    from peerproof.conformance.suite import locations

    schema = json.loads(locations.schema("vector").read_bytes())
    yield from (
        "# Fields of vectors",
        "",
        "Of the files PROTOCOL/LAYER/TOPIC.yaml in `conformance/vectors/`, as their schema has them",
    )
    yield from ("(`conformance/schemas/vector.schema.json`). [How to write one](../how-to/write-a-vector.md).", "")
    for name, part in {"a file": schema, **schema["$defs"]}.items():
        if not part.get("properties") or name.startswith("is_"):
            continue
        yield from (f"## {name.replace('_', ' ')}", "")
        if about := part.get("description") if part is not schema else None:
            yield from (f"{about[0].upper()}{about[1:]}.", "")
        yield from ("| field | | what it is |", "| --- | --- | --- |")
        for field, what in part["properties"].items():
            yield f"| `{field}` | {'needed' if field in part.get('required', ()) else ''} | {_of_schema(what, schema)} |"
        yield ""


def adapter() -> Iterator[str]:
    """What a reply must hold, and what can be claimed in each protocol, from what the runner checks and the suite asks for."""
    from peerproof.conformance.adapter.messages import ERROR_CODES, MEMBERS, VERSION
    from peerproof.conformance.runner.cases import cases
    from peerproof.conformance.vectors.suite import load

    yield from ("# Adapter protocol", "", f"Version {VERSION}, as the runner checks it.")
    yield from (
        "[How to write an adapter](../how-to/write-an-adapter.md) explains each request with an example.",
        "",
        "## Replies",
        "",
    )
    yield "Beside `id` and `ok`; `rejected` stands instead of what there must be. Any other member is a mistake of the adapter."
    yield from ("", "| op | must have | may have |", "| --- | --- | --- |")
    for op, (needed, others) in MEMBERS.items():
        yield f"| `{op}` | {words(needed)} | {words(others)} |"
    yield from ("", "To any request: `error`, with a `message` and one of these as its `code`: " + words(ERROR_CODES) + ".")
    yield from ("", "`rejected` has a `message` and one of these as its `class`: " + words(REASONS) + ".")
    suite = load()
    for protocol in RUNTIMES.values():
        own = [vector for vector in suite.vectors if vector.protocol == protocol.name]
        tried = cases(suite, own)
        asked_for = Counter(need for case in tried for need in case.needs)
        events = [need for need in sorted(asked_for) if need.startswith("events.")]
        offered = [*protocol.capabilities(), *events, *(need for need in ("choices.oracle",) if asked_for[need])]
        unknown = asked_for.keys() - set(offered)
        assert not unknown, f"the reference lacks what vectors need: {unknown}"
        yield from ("", f"## {protocol.name}", "", f"What can be claimed, and how many of the {len(tried):,} cases need it.", "")
        yield from ("| capability | what it claims | cases |", "| --- | --- | ---: |")
        yield from (f"| `{need}` | {claims(protocol.name, need)} | {asked_for[need]:,} |" for need in offered)
        yield from of_protocol(protocol.name)


def claims(protocol: str, capability: str) -> str:
    """What a capability claims, in words. Raises KeyError for one that nobody has described."""
    from peerproof.conformance.adapter.messages import CAPABILITIES

    word, _, name = capability.partition(".")
    spec = PROTOCOLS[protocol].specification.load()
    if word == "api":
        return about(spec.COMMAND.cases[name].kind)
    if word == "observe":
        return str(answers_of(protocol)[name].about)
    if word == "events" and name:
        return f"the event `{name}`"
    return CAPABILITIES[word]


def answers_of(protocol: str) -> Mapping[str, Any]:
    """The answers to its queries."""
    declared = PROTOCOLS[protocol].query_answers
    return declared.load() if declared else {}


def of_protocol(protocol: str) -> Iterator[str]:
    """The calls, queries, events and questions of chance of a protocol, with the form of every member."""
    from peerproof.conformance.adapter.messages import MALFORMED

    row, spec = PROTOCOLS[protocol], PROTOCOLS[protocol].specification.load()
    yield from ("", f"### Calls of {protocol}", "")
    yield from tagged(spec.COMMAND, with_tags=False)
    yield from ("", f"### Queries of {protocol}", "")
    for name, answer in answers_of(protocol).items():
        yield from (f"**`{name}`** — {answer.about}", "")
        yield from shape(answer.form)
    yield from ("", f"### Events of {protocol}", "")
    for name, record in spec.NOTICE.cases.items():
        optional = ", optional" if name in row.optional_events else ""
        yield from (f"**`{name}`**{optional} — {about(record.kind)}", "")
        yield from members(record, {})
    yield from (f"**`{MALFORMED}`**, optional — What came in is no message.", "")
    yield from (
        "| member | form |",
        "| --- | --- |",
        f"| `class` | one of {words(REASONS)} |",
        "| `offset` | the byte at which that shows, counted from 0 |",
        "",
    )
    if row.sites:
        yield from (f"### Questions of chance of {protocol}", "", "| site | what is chosen |", "| --- | --- |")
        yield from (f"| `{site}` | {chosen} |" for site, chosen in row.sites.items())


def shape(form: Any) -> Iterator[str]:
    """A table of all that is in an answer, or a sentence if it has no members."""
    rows = list(described_answer(form, ""))
    if rows and rows[0][0] == "" and len(rows) == 1:
        yield from (rows[0][1][0].upper() + rows[0][1][1:] + ".", "")
        return
    yield from ("| member | form |", "| --- | --- |")
    yield from (f"| {f'`{path}`' if path else 'the answer'} | {kind} |" for path, kind in rows)
    yield ""


def described_answer(form: Any, path: str) -> Iterator[tuple[str, str]]:
    """The path and the form of an answer, and of all that is in it."""
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
    """What an answer may be, in words."""
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
    """The first line of a docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0]


def library() -> Iterator[str]:
    """The public names of each package, from its `__all__`, with signatures, docstrings and examples."""
    yield from ("---", "hide: [navigation]", "---", "", "# Library", "", "What each package offers to programs.")
    yield from ("[Use it as a library](../how-to/use-as-a-library.md) shows how things go together.", "")
    for name in packages():
        package = import_module(name)
        about = (package.__doc__ or "").strip().splitlines()[0]
        yield from (f"## {name}", "", about, "")
        for public in package.__all__:
            found = getattr(package, public)
            if isclass(found) or isfunction(found):
                alone = isfunction(found) or issubclass(found, BaseException)
                members = "      members: false" if alone else "      members: null"
                yield from (f"::: {found.__module__}.{found.__qualname__}", *OPTIONS, members, "")
            else:
                shown = words(map(str, found)) if isinstance(found, Collection) else repr(found)
                yield from (f"### {public}", "", f"A constant: {shown}.", "")


#: How the site shows an object of the library: its signature and its docstring, not its source.
OPTIONS = (
    "    options:",
    "      heading_level: 3",
    "      show_source: false",
    "      show_signature: true",
    "      show_signature_annotations: true",
    "      separate_signature: true",
    "      show_docstring_description: true",
    "      show_docstring_attributes: true",
    "      filters: ['!^_']",
)


def packages() -> list[str]:
    """The packages that list their public names: in a stub, `__init__.pyi`, or, as `peerproof.tla`, in `__init__.py` itself."""
    roots = (Path(__file__).parents[1] / part for part in ("reference", "conformance"))
    stubs = (".".join(stub.relative_to(root).parts[:-1]) for root in roots for stub in (root / "peerproof").rglob("__init__.pyi"))
    return sorted([*stubs, "peerproof.tla"])


def picks(part: Any) -> Iterator[Mapping[str, Any]]:
    """All draws that a vector fixes, wherever they stand in it."""
    if isinstance(part, dict):
        yield from part.get("picks", ())
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from picks(inner)


def words(of: Iterable[str]) -> str:
    """Words as code."""
    return ", ".join(f"`{word}`" for word in of)


def _of_schema(what: Any, schema: Mapping[str, Any]) -> str:
    """A part of a schema in words, for a cell of a table."""
    if not isinstance(what, dict):
        return "see above"
    if "$ref" in what:
        name = what["$ref"].rpartition("/")[2]
        target = schema["$defs"][name]
        known = f"[{name.replace('_', ' ')}](#{name.replace('_', '-')})" if target.get("properties") else ""
        return what.get("description") or known or target.get("description") or _of_schema(target, schema)
    if "const" in what or "enum" in what:
        return "one of " + ", ".join(f"`{json.dumps(value)}`" for value in what.get("enum", [what.get("const")]))
    kind = what.get("type", "anything")
    said = what.get("description") or (kind if isinstance(kind, str) else " or ".join(kind))
    if kind != "array" or not isinstance(what.get("items"), dict):
        return said
    each = f"list of {_of_schema(what['items'], schema)}"
    return f"{said}: {each}" if "description" in what else each


def tagged(form: Tagged, *, with_tags: bool) -> Iterator[str]:
    """A table for each case, or a sentence where a case has no members."""
    for name, record in form.cases.items():
        heading = f"`{name}`" + (f", type byte {form.tags[name]}" if with_tags else "")
        about = (record.kind.__doc__ or "").strip().splitlines()[0]
        yield from (f"**{heading}** — {about}", "")
        yield from members(record, {})


def members(record: Record, defaults: Mapping[str, str]) -> Iterator[str]:
    """The members of a record; those of records within it, too, by their path."""
    rows = [f"| `{path}` | {kind} |" + (f" {defaults.get(path, '')} |" if defaults else "") for path, kind in described(record)]
    if rows:
        yield "| member | form |" + (" default |" if defaults else "")
        yield "| --- | --- |" + (" --- |" if defaults else "")
        yield from rows
        yield ""


def described(record: Record, within: str = "") -> Iterator[tuple[str, str]]:
    """Each member's path and what it may be."""
    for name, form in record.forms.items():
        yield within + name, sentence(form)
        inner = form.form if isinstance(form, ListOf | Optional) else form
        if isinstance(inner, Record):
            yield from described(inner, within + name + ("[]." if isinstance(form, ListOf) else "."))


def sentence(form: Form) -> str:
    """What a value of this form may be, in words."""
    match form:
        case U64(most):
            return "unsigned 64-bit integer" if most == U64_MAX else f"integer, 0 to {most}"
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
    about = (type(form).__doc__ or "").strip().splitlines()[0].rstrip(".")
    return about[0].lower() + about[1:]  # a form of the protocol's own says what it is


def defaults(plain: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Each member's path and its default, as JSON."""
    for name, value in plain.items():
        yield within + name, f"`{json.dumps(value)}`"
        if isinstance(value, dict):
            yield from defaults(value, within + name + ".")


def fenced(text: str) -> Iterable[str]:
    """Text as it stands."""
    return ("```text", text.rstrip(), "```", "")


def output(*arguments: str, allowed: Collection[int] = (0,)) -> str:
    """What a command prints. A command that fails ends this program with its message."""
    environment: dict[str, Any] = {**os.environ, "COLUMNS": HELP_WIDTH, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "peerproof.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"docs/generate.py: peerproof {' '.join(arguments)} exits with {done.returncode}:\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
