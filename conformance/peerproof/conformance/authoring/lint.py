"""
The rules for vector files, beyond that they can be read.

`RULES` is the list. A finding is `file:line:column: rule: what is wrong`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.messages import event_kinds
from peerproof.conformance.authoring import reviewed
from peerproof.conformance.clauses import catalogue as prose
from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.schema import did_you_mean
from peerproof.conformance.suite.strict_yaml import Document, VectorError, parse
from peerproof.conformance.suite.strict_yaml import Path as Where
from peerproof.conformance.vectors import plain_forms, vector_file
from peerproof.conformance.vectors import suite as vectors
from peerproof.conformance.vectors.model_table import LAYER

#: The name of each rule and what it requires.
RULES: Final = (
    ("clause", "every clause that a vector, the code or the prose cites exists"),
    ("level", "no vector demands more than its clauses do, nor more than the weakest clause that it needs"),
    ("decision", "a vector cites the decisions that it depends on, and cites no other decision that has another reading"),
    ("basis", "the recorded dependencies on decisions are those that running the other readings finds (--readings)"),
    ("reviewed", "no clause has changed since its vectors were reviewed"),
    ("flag", "every flag is defined in the file that uses it, used where it is defined, and means one thing everywhere"),
    ("needs", "needs that can be derived are not written down, and events.KIND names a kind of event"),
    ("matcher", "an object that looks like a matcher is one, and a reference is bound before it is used"),
    ("format", "fields in the schema's order, lists of names sorted, bytes in lower case, no blanks at the ends of lines"),
    ("twin", "no two vectors are the same"),
    ("specification", "the protocol's specification agrees: forms, bytes, families with a variant left, and behaviour"),
)

#: Fields that name and describe a vector, not what it does.
LABELS: Final = frozenset({"id", "rev", "title", "about", "level", "clauses", "flags", "needs"})

_GROUP: Final = r"(([0-9a-f]{2})+|\(([0-9a-f]{2})+\)x[0-9]+)"
_CANONICAL_HEX: Final = re.compile(rf"({_GROUP}( {_GROUP})*)?")


class Finding(NamedTuple):
    """A broken rule and its place."""

    file: str
    line: int
    column: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.message}"


class Source(NamedTuple):
    """A vector file that can be read."""

    path: Path
    text: str
    document: Document

    def finding(self, rule: str, where: Where, message: str, *, at_key: bool = False) -> Finding:
        """Returns a finding about a part of the document."""
        error = self.document.error(where, message, at_key=at_key)
        return Finding(self.document.file, error.line, error.column, rule, message)


def read(root: Path, protocol: str | None = None) -> tuple[list[Source], list[VectorError]]:
    """
    Returns the readable vector files below a root, or a single file, and every error that `vectors.load` would stop at.

    With a protocol, only its files are read.
    """
    readable: list[Source] = []
    errors: list[VectorError] = []
    for path in [root] if root.is_file() else sorted(root.glob(f"{protocol or '*'}/*/*.yaml")):
        try:
            content = path.read_bytes()
            document = parse(content, locations.path_text(path))
            place = vectors.place_of(path, content) if path == root else path.relative_to(root).as_posix()
        except VectorError as error:
            errors.append(error)
            continue
        if found := vector_file.problems(document, PurePosixPath(place)):
            errors += found
        elif protocol in (None, document.data["protocol"]):
            readable.append(Source(path, path.read_text(encoding="utf-8"), document))
    if not errors:
        try:
            vectors.load(root)
        except VectorError as error:
            errors.append(error)
    return readable, errors


def findings(readable: Sequence[Source]) -> list[Finding]:
    """Returns every broken rule in these files, except those of behaviour, which need a runner."""
    found: list[Finding] = []
    for source in readable:
        for check in (_clauses, _flags, _needs, _matchers, _format, _specification):
            found += check(source)
    found += [*_flags_across(readable), *_twins(readable)]
    for protocol in sorted({source.document.data["protocol"] for source in readable}):
        found += [*citations(prose.load(protocol)), *not_reviewed(prose.load(protocol))]
    return sorted(found)


def citations(clauses: prose.Clauses) -> Iterator[Finding]:
    """
    Yields a finding for each citation of an unknown clause in the specification's code, its properties and the prose.

    Code and prose may cite clauses of other protocols: a protocol that builds on another one names the clauses.
    """
    others = frozenset(item for name in prose.protocols() if name != clauses.protocol for item in _clauses_of(name).items)
    known = clauses.items.keys() | others
    for clause, places in clauses.code.items():
        if clause not in known:
            for place in places:
                yield Finding(locations.path_text(place.file), place.line, 1, "clause", _unknown(clause, clauses))
    for number, line in enumerate(clauses.file.read_text(encoding="utf-8").splitlines(), start=1):
        for clause in prose.find_clause_ids(line):
            if clause not in known:
                yield Finding(locations.path_text(clauses.file), number, line.index("[") + 1, "clause", _unknown(clause, clauses))
    for clause, names in clauses.properties.items():
        if clause not in clauses.items:
            message = f"property {', '.join(names)}: {_unknown(clause, clauses)}"
            yield Finding(locations.path_text(clauses.file), 1, 1, "clause", message)


def not_reviewed(clauses: prose.Clauses) -> Iterator[Finding]:
    """Yields the clauses that have changed since their vectors were reviewed."""
    for clause, line, what in reviewed.stale(clauses):
        if clause is None:
            message = f"{what} is not a clause any more: peerproof vectors lint --reviewed {what}"
            yield Finding(locations.path_text(reviewed.path_of(clauses.protocol)), line, 1, "reviewed", message)
        else:
            message = (
                f"{clause.id} {what}: see peerproof explain {clause.id}, and then peerproof vectors lint --reviewed {clause.id}"
            )
            yield Finding(locations.path_text(clauses.file), line, 1, "reviewed", message)


def _unknown(clause: str, clauses: prose.Clauses) -> str:
    return f"{clauses.protocol} has no clause {clause}"


def _each(source: Source) -> Iterator[tuple[Where, Mapping[str, Any]]]:
    for index, vector in enumerate(source.document.data["vectors"]):
        yield ("vectors", index), vector


@cache
def _clauses_of(protocol: str) -> prose.Clauses:
    return prose.load(protocol)


def _clauses(source: Source) -> Iterator[Finding]:
    clauses = _clauses_of(source.document.data["protocol"])
    for where, vector in _each(source):
        levels: list[str] = []
        for index, name in enumerate(vector["clauses"]):
            clause = clauses.items.get(name)
            if clause is None:
                yield source.finding("clause", (*where, "clauses", index), _unknown(name, clauses))
            elif clause.level is None:
                message = f"{name} is neither clause nor decision; a flag can name it"
                yield source.finding("clause", (*where, "clauses", index), message)
            else:
                levels.append(clause.level)
        # A permission (may) sets no upper bound next to other clauses. Alone it is the level.
        if levels:
            highest = min((level for level in levels if level != "may"), key=prose.LEVELS.index, default="may")
            if prose.LEVELS.index(vector["level"]) > prose.LEVELS.index(highest):
                message = f"{vector['level']}, but the clauses {', '.join(vector['clauses'])} say {highest}"
                yield source.finding("level", (*where, "level"), message)


def _flags(source: Source) -> Iterator[Finding]:
    notes = source.document.data.get("notes", {})
    used: set[str] = set()
    for where, vector in _each(source):
        for index, flag in enumerate(vector.get("flags", ())):
            used.add(flag)
            if flag not in notes:
                message = f"{flag!r} is not defined in this file's notes{did_you_mean(flag, list(notes))}"
                yield source.finding("flag", (*where, "flags", index), message)
    for flag in notes:
        if flag not in used:
            yield source.finding("flag", ("notes", flag), f"{flag!r} is defined but not used in this file", at_key=True)


def _flags_across(readable: Sequence[Source]) -> Iterator[Finding]:
    seen: dict[str, tuple[Mapping[str, str], str]] = {}
    for source in readable:
        for flag, note in source.document.data.get("notes", {}).items():
            first, place = seen.setdefault(flag, (note, f"{source.document.file}:{source.document.keys['notes', flag].line}"))
            if note != first:
                yield source.finding("flag", ("notes", flag), f"{flag!r} means something else at {place}", at_key=True)


def _needs(source: Source) -> Iterator[Finding]:
    for where, vector in _each(source):
        derived = vector_file.needs({name: value for name, value in vector.items() if name != "needs"})
        for index, need in enumerate(vector.get("needs", ())):
            if need in derived:
                yield source.finding("needs", (*where, "needs", index), f"{need!r} follows from what the vector does")
            kinds = event_kinds(source.document.data["protocol"])
            if need.startswith("events.") and need.removeprefix("events.") not in kinds:
                yield source.finding("needs", (*where, "needs", index), f"{need!r} is none of {', '.join(kinds)}")


def _matchers(source: Source) -> Iterator[Finding]:
    for where, vector in _each(source):
        bound: set[str] = set()
        expectations = (
            (part, (*where, "steps", index, name))
            for index, step in enumerate(vector.get("steps", ()))
            for name, part in ((name, step.get(name)) for name in ("expect", "observe", "told"))
        )
        for place, value in (found for part, at in expectations for found in _objects(part, at)):
            words = plain_forms.MATCHERS.intersection(value)
            if not words.isdisjoint(value) and len(value) > 1:
                message = f"{sorted(words)[0]!r} beside other fields is a literal, not a matcher; is that meant?"
                yield source.finding("matcher", place, message)
            elif len(value) == 1 and not words and (guess := _like_a_matcher(next(iter(value)))):
                yield source.finding("matcher", place, f"{next(iter(value))!r} is not a matcher{guess}", at_key=True)
            elif "ref" in value and value["ref"] not in bound:
                yield source.finding("matcher", place, f"{value['ref']!r} is not bound before")
            elif "bind" in value:
                bound.add(value["bind"])


def _like_a_matcher(name: str) -> str:
    """Suggests a similar matcher. Names that begin with a dollar get none: protocols write special values so."""
    return "" if name.startswith("$") else did_you_mean(name, sorted(plain_forms.MATCHERS), 0.75)


def _objects(value: Any, where: Where) -> Iterator[tuple[Where, Mapping[str, Any]]]:
    """Yields every object within a value, outer ones first."""
    if isinstance(value, dict):
        yield where, value
    for name, part in _parts(value):
        yield from _objects(part, (*where, name))


def _parts(value: Any) -> Any:
    """Returns the members of an object or the elements of a list, with their names or indices."""
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()


def _format(source: Source) -> Iterator[Finding]:
    for number, line in enumerate(source.text.splitlines(), start=1):
        if line != line.rstrip() or "\t" in line:
            yield Finding(source.document.file, number, len(line.rstrip()) + 1, "format", "blanks at the end, or a tab")
    if not source.text.endswith("\n") or source.text.endswith("\n\n"):
        yield Finding(source.document.file, source.text.count("\n") + 1, 1, "format", "expected one line end at the end")
    for where, vector in _each(source):
        yield from _field_order(source, where, vector, vector_kind(vector))
        step_kind = "cluster_step" if vector_file.layer_of(vector["id"]) == "cluster" else "exchange_step"
        for part in ("setup", "steps"):
            for index, step in enumerate(vector.get(part, ())):
                yield from _field_order(source, (*where, part, index), step, step_kind)
        for name, key in (("clauses", in_order), ("flags", str), ("needs", str)):
            names = vector.get(name, [])
            if names != (ordered := sorted(names, key=key)):
                yield source.finding("format", (*where, name), f"expected the order {', '.join(ordered)}")
        for place, digits in _hex_in(vector, where, protocols_own=False):
            if not _CANONICAL_HEX.fullmatch(digits):
                yield source.finding("format", place, f"expected lower-case digits, single blanks between: {digits!r}")


def vector_kind(vector: Mapping[str, Any]) -> str:
    """Returns the schema's name of this kind of vector."""
    layer = vector_file.layer_of(vector["id"])
    return f"{layer}_vector" if layer != "codec" else "rejecting_vector" if "rejects" in vector else "coding_vector"


@cache
def _order(kind: str) -> list[str]:
    schema = json.loads(locations.schema("vector").read_bytes())
    return list(schema["$defs"][kind]["properties"])


def _field_order(source: Source, where: Where, fields: Mapping[str, Any], kind: str) -> Iterator[Finding]:
    expected = sorted(fields, key=_order(kind).index)
    if expected != list(fields):
        yield source.finding("format", where, f"expected the fields in the order {', '.join(expected)}")


def _hex_in(value: Any, where: Where, *, protocols_own: bool) -> Iterator[tuple[Where, str]]:
    for name, part in _parts(value):
        own = protocols_own or name in vector_file.PROTOCOLS_OWN
        if isinstance(part, str) and (name == "hex" or (name in ("bytes", "byte") and not own)):
            yield (*where, name), part
        yield from _hex_in(part, (*where, name), protocols_own=own)


def _twins(readable: Sequence[Source]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for source in readable:
        for where, vector in _each(source):
            does = {name: value for name, value in vector_file.normalise(vector).items() if name not in LABELS}
            key = vector["id"].rpartition("/")[0] + json.dumps(does, sort_keys=True)
            if (first := seen.setdefault(key, vector["id"])) != vector["id"]:
                yield source.finding("twin", where, f"{vector['id']} does the same as {first}")


def _specification(source: Source) -> Iterator[Finding]:
    protocol, file = source.document.data["protocol"], source.document.data
    if any("rejects" in vector for vector in file["vectors"]):
        receiver = vector_file.normalise(file.get("receiver", {}))
        for place, message in plain_forms.receiver_misfits(protocol, receiver):
            yield source.finding("specification", ("receiver", *place), f"receiver: {message}")
    for where, vector in _each(source):
        for place, message in plain_forms.misfits(protocol, vector_file.normalise(vector)):
            yield source.finding("specification", (*where, *place), message)


def behaviour(readable: Sequence[Source], objections: Mapping[str, str]) -> list[Finding]:
    """Returns a finding for each vector that the specification does not pass, at the vector's place."""
    return [
        source.finding("specification", where, objections[vector["id"]])
        for source in readable
        for where, vector in _each(source)
        if vector["id"] in objections
    ]


def of_tables(suite: vectors.Suite, objections: Mapping[str, str]) -> list[Finding]:
    """Returns findings about vectors that are rows of tables: unknown clauses, and failures of the specification."""
    found: list[Finding] = []
    for vector in suite.vectors:
        if vector.layer == LAYER:
            known = _clauses_of(vector.protocol)
            wrong = [("clause", _unknown(name, known)) for name in vector.clauses if name not in known.items]
            wrong += [("specification", objections[vector.id])] if vector.id in objections else []
            found += [Finding(locations.path_text(suite.path(vector)), vector.line, 1, rule, message) for rule, message in wrong]
    return found
