"""
The vectors: a protocol's clauses as test data.

`load` reads each source from a compiled form in the user's cache folder if it has not changed; otherwise from YAML, which
takes a hundred times as long. The sources are authoritative: compiled forms are keyed by their digests, and a missing cache
only costs time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Final

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import Document, VectorError
from peerproof.conformance.vectors import basis, compiled, model_table
from peerproof.conformance.vectors.basis import Basis, Places
from peerproof.spec.collector import no_collector

__all__ = ["VERSION", "Suite", "Vector", "VectorError", "load"]

#: The version of all vectors. Ids never change: additions raise its last numbers, a change of the format its first.
VERSION: Final = "1.0.0"
_FIRST_ID: Final = re.compile(rb"^-? *id: *[\"']?([a-z0-9-]+/[a-z]+)/[^/]", re.MULTILINE)

#: Kinds of vectors: codec; message exchanges; exchanges from a loaded state; paths of a model; its single steps.
KINDS: Final = ("codec", "exchange", "loaded", "paths", "steps")
RETIRED: Final = "retired.yaml"  #: the file of ids that are no longer used, below the root of the vectors


@dataclass(frozen=True)
class Vector:
    """One vector: inputs of an implementation, and the expected outputs."""

    id: str  #: protocol/layer/name
    rev: int  #: increases when an expectation changes
    title: str
    protocol: str
    layer: str  #: codec, exchange, cluster, or model (from a state graph)
    level: str  #: must, should or may
    clauses: tuple[str, ...]
    flags: tuple[str, ...]
    needs: tuple[str, ...]  #: capabilities, including derived ones
    body: Mapping[str, Any]  #: as in YAML, with bytes as lower-case digits without blanks, and with its file's `receiver`
    file: str  #: relative to the root of the vectors
    line: int
    rests_on: Places = field(default_factory=dict)  #: the expectations that rest on decisions

    @property
    def kind(self) -> str:
        """One of KINDS: how it tests a clause, and whether an implementation must be loaded with a state for it."""
        loads = "state.load" in self.needs
        if self.layer == model_table.LAYER:
            return "steps" if loads else "paths"
        return "codec" if self.layer == "codec" else "loaded" if loads else "exchange"


@dataclass(frozen=True)
class Suite:
    """All vectors below one root, in the order of files and lines."""

    vectors: tuple[Vector, ...]
    digest: str  #: sha256 of the sources, in hexadecimal digits
    version: str  #: for reports and `hello`: `1.0.0+sha256:` and the first digits of the digest
    notes: Mapping[str, Mapping[str, str]]  #: flag -> kind, text, effect
    aliases: Mapping[str, str]  #: former id -> id
    withdrawn: Mapping[str, str]  #: former id -> reason
    root: Path
    only: Path | None = None  #: the file, if a single file was loaded

    def path(self, vector: Vector) -> Path:
        """The file of a vector."""
        return self.only or self.root / vector.file


def load(root: Path | None = None, protocol: str | None = None) -> Suite:
    """
    Loads the vectors below a root or of one file; by default those of this protocol's home, else the suite's own.

    The suite's own vectors include those of this project's protocols. Raises VectorError.
    """
    root = root or locations.vectors_root(protocol)
    only = root if root.is_file() else None
    contents = _contents(root) if only is None else _content(only)
    hashed = sha256()
    for name, content in contents.items():
        hashed.update(f"{name}\0{len(content)}\0".encode())
        hashed.update(content)
    digest = hashed.hexdigest()
    with no_collector():
        forms = _load_forms(root, contents)
        found = _bases(root, contents)
        rows = ((name, *row) for name, form in forms.items() for row in form.get("vectors", ()))
        vectors = tuple(_vector(found, *row) for row in (*rows, *_from_tables(forms)))
    _check_ids(root, contents, vectors, forms)
    notes: dict[str, Any] = {}
    for form in forms.values():
        for flag, note in form.get("notes", {}).items():
            notes.setdefault(flag, note)  # lint reports two meanings of one flag
    retired = forms.get(RETIRED, {})
    return Suite(
        vectors=vectors,
        digest=digest,
        version=f"{VERSION}+sha256:{digest[:12]}",
        notes=notes,
        aliases=retired.get("aliases", {}),
        withdrawn=retired.get("withdrawn", {}),
        root=root,
        only=only,
    )


def _contents(root: Path) -> dict[str, bytes]:
    """Every source below the root by its relative path: YAML, and tables made from models."""
    if not root.is_dir():
        raise VectorError(locations.path_text(root), None, "no such folder or file of vectors")
    found: dict[str, bytes] = {}
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".yaml", ".yml", ".json") and path.is_file()):
        relative = path.relative_to(root).as_posix()
        is_vectors = path.suffix == ".yaml" and relative.count("/") == 2  # noqa: PLR2004  # as the message says
        if not (is_vectors or relative == RETIRED or _is_table(relative) or _is_basis(relative)):
            expected = f"PROTOCOL/LAYER/TOPIC.yaml, or PROTOCOL/{model_table.LAYER}/CONFIGURATION.json,"
            message = f"expected a path like {expected} below the vectors' root"
            tip = f"a file of vectors can have any path if it is given itself: --vectors {locations.path_text(path)}"
            raise VectorError(locations.path_text(path), None, message, tip)
        try:
            found[relative] = path.read_bytes()
        except OSError as error:
            raise VectorError(locations.path_text(path), None, f"cannot be read: {error.strerror}") from None
    return found


def _content(file: Path) -> dict[str, bytes]:
    """A single file, under the path that its first vector's id gives; its real path does not matter."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise VectorError(locations.path_text(file), None, f"cannot be read: {error.strerror}") from None
    first = _FIRST_ID.search(content)
    if first is None:
        raise VectorError(locations.path_text(file), None, "no vectors here: the file has no id PROTOCOL/LAYER/NAME")
    place = first[1].decode()
    rests_on = file.resolve().parents[1] / basis.FILE
    known = {f"{rests_on.parent.name}/{basis.FILE}": rests_on.read_bytes()} if rests_on.is_file() else {}
    return {f"{place}/{file.stem}.yaml": content} | known


def _vector(found: Mapping[str, Basis], file: str, line: int, needs: list[str], body: Mapping[str, Any]) -> Vector:
    """Makes a vector of a source and its basis; a model's clauses and level are derived from both."""
    name = body["id"]
    protocol, layer, _ = name.split("/")
    level, clauses = body["level"], tuple(body["clauses"])
    rests_on: Places = {}
    if known := found.get(protocol):
        rests_on = known.decisions.get(name, rests_on)
        if layer == model_table.LAYER:
            level = "should" if name in known.weak else level
            clauses = known.cite(name, clauses)
    return Vector(
        id=name,
        rev=body["rev"],
        title=body["title"],
        protocol=protocol,
        layer=layer,
        level=level,
        clauses=clauses,
        flags=tuple(body.get("flags", ())),
        needs=tuple(needs),
        body=body,
        file=file,
        line=line,
        rests_on=rests_on,
    )


def _is_table(relative: str) -> bool:
    return relative.endswith(".json") and relative.split("/")[1:-1] == [model_table.LAYER]


def _is_basis(relative: str) -> bool:
    return relative.count("/") == 1 and relative.endswith(f"/{basis.FILE}")


def _bases(root: Path, contents: Mapping[str, bytes]) -> dict[str, Basis]:
    """Protocol -> the basis of its vectors. Raises VectorError."""
    return {name.partition("/")[0]: _parse_basis(root / name, contents[name]) for name in filter(_is_basis, contents)}


def load_basis(root: Path, protocol: str) -> Basis:
    """Loads the basis of a protocol's vectors from its file below a root; empty if there is none. Raises VectorError."""
    path = root / protocol / basis.FILE
    return _parse_basis(path, path.read_bytes()) if path.exists() else Basis()


def _parse_basis(path: Path, content: bytes) -> Basis:
    try:
        return basis.parse_basis(content)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"invalid basis: {type(error).__name__}: {error}; peerproof vectors lint --basis writes it again"
        raise VectorError(locations.path_text(path), None, message) from None


def _from_tables(forms: Mapping[str, Any]) -> Iterator[tuple[str, int, list[str], Mapping[str, Any]]]:
    for file, form in forms.items():
        if "table" in form:
            plain, rows = form["table"]
            table = model_table.table_of(plain)
            for kind, number, line, needs, labels in rows:
                yield file, line, needs, model_table.Expanded(table, kind, number, labels)


def _load_forms(root: Path, contents: Mapping[str, bytes]) -> dict[str, Any]:
    """The compiled form of each source, in their order."""
    readers = compiled.readers()
    forms: dict[str, Any] = {}
    is_new = False
    for name, content in contents.items():
        if _is_basis(name):
            continue
        key = compiled.key(readers, name, content)
        form = compiled.load(key)
        if form is None:
            form = _compile(root, name, content)
            compiled.store(key, form)
            is_new = True
        forms[name] = form
    if is_new:
        compiled.forget_old()
    return forms


def _compile(root: Path, name: str, content: bytes) -> dict[str, Any]:
    from peerproof.conformance.suite.schema import misfits
    from peerproof.conformance.vectors import model_vectors, vector_file

    if _is_table(name):
        return {"table": model_vectors.compile_table(content, PurePosixPath(name), locations.path_text(root / name))}
    document = _parse(root, name, content)
    found = misfits(document, "retired") if name == RETIRED else vector_file.problems(document, PurePosixPath(name))
    if found:
        raise found[0]
    if name == RETIRED:
        return dict(document.data)
    rows = [
        (document.values["vectors", index].line, vector_file.needs(vector), vector_file.body(document.data, vector))
        for index, vector in enumerate(document.data.get("vectors", ()))
    ]
    return {"vectors": rows, "notes": document.data.get("notes", {})}


def _parse(root: Path, name: str, content: bytes) -> Document:
    from peerproof.conformance.suite.strict_yaml import parse

    return parse(content, locations.path_text(root if root.is_file() else root / name))


def _check_ids(root: Path, contents: Mapping[str, bytes], vectors: Sequence[Vector], forms: Mapping[str, Any]) -> None:
    """Checks that each id occurs once, and that no retired id occurs. Raises VectorError."""
    written = [vector for vector in vectors if vector.layer != model_table.LAYER]
    first: dict[str, Vector] = {}
    for vector in written:
        if (before := first.setdefault(vector.id, vector)) is not vector:
            document = _parse(root, vector.file, contents[vector.file])
            index = next(i for i, one in enumerate(one for one in written if one.file == vector.file) if one is vector)
            raise document.error(("vectors", index, "id"), f"id {vector.id} occurs twice, first at {_place(root, before)}")
    retired = forms.get(RETIRED, {})
    aliases, file = retired.get("aliases", {}), locations.path_text(root / RETIRED)
    for former, now in aliases.items():
        if now not in first:
            raise VectorError(file, None, f"alias {former} refers to {now}, which does not exist")
    for former in (*aliases, *retired.get("withdrawn", {})):
        if former in first:
            raise VectorError(file, None, f"{former} is used again, at {_place(root, first[former])}; ids are never reused")


def _place(root: Path, vector: Vector) -> str:
    return f"{locations.path_text(root if root.is_file() else root / vector.file)}:{vector.line}"
