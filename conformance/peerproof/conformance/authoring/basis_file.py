"""Files that record which vectors depend on decisions: found by running other readings, compared, and used for citations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from peerproof.conformance.authoring.lint import LABELS, Finding, Source
from peerproof.conformance.authoring.reading_experiment import Progress, find_basis, names_of
from peerproof.conformance.clauses.catalogue import in_order
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.suite.output import write_whole
from peerproof.conformance.vectors.basis import FILE, Basis, basis_text
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite, Vector, load_basis

T = TypeVar("T")

#: The id of a vector and its citations, in the text of a file.
_CITING: Final = re.compile(r"^- id: (?P<id>\S+)(?P<between>.*?)^  clauses: \[(?P<clauses>[^\]]*)\]", re.MULTILINE | re.DOTALL)


def protocols_with_readings(suite: Suite) -> list[str]:
    """Returns the protocols of a suite whose documents have other readings."""
    return [name for name in dict.fromkeys(vector.protocol for vector in suite.vectors) if readings_of(name)]


def write_basis(
    suite: Suite, protocol: str, on_progress: Progress = lambda *_: None, *, only_changed: bool = False
) -> list[Path]:
    """
    Runs the other readings, writes which vectors depend on decisions, and makes hand-written vectors cite exactly those.

    With `only_changed` it runs only the vectors of files that have changed since the last time, and keeps the results of the
    others, if the readings are the same. These are right as long as specification and readings do the same. Returns the files
    that it changed. Raises CannotWrite, VectorError.
    """
    files = digest_files(suite, protocol)
    found = _find_changed(suite, protocol, files, on_progress) if only_changed else find_basis(suite, protocol, on_progress)
    found = replace(found, files=files)
    texts = {suite.root / protocol / FILE: basis_text(found)}
    for path in sorted((suite.root / protocol).glob("*/*.yaml")):
        texts[path] = _CITING.sub(lambda at: _cite(found, at), path.read_text(encoding="utf-8"))
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        write_whole(path, texts[path])
    return changed


def _find_changed(suite: Suite, protocol: str, files: dict[str, str], on_progress: Progress) -> Basis:
    kept = load_basis(suite.root, protocol)
    if kept.readings != names_of(readings_of(protocol)):
        return find_basis(suite, protocol, on_progress)
    vectors = tuple(one for one in suite.vectors if one.protocol == protocol)
    again = tuple(one for one in vectors if files[one.file] != kept.files.get(one.file))
    if not again:
        return replace(kept, decisions=_of(vectors, kept.decisions), weak=_of(vectors, kept.weak))
    found = find_basis(replace(suite, vectors=again), protocol, on_progress)
    others = tuple(one for one in vectors if one not in again)
    return Basis(
        readings=found.readings,
        decisions={**_of(others, kept.decisions), **found.decisions},
        weak={**_of(others, kept.weak), **found.weak},
    )


def _of(vectors: Iterable[Vector], found: Mapping[str, T]) -> dict[str, T]:
    return {one.id: found[one.id] for one in vectors if one.id in found}


def digest_files(suite: Suite, protocol: str) -> dict[str, str]:
    """Returns each vector file of a protocol with a digest of what its vectors do and expect, without names and citations."""
    by_file: dict[str, list[Any]] = {}
    for vector in suite.vectors:
        if vector.protocol == protocol:
            of = by_file.setdefault(vector.file, [])
            if vector.layer != LAYER:
                of.append([vector.id, {name: part for name, part in vector.body.items() if name not in LABELS}])
    return {
        file: blake2b(
            json.dumps(of, sort_keys=True).encode() if of else (suite.root / file).read_bytes(), digest_size=6
        ).hexdigest()
        for file, of in sorted(by_file.items())
    }


def outdated(suite: Suite, protocol: str) -> Iterator[Finding]:
    """Yields the vector files that have changed since the dependencies on decisions were found, and readings that have."""
    basis, now = load_basis(suite.root, protocol), digest_files(suite, protocol)
    kept, run = basis.files, f"run peerproof vectors lint {protocol} --basis"
    for file in sorted({*kept, *now}):
        if kept and kept.get(file) != now.get(file):
            what = "is new" if file not in kept else "was removed" if file not in now else "has changed"
            yield Finding(path_text(suite.root / file), 1, 1, "basis", f"{what} since the basis was found; {run} --changed")
    if kept and (others := sorted({*basis.readings} ^ {*names_of(readings_of(protocol))})):
        message = f"readings were added or removed since the basis was found: {', '.join(others)}; {run}"
        yield Finding(path_text(suite.root / protocol / FILE), 1, 1, "basis", message)


def _cite(found: Basis, at: re.Match[str]) -> str:
    clauses = found.cite(at["id"], tuple(sorted(at["clauses"].split(", "), key=in_order)))
    return f"- id: {at['id']}{at['between']}  clauses: [{', '.join(clauses)}]"


def stale(suite: Suite, protocol: str, on_progress: Progress = lambda *_: None) -> Iterator[Finding]:
    """Yields a finding if running the other readings now gives another result than the file says."""
    path = suite.root / protocol / FILE
    kept = load_basis(suite.root, protocol)
    now = replace(find_basis(suite, protocol, on_progress), files=kept.files)
    if kept == now:
        return
    vectors = [one for one in {**kept.decisions, **now.decisions} if kept.decisions.get(one) != now.decisions.get(one)]
    vectors += [one for one in {**kept.weak, **now.weak} if kept.weak.get(one) != now.weak.get(one)]
    about = (
        f"of {len({*vectors})} vectors, {vectors[0]} first"
        if vectors
        else f"of {', '.join(sorted({*kept.readings} ^ {*now.readings}))}"
    )
    yield Finding(
        path_text(path), 1, 1, "basis", f"the experiment gives another result now {about}; run peerproof vectors lint --basis"
    )


def uncited(readable: Sequence[Source], root: Path, suite: Suite) -> Iterator[Finding]:
    """
    Yields decisions that a vector depends on without citing them, needless citations, and levels that are too high.

    Of files that have changed since the basis was found nothing is known (`outdated`).
    """
    bases = {protocol: load_basis(root, protocol) for protocol in {source.document.data["protocol"] for source in readable}}
    now = {file: digest for protocol in bases for file, digest in digest_files(suite, protocol).items()}
    file_of = {vector.id: vector.file for vector in suite.vectors}
    for source in readable:
        found = bases[source.document.data["protocol"]]
        for index, vector in enumerate(source.document.data["vectors"]):
            file = file_of[vector["id"]]
            if found.files and found.files.get(file) != now[file]:
                continue
            cited = {*vector["clauses"]}
            fitting = found.cite(vector["id"], tuple(vector["clauses"]))
            for clause in sorted(found.needed(vector["id"]) - cited, key=in_order):
                what = f"another reading of {clause} changes the result, and it is not cited"
                yield source.finding("decision", ("vectors", index, "clauses"), f"{what}; peerproof vectors lint --basis")
            for clause in sorted(cited.difference(fitting), key=in_order):
                what = f"{clause} is cited needlessly: no other reading of it changes the result"
                yield source.finding("decision", ("vectors", index, "clauses"), f"{what}; peerproof vectors lint --basis")
            if (weak := found.weak.get(vector["id"])) and vector["level"] == "must":
                message = f"must, but it depends on {', '.join(weak)}, which say should"
                yield source.finding("level", ("vectors", index, "level"), message)
