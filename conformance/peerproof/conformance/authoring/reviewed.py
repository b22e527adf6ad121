"""
Clauses as they were when their vectors were last reviewed: `conformance/reviewed/PROTOCOL.txt`, a clause and a digest a line.

When the text or the level of a clause changes, the vectors that cite it may demand something that it does not say any more. They
are stale until they are marked as reviewed (`peerproof vectors lint --reviewed CLAUSE`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from peerproof.conformance.clauses.catalogue import Clause, Clauses, in_order
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import write_whole
from peerproof.conformance.suite.strict_yaml import Place, VectorError

_LINE: Final = re.compile(r"([A-Z]{1,3}-\d{2,3}) ([0-9a-f]{12})")


class Stale(NamedTuple):
    """A clause whose vectors need a review, or a line of the list without a clause."""

    clause: Clause | None
    line: int  #: line in the prose; if there is no clause, in the list
    what: str


def path_of(protocol: str) -> Path:
    """Returns the path of a protocol's list."""
    return locations.reviewed_file(protocol)


def digest(clause: Clause) -> str:
    """Returns a digest of a clause's level and text that ignores line breaks."""
    return sha256(f"{clause.level} {' '.join(clause.text.split())}".encode()).hexdigest()[:12]


def load_reviewed(protocol: str) -> Mapping[str, tuple[str, int]]:
    """Returns the digest and the line of each clause in the list. Raises VectorError."""
    path = path_of(protocol)
    found: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), start=1):
        match = _LINE.fullmatch(line)
        if match is None or match[1] in found:
            message = "expected a clause and twelve digits, each clause once"
            raise VectorError(locations.path_text(path), Place(number, 1), message)
        found[match[1]] = match[2], number
    return found


def stale(clauses: Clauses) -> list[Stale]:
    """Returns the clauses and lines that need a review. Raises VectorError."""
    known = load_reviewed(clauses.protocol)
    found = [
        Stale(clause, clause.line, "has changed" if clause.id in known else "is new")
        for clause in clauses.with_level
        if known.get(clause.id, ("",))[0] != digest(clause)
    ]
    there = {clause.id for clause in clauses.with_level}
    return found + [Stale(None, line, name) for name, (_, line) in known.items() if name not in there]


def review(clauses: Clauses, names: Iterable[str]) -> list[str]:
    """Marks clauses, present or removed, as reviewed. Returns the names whose entry in the list changed."""
    known = {name: kept for name, (kept, _) in load_reviewed(clauses.protocol).items()}
    there = {clause.id: clause for clause in clauses.with_level}
    after = dict(known)
    for name in names:
        if name in there:
            after[name] = digest(there[name])
        else:
            after.pop(name, None)
    if after != known:
        lines = (f"{name} {after[name]}\n" for name in sorted(after, key=in_order))
        path_of(clauses.protocol).parent.mkdir(exist_ok=True)
        write_whole(path_of(clauses.protocol), "".join(lines))
    return sorted((name for name in {**known, **after} if known.get(name) != after.get(name)), key=in_order)
