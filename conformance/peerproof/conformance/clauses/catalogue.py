"""
The clauses of a protocol and their citations in code, vectors, properties, models and proofs.

A protocol's prose, `spec/PROTOCOL.md`, has a list item for each clause and decision:

    - **B-14** *must* — The text, which may go on
      in lines that are indented.

Items of other kinds (properties, divergences, proof obligations) have no level. Code, prose and properties cite in brackets,
ranges with an ellipsis: `[B-11…B-14, BA-05]`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any, Final, NamedTuple, TypeVar

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import Place, VectorError
from peerproof.spec.properties import is_decision
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import root as models_root

LEVELS: Final = ("may", "should", "must")

_ID: Final = r"[A-Z]{1,3}-\d{2,3}"
_ITEM: Final = re.compile(rf"- \*\*(?P<id>{_ID})\*\*(?: \*(?P<level>[a-z]+)\*)? — (?P<text>.*)")
_LIKE_ITEM: Final = re.compile(rf"\s*[-*+] +\*\*{_ID}\*\*")
_CITATION: Final = re.compile(rf"\[({_ID}(?:(?:, |…){_ID})*)\]")
_UNTESTABLE: Final = re.compile(r"Not testable, because\s+(?P<reason>[^.]*)")


@dataclass(frozen=True)
class Clause:
    """One item of a protocol's prose."""

    id: str
    level: str | None  #: must, should or may; None for items that are neither clause nor decision
    text: str
    section: str  #: the heading above it
    line: int

    @property
    def standing(self) -> str:
        """
        What it asks, for readers: the level of a clause of the document; `decision` if the document leaves it open.

        >>> [Clause(name, "must", "", "", 1).standing for name in ("B-12", "BA-12")]
        ['must', 'decision']
        """
        level = self.level or ""
        return level if not is_decision(self.id) else "decision" if level == "must" else f"decision, {level}"

    def shortened(self, width: int) -> str:
        """Returns its id and standing and the beginning of its text, as a line of about `width` characters."""
        return f"{self.id} {self.standing}: {shorten(self.text, width - 16, placeholder=' …')}"

    @property
    def untestable(self) -> str | None:
        """The reason why it cannot be tested, if the text gives one."""
        found = _UNTESTABLE.search(self.text)
        return found["reason"] if found else None


_What = TypeVar("_What")


class Citation(NamedTuple):
    """The place of a citation."""

    file: Path
    line: int
    within: str  #: the enclosing object, `transitions.on_round`, or the module


@dataclass(frozen=True)
class Clauses:
    """All items of one protocol, in the order of its prose, and their citations."""

    protocol: str
    file: Path
    items: Mapping[str, Clause]

    @property
    def with_level(self) -> list[Clause]:
        """The clauses and decisions, which must be covered."""
        return [item for item in self.items.values() if item.level]

    @cached_property
    def code(self) -> Mapping[str, list[Citation]]:
        """The citations of each id in the specification's code, including unknown ids."""
        return _group(cited for path in code_of(self.protocol) for cited in _code_citations(path))

    @cached_property
    def proofs(self) -> Mapping[str, list[str]]:
        """Names of the proofs about each id; empty if Z3 is not installed."""
        reference = PROTOCOLS[self.protocol].proofs
        try:
            every = reference.load() if reference else ()
        except ImportError:
            every = ()
        return _group((clause, proof.name) for proof in every for clause in proof.clauses)

    @cached_property
    def properties(self) -> Mapping[str, list[str]]:
        """Names of the properties that check each id."""
        every = specification(self.protocol).PROPERTIES
        return _group((clause, holding.name) for holding in every for clause in holding.clauses)

    @cached_property
    def models(self) -> Mapping[str, list[str]]:
        """Names of the models that cover each id; empty if there are none."""
        path = models_root(self.protocol) / "manifest.json"
        models = json.loads(path.read_bytes()).get("models", ()) if path.exists() else ()
        return _group((clause, model["name"]) for model in models for clause in model.get("clauses", ()))


def _group(pairs: Iterable[tuple[str, _What]]) -> dict[str, list[_What]]:
    """The values of each clause, in their order."""
    found: dict[str, list[_What]] = {}
    for clause, what in pairs:
        found.setdefault(clause, []).append(what)
    return found


def protocols() -> list[str]:
    """The protocols that have both prose and code."""
    return sorted(name for name in PROTOCOLS if locations.clauses_file(name).exists())


@cache
def specification(protocol: str) -> Any:
    """The package of a protocol, a `peerproof.spec.core.Specification`; the same object each time."""
    return PROTOCOLS[protocol].specification.load()


def code_of(protocol: str) -> list[Path]:
    """The modules of a protocol's package or beside its module, except its properties, which only observe."""
    package: Any = PROTOCOLS[protocol].specification.load()
    return sorted(path for path in Path(package.__file__).parent.rglob("*.py") if path.stem != "properties")


def load(protocol: str) -> Clauses:
    """Loads the clauses of a protocol. Raises VectorError if its prose has another form."""
    path = locations.clauses_file(protocol)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"the clauses of {protocol} cannot be read: {error.strerror}"
        raise VectorError(locations.path_text(path), None, message) from None
    return Clauses(protocol, path, parse(text, locations.path_text(path)))


def in_order(clause: str) -> tuple[int, str, int]:
    """The sort key of an id: B- before BA-, by number."""
    kind, number = clause.split("-")
    return len(kind), kind, int(number)


def parse(text: str, file: str) -> dict[str, Clause]:
    """Parses the items of a protocol's prose."""
    items: dict[str, Clause] = {}
    section = ""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            section = line.lstrip("# ")
        found = _ITEM.fullmatch(line)
        if not found:
            if _LIKE_ITEM.match(line):
                raise VectorError(file, Place(number, 1), "expected an item like: - **B-14** *must* — text")
            continue
        if (level := found["level"]) and level not in LEVELS:
            raise VectorError(file, Place(number, found.start("level") + 1), f"expected must, should or may, found {level}")
        if first := items.get(found["id"]):
            raise VectorError(file, Place(number, found.start("id") + 1), f"{first.id} is already defined, in line {first.line}")
        words = " ".join([found["text"], *_continuation(lines[number:])])
        items[found["id"]] = Clause(found["id"], level, words, section, number)
    return items


def _continuation(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("  ") or not line.strip():
            return
        yield line.strip()


def find_clause_ids(text: str) -> list[str]:
    """Returns the ids that a text cites in brackets, with ranges expanded."""
    found: list[str] = []
    for citation in _CITATION.finditer(text):
        for part in citation[1].split(", "):
            first, ellipsis, last = part.partition("…")
            found += _range(first, last) if ellipsis else [first]
    return found


def _range(first: str, last: str) -> list[str]:
    """Expands a range; a range across kinds gives its two ends."""
    (kind, low), (other, high) = first.split("-"), last.split("-")
    if kind != other:
        return [first, last]
    return [f"{kind}-{number:0{len(low)}}" for number in range(int(low), int(high) + 1)]


def _code_citations(path: Path) -> Iterator[tuple[str, Citation]]:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    spans = sorted(_spans(ast.parse(source), path.stem, lines), key=lambda span: span[1] - span[0])  # innermost first
    for number, line in enumerate(lines, start=1):
        if ids := find_clause_ids(line):
            within = next((name for first, last, name in spans if first <= number <= last), path.stem)
            for clause in ids:
                yield clause, Citation(path, number, within)


def _spans(tree: ast.AST, prefix: str, lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yields first line, last line and name of every named object in a module; comments just above belong to it."""
    for node in ast.iter_child_nodes(tree):
        name = _name(node)
        if name and isinstance(node, ast.stmt):
            first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                first -= 1
            yield first, node.end_lineno or node.lineno, f"{prefix}.{name}"
            if isinstance(node, ast.ClassDef):
                yield from _spans(node, f"{prefix}.{name}", lines)


def _name(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""
