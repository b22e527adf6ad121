"""What changed between two bundles of a protocol: vectors that are new, gone or changed, and clauses with another text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.bundles.bundle import expanded_vectors
from peerproof.conformance.bundles.bundle_file import BundleError, load_bundle

KINDS: Final = ("new", "gone", "changed")
_SHOWN: Final = 5  #: the most places of a vector that the text names
_LONGEST: Final = 60  #: the most characters of a value in the text
_HEADER: Final = ("format", "package", "suite", "digest")
_NOTHING: Final = object()


@dataclass(frozen=True)
class Place:
    """A place in a vector, and its value in both bundles; None if there is none in one of them."""

    where: str
    old: Any
    new: Any


@dataclass(frozen=True)
class VectorChange:
    """A vector that one of two bundles has, or that differs between them."""

    kind: str  #: one of KINDS
    id: str
    title: str
    note: str = ""  #: of one that is gone: why, or its present id
    places: tuple[Place, ...] = ()  #: of a changed one

    @property
    def members(self) -> list[str]:
        """The members of the vector that differ."""
        return list(dict.fromkeys(place.where.partition(".")[0].partition("[")[0] for place in self.places))

    def plain(self) -> dict[str, Any]:
        """Plain data for programs."""
        shown: dict[str, Any] = {"kind": self.kind, "id": self.id, "title": self.title}
        shown |= {"note": self.note} if self.note else {}
        return shown | ({"places": [vars(place) for place in self.places]} if self.places else {})

    def lines(self) -> Iterator[str]:
        """The text for terminals."""
        what = f" ({', '.join(self.members)})" if self.places else f": {self.note}" if self.note else ""
        yield f"{self.kind:8} {self.id}{what}"
        for place in self.places[:_SHOWN]:
            yield f"           {place.where}: {_shown(place.old)} -> {_shown(place.new)}"
        if (more := len(self.places) - _SHOWN) > 0:
            yield f"           and {more} more"


@dataclass(frozen=True)
class BundleDiff:
    """All changes from one bundle of a protocol to another."""

    protocol: str
    old: Mapping[str, Any]  #: the header of the older one; empty if there is none
    new: Mapping[str, Any]
    changes: tuple[VectorChange, ...]
    clauses: Mapping[str, Place]  #: clauses whose level or text differs

    def plain(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "protocol": self.protocol,
            "old": dict(self.old),
            "new": dict(self.new),
            "counts": {kind: sum(change.kind == kind for change in self.changes) for kind in KINDS},
            "changes": [change.plain() for change in self.changes],
            "clauses": {clause: {"old": place.old, "new": place.new} for clause, place in self.clauses.items()},
        }

    def text(self) -> str:
        """The changelog for terminals."""
        counts = ", ".join(f"{number} {kind}" for kind, number in self.plain()["counts"].items() if number)
        lines = [f"{self.protocol}: {counts or 'no vector differs'}"]
        lines += [line for change in self.changes for line in change.lines()]
        lines += [f"clause   {clause}: {_shown(place.old)} -> {_shown(place.new)}" for clause, place in self.clauses.items()]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def compare_bundles(old: Path, new: Path) -> list[BundleDiff]:
    """
    Compares two bundle files, or all bundles of two folders by their names. Raises BundleError.

    >>> from tempfile import TemporaryDirectory
    >>> from peerproof.conformance.bundles.bundle_file import export_bundles
    >>> from peerproof.conformance.vectors.suite import load
    >>> with TemporaryDirectory() as folder:
    ...     _ = export_bundles(load(), Path(folder), ["peter"])
    ...     [diff.text() for diff in compare_bundles(Path(folder), Path(folder))]
    ['peter: no vector differs']
    """
    if old.is_dir() != new.is_dir():
        raise BundleError(f"{old} and {new} must both be files, or both folders")
    if not old.is_dir():
        return [_compare(load_bundle(old), load_bundle(new))]
    sides = [{path.name.partition(".")[0]: path for path in folder.glob("*.json*")} for folder in (old, new)]
    names = sorted({name for side in sides for name in side})
    if not names:
        raise BundleError(f"there are no bundles in {old} and {new}")
    loaded = [[load_bundle(side[name]) if name in side else {} for side in sides] for name in names]
    return [_compare(before, now) for before, now in loaded]


def _compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> BundleDiff:
    protocols = {side["protocol"] for side in (old, new) if side}
    if len(protocols) > 1:
        raise BundleError(f"these are bundles of different protocols: {' and '.join(sorted(protocols))}")
    before, now = ({vector["id"]: vector for vector in expanded_vectors(side)} for side in (old, new))
    changes = [
        change for name in dict.fromkeys([*now, *before]) if (change := _change(before.get(name), now.get(name), new)) is not None
    ]
    clauses = {place.where: place for place in _places(_clause_texts(old), _clause_texts(new), "")}
    ordered = tuple(sorted(changes, key=lambda change: KINDS.index(change.kind)))
    return BundleDiff(protocols.pop(), _header(old), _header(new), ordered, clauses)


def _header(bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {name: bundle[name] for name in _HEADER if name in bundle}


def _clause_texts(bundle: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{item['level']}: {item['text']}" for name, item in bundle.get("clauses", {}).items()}


def _change(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, bundle: Mapping[str, Any]) -> VectorChange | None:
    if new is None:
        assert old is not None, "one of the two bundles has it"
        name = old["id"]
        renamed = f"now {bundle['former'][name]}" if name in bundle.get("former", {}) else ""
        return VectorChange("gone", name, old["title"], renamed or bundle.get("withdrawn", {}).get(name, ""))
    if old is None:
        return VectorChange("new", new["id"], new["title"])
    places = tuple(_places(old, new, ""))
    return VectorChange("changed", new["id"], new["title"], places=places) if places else None


def _places(old: Any, new: Any, where: str) -> Iterator[Place]:
    """Yields the deepest places at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _places(old.get(name, _NOTHING), new.get(name, _NOTHING), f"{where}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _places(one, other, f"{where}[{index}]")
    elif old != new or type(old) is not type(new):
        yield Place(where, *(None if side is _NOTHING else side for side in (old, new)))
