"""The files that say what rests on decisions: made by trying the other readings, and compared; and what vectors cite for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from peerproof.conformance.authoring.lint import Finding, Source
from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.readings.experiment import Progress, find_basis
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.output import write_whole
from peerproof.conformance.vectors.basis import FILE, Basis, basis_text
from peerproof.conformance.vectors.suite import Suite, load_basis

#: The id of a vector, and what it cites, in the text of a file.
_CITING: Final = re.compile(r"^- id: (?P<id>\S+)(?P<between>.*?)^  clauses: \[(?P<clauses>[^\]]*)\]", re.MULTILINE | re.DOTALL)


def protocols_with_readings(suite: Suite) -> list[str]:
    """The protocols of a suite whose documents have other readings."""
    return [name for name in dict.fromkeys(vector.protocol for vector in suite.vectors) if readings_of(name)]


def write_basis(suite: Suite, protocol: str, on_progress: Progress = lambda *_: None) -> list[Path]:
    """
    Tries the other readings, writes what rests on decisions, and lets the vectors that are written by hand cite just those.

    Returns the files that are not as they were before. Raises CannotWrite, VectorError.
    """
    found = find_basis(suite, protocol, on_progress)
    texts = {suite.root / protocol / FILE: basis_text(found)}
    for path in sorted((suite.root / protocol).glob("*/*.yaml")):
        texts[path] = _CITING.sub(lambda at: _cite(found, at), path.read_text(encoding="utf-8"))
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        write_whole(path, texts[path])
    return changed


def _cite(found: Basis, at: re.Match[str]) -> str:
    clauses = sorted(found.cite(at["id"], at["clauses"].split(", ")), key=in_order)
    return f"- id: {at['id']}{at['between']}  clauses: [{', '.join(clauses)}]"


def stale(suite: Suite, protocol: str, on_progress: Progress = lambda *_: None) -> Iterator[Finding]:
    """Whether the file says what trying the other readings finds now."""
    path = suite.root / protocol / FILE
    kept, now = load_basis(suite.root, protocol), find_basis(suite, protocol, on_progress)
    if kept == now:
        return
    vectors = [one for one in {**kept.decisions, **now.decisions} if kept.decisions.get(one) != now.decisions.get(one)]
    vectors += [one for one in {**kept.weak, **now.weak} if kept.weak.get(one) != now.weak.get(one)]
    about = (
        f"of {len({*vectors})} vectors, {vectors[0]} first"
        if vectors
        else f"of {', '.join(sorted({*kept.tried} ^ {*now.tried}))}"
    )
    yield Finding(path_text(path), 1, 1, "basis", f"another experiment finds something else {about}; peerproof lint --basis")


def uncited(readable: Sequence[Source], root: Path) -> Iterator[Finding]:
    """Decisions that a vector needs without citing them, or cites in vain, and levels above what a vector needs."""
    for source in readable:
        found = load_basis(root, source.document.data["protocol"])
        for index, vector in enumerate(source.document.data["vectors"]):
            cited = {*vector["clauses"]}
            for clause in sorted(found.needed(vector["id"]) - cited, key=in_order):
                what = f"another reading of {clause} makes something else come, and it is not cited"
                yield source.finding("decision", ("vectors", index, "clauses"), f"{what}; peerproof lint --basis")
            for clause in sorted(cited - found.cite(vector["id"], cited), key=in_order):
                what = f"{clause} is cited in vain: no other reading of it makes anything else come"
                yield source.finding("decision", ("vectors", index, "clauses"), f"{what}; peerproof lint --basis")
            if (weak := found.weak.get(vector["id"])) and vector["level"] == "must":
                message = f"must, but it needs {', '.join(weak)}, which say should"
                yield source.finding("level", ("vectors", index, "level"), message)
