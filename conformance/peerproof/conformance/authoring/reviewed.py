"""
Clauses as they were when their vectors were last looked at: `conformance/reviewed/PROTOCOL.txt`, a clause and a digest a line.

When the text of a clause or its level changes, the vectors that hold it may demand what it does not say any more: they are stale
until somebody has looked at them and says so (`peerproof vectors lint --reviewed CLAUSE`).
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
    """A clause whose vectors are to be looked at, or a line about none."""

    clause: Clause | None
    line: int  #: of the prose; without a clause, of the list
    what: str


def path_of(protocol: str) -> Path:
    """Where the list of a protocol is."""
    return locations.reviewed_file(protocol)


def digest(clause: Clause) -> str:
    """What stays the same as long as a clause says the same, however its lines are broken."""
    return sha256(f"{clause.level} {' '.join(clause.text.split())}".encode()).hexdigest()[:12]


def load_reviewed(protocol: str) -> Mapping[str, tuple[str, int]]:
    """Digest and line of each clause in the list. Raises VectorError."""
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
    """What is to be looked at. Raises VectorError."""
    known = load_reviewed(clauses.protocol)
    found = [
        Stale(clause, clause.line, "has changed" if clause.id in known else "is new")
        for clause in clauses.with_level
        if known.get(clause.id, ("",))[0] != digest(clause)
    ]
    there = {clause.id for clause in clauses.with_level}
    return found + [Stale(None, line, name) for name, (_, line) in known.items() if name not in there]


def review(clauses: Clauses, names: Iterable[str]) -> list[str]:
    """Say of these clauses, that are there or are gone, that their vectors are right; what was changed in the list."""
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
