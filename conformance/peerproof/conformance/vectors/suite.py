"""
The vectors: a protocol's clauses as test data.

`load` reads an index of all vectors from the user's cache folder if no source has changed, and the body of a vector, when it
is needed, from the compiled form of its source; otherwise from YAML, which takes a hundred times as long. The sources are
authoritative: indexes and forms are keyed by their digests, and a missing cache only costs time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import VectorError
from peerproof.conformance.vectors import basis, compiled, model_table
from peerproof.conformance.vectors.basis import Basis, Places
from peerproof.conformance.vectors.vector_source import RETIRED, Source, is_table
from peerproof.spec.collector import no_collector

__all__ = ["VERSION", "Suite", "Vector", "VectorError", "load"]

#: The version of all vectors. Ids never change: additions raise its last numbers, a change of the format its first.
VERSION: Final = "1.0.0"
_FIRST_ID: Final = re.compile(rb"^-? *id: *[\"']?([a-z0-9-]+/[a-z]+)/[^/]", re.MULTILINE)

#: Kinds of vectors: codec; message exchanges; exchanges from a loaded state; paths of a model; its single steps.
KINDS: Final = ("codec", "exchange", "loaded", "paths", "steps")


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
        sources, index = _index(root, contents, digest)
        vectors = tuple(_indexed(sources, index["lists"], row) for row in index["rows"])
    return Suite(
        vectors=vectors,
        digest=digest,
        version=f"{VERSION}+sha256:{digest[:12]}",
        notes=index["notes"],
        aliases=index["aliases"],
        withdrawn=index["withdrawn"],
        root=root,
        only=only,
    )


class _Indexed(Vector):
    """A vector of an index; its body is read on first use."""

    _source: Source
    _place: int

    @cached_property
    def body(self) -> Mapping[str, Any]:
        """As of any other vector."""
        return self._source.body(self._place)


def _indexed(sources: Sequence[Source], lists: Sequence[tuple[str, ...]], row: Sequence[Any]) -> Vector:
    """Makes a vector of a row of the index. Directly: twenty thousand calls of `__init__` take as long as all the rest."""
    name, rev, title, level, clauses, flags, needs, source, line, place, rests_on = row
    protocol, layer, _ = name.split("/")
    vector = object.__new__(_Indexed)
    vars(vector).update(
        id=name,
        rev=rev,
        title=title,
        protocol=protocol,
        layer=layer,
        level=level,
        clauses=lists[clauses],
        flags=lists[flags],
        needs=lists[needs],
        file=sources[source].name,
        line=line,
        rests_on=rests_on,
        _source=sources[source],
        _place=place,
    )
    return vector


def _index(root: Path, contents: Mapping[str, bytes], digest: str) -> tuple[list[Source], dict[str, Any]]:
    """
    The sources, and all that is known of their vectors but the bodies, from the cache if nothing has changed.

    `rows` has the members of each vector; its clauses, flags and needs are numbers of `lists`. Raises VectorError.
    """
    readers = compiled.readers()
    keys = {name: compiled.key(readers, name, content) for name, content in contents.items() if not _is_basis(name)}
    sources = [Source(root, name, contents[name], key) for name, key in keys.items()]
    key = compiled.key(readers, "index", digest.encode())
    index = compiled.load(key)
    if index is None:
        index = _make_index(root, contents, sources)
        compiled.store(key, index)
        compiled.forget_old()
    index["lists"] = [tuple(some) for some in index["lists"]]
    return sources, index


def _make_index(root: Path, contents: Mapping[str, bytes], sources: Sequence[Source]) -> dict[str, Any]:
    bases = _bases(root, contents)
    numbers: dict[tuple[str, ...], int] = {}
    rows = []

    def number(texts: Iterable[str]) -> int:
        return numbers.setdefault(tuple(texts), len(numbers))

    # Tables come last.
    for at, source in sorted(enumerate(sources), key=lambda one: is_table(one[1].name)):
        for place, (line, needs, body) in enumerate(source.rows()):
            name, level, clauses = body["id"], body["level"], tuple(body["clauses"])
            protocol, layer, _ = name.split("/")
            known = bases.get(protocol, Basis())
            if protocol in bases and layer == model_table.LAYER:
                level = "should" if name in known.weak else level
                clauses = known.cite(name, clauses)
            lists = [number(texts) for texts in (clauses, body.get("flags", ()), needs)]
            rests_on = known.decisions.get(name, {})
            rows.append([name, body["rev"], body["title"], level, *lists, at, line, place, rests_on])
    retired = next((source.form for source in sources if source.name == RETIRED), {})
    _check_ids(root, sources, rows, retired)
    notes: dict[str, Any] = {}
    for source in sources:
        for flag, note in source.form.get("notes", {}).items():
            notes.setdefault(flag, note)  # lint reports two meanings of one flag
    members = {member: retired.get(member, {}) for member in ("aliases", "withdrawn")}
    return {"rows": rows, "lists": list(numbers), "notes": notes, **members}


def _contents(root: Path) -> dict[str, bytes]:
    """Every source below the root by its relative path: YAML, and tables made from models."""
    if not root.is_dir():
        raise VectorError(locations.path_text(root), None, "no such folder or file of vectors")
    found: dict[str, bytes] = {}
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".yaml", ".yml", ".json") and path.is_file()):
        relative = path.relative_to(root).as_posix()
        is_vectors = path.suffix == ".yaml" and relative.count("/") == 2  # noqa: PLR2004  # as the message says
        if not (is_vectors or relative == RETIRED or is_table(relative) or _is_basis(relative)):
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
    rests_on = file.resolve().parent.parent / basis.FILE
    known = {f"{rests_on.parent.name}/{basis.FILE}": rests_on.read_bytes()} if rests_on.is_file() else {}
    return {place_of(file, content): content} | known


def place_of(file: Path, content: bytes) -> str:
    """Returns the path below a root that a single file has by its first vector's id. Raises VectorError."""
    first = _FIRST_ID.search(content)
    if first is None:
        raise VectorError(locations.path_text(file), None, "no vectors here: the file has no id PROTOCOL/LAYER/NAME")
    return f"{first[1].decode()}/{file.stem}.yaml"


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


def _check_ids(
    root: Path, sources: Sequence[Source], rows: Sequence[Sequence[Any]], retired: Mapping[str, Mapping[str, str]]
) -> None:
    """Checks that each id occurs once, and that no retired id occurs. Raises VectorError."""
    first: dict[str, Sequence[Any]] = {}
    for row in rows:
        name, source, place = row[0], sources[row[7]], row[9]
        if not is_table(source.name) and (before := first.setdefault(name, row)) is not row:
            raise source.parse().error(
                ("vectors", place, "id"), f"id {name} occurs twice, first at {_place(root, sources, before)}"
            )
    aliases, file = retired.get("aliases", {}), locations.path_text(root / RETIRED)
    for former, now in aliases.items():
        if now not in first:
            raise VectorError(file, None, f"alias {former} refers to {now}, which does not exist")
    for former in (*aliases, *retired.get("withdrawn", {})):
        if former in first:
            raise VectorError(
                file, None, f"{former} is used again, at {_place(root, sources, first[former])}; ids are never reused"
            )


def _place(root: Path, sources: Sequence[Source], row: Sequence[Any]) -> str:
    return f"{locations.path_text(root if root.is_file() else root / sources[row[7]].name)}:{row[8]}"
