"""
The clause matrix, and everything that cites one clause.

The matrix has a row for each clause and decision, with columns for the code that cites it, the vectors that test it, the
properties that monitor it, the models that cover it and the proofs about it. A row that says "Not testable, because …" may be
empty; any other row without code or without a vector is a hole.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher, get_close_matches
from textwrap import fill, indent
from typing import TYPE_CHECKING

from peerproof.conformance.authoring.property_report import listed, property_names
from peerproof.conformance.authoring.reviewed import stale
from peerproof.conformance.clauses import catalogue
from peerproof.conformance.clauses.catalogue import Clauses, in_order
from peerproof.conformance.readings.reading import readings_of, settled_by
from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import KINDS, Suite, Vector, load
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest

if TYPE_CHECKING:
    from peerproof.conformance.models.edge_coverage import EdgeCoverage  # it loads the models, which clauses do not need


@dataclass(frozen=True)
class Row:
    """Everything that covers one clause."""

    clause: str
    level: str
    code: tuple[str, ...]  #: objects of the specification
    vectors: tuple[str, ...]  #: ids
    properties: tuple[str, ...]
    models: tuple[str, ...]
    proofs: tuple[str, ...]
    untestable: str | None  #: the reason
    kinds: Mapping[str, int]  #: kind of vectors, including those made from models -> number that cite it

    @property
    def is_only_loaded(self) -> bool:
        """Returns True if the only vectors that cover it are those that load a state into an implementation."""
        return any(self.kinds.values()) and not any(self.kinds[kind] for kind in ("codec", "exchange", "paths"))

    @property
    def holes(self) -> tuple[str, ...]:
        """Returns the missing columns; none if the clause says why it is untestable."""
        if self.untestable:
            return ()
        return tuple(name for name, found in (("code", self.code), ("vector", self.vectors)) if not found)


def matrix(clauses: Clauses, vectors: Iterable[Vector]) -> list[Row]:
    """Returns the rows of a protocol, sorted by clause. Vectors made from a model cover no clause: they repeat the code."""
    by_clause: dict[str, list[str]] = {}
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for vector in vectors:
        for clause in vector.clauses if vector.protocol == clauses.protocol else ():
            kinds[clause][vector.kind] += 1
        for clause in vector.clauses if vector.protocol == clauses.protocol and vector.layer != "model" else ():
            by_clause.setdefault(clause, []).append(vector.id)
    return [
        Row(
            clause=clause.id,
            level=str(clause.level),
            code=tuple(dict.fromkeys(citation.within for citation in clauses.code.get(clause.id, ()))),
            vectors=tuple(by_clause.get(clause.id, ())),
            properties=tuple(clauses.properties.get(clause.id, ())),
            models=tuple(clauses.models.get(clause.id, ())),
            proofs=tuple(clauses.proofs.get(clause.id, ())),
            untestable=clause.untestable,
            kinds={kind: kinds[clause.id][kind] for kind in KINDS},
        )
        for clause in sorted(clauses.with_level, key=lambda clause: in_order(clause.id))
    ]


@dataclass(frozen=True)
class Meeting:
    """The vector that covers a clause with the fewest other clauses, and the earliest of those."""

    clause: str
    vector: str | None  #: its id; None if no vector cites the clause
    others: tuple[str, ...]  #: the other clauses that it cites
    before: int  #: number of steps before its first expectation

    @property
    def is_alone(self) -> bool:
        """Returns True if a failure of the vector can be about this clause only."""
        return self.vector is not None and not self.others


def find_meetings(clauses: Clauses, vectors: Iterable[Vector]) -> list[Meeting]:
    """
    Finds for every testable clause the vector that cites the fewest other clauses, then the one that checks earliest.

    The result is sorted by clause. Vectors made from a model are left out: they cite what the code of a step cites.

    >>> from peerproof.conformance.clauses import catalogue
    >>> from peerproof.conformance.vectors.suite import load
    >>> meetings = {each.clause: each for each in find_meetings(catalogue.load("scuttlebutt"), load().vectors)}
    >>> meetings["BA-12"].vector, meetings["BA-12"].is_alone
    ('scuttlebutt/exchange/ties-go-by-address-for-a-response', True)
    """
    nearest: dict[str, tuple[tuple[int, int, str], Vector]] = {}
    for vector in vectors:
        if vector.protocol != clauses.protocol or vector.layer == LAYER:
            continue
        rank = (len(vector.clauses), _steps_before(vector), vector.id)
        for clause in vector.clauses:
            if clause not in nearest or rank < nearest[clause][0]:
                nearest[clause] = rank, vector
    found = []
    for item in sorted(clauses.with_level, key=lambda clause: in_order(clause.id)):
        rank_and_vector = nearest.get(item.id)
        if rank_and_vector is not None:
            (_, before, name), vector = rank_and_vector
            found.append(Meeting(item.id, name, tuple(one for one in vector.clauses if one != item.id), before))
        elif not item.untestable:
            found.append(Meeting(item.id, None, (), 0))
    return found


_EXPECTATIONS = ("expect", "observe", "told")


def _steps_before(vector: Vector) -> int:
    """Returns the number of steps, including the setup, before the first one that expects something."""
    steps = vector.body.get("steps", ())
    first = next((place for place, step in enumerate(steps) if any(name in step for name in _EXPECTATIONS)), len(steps))
    return len(vector.body.get("setup", ())) + first


def meetings_as_text(meetings: Sequence[Meeting]) -> str:
    """Renders a line for each clause that no vector covers alone, with the nearest vector; then the totals."""
    left = [each for each in meetings if not each.is_alone]
    nearest = (f"{each.vector} with {' '.join(each.others)}" if each.vector else "no vector" for each in left)
    lines = [f"{each.clause}: {vector}" for each, vector in zip(left, nearest, strict=True)]
    return "\n".join([*lines, "", f"{len(meetings)} clauses, {len(meetings) - len(left)} of them covered alone by a vector"])


def as_text(rows: Sequence[Row]) -> str:
    """Renders the matrix for a terminal, followed by the holes."""
    cells = [("clause", "level", *KINDS, "code", "properties", "models", "proofs"), *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip() for row in cells]
    return "\n".join([*lines, "", *summary(rows)])


def _cells(row: Row) -> tuple[str, ...]:
    first, *others = row.code or ("-",)
    vectors = (str(count) if count or not row.untestable else "-" for count in row.kinds.values())
    names = (", ".join(names) or "-" for names in (row.properties, row.models, row.proofs))
    return (row.clause, row.level, *vectors, first + (f" +{len(others)}" if others else ""), *names)


def summary(rows: Sequence[Row]) -> list[str]:
    """Renders the holes, the untestable clauses with their reasons, and the number of clauses."""
    lines = [f"hole: {row.clause} has no {' and no '.join(row.holes)}" for row in rows if row.holes]
    lines += [f"not testable: {row.clause}, because {row.untestable}" for row in rows if row.untestable]
    if loaded := [row.clause for row in rows if row.is_only_loaded]:
        lines.append(f"only covered from loaded states: {' '.join(loaded)}")
    with_vectors = sum(bool(row.vectors) for row in rows)
    holes = sum(bool(row.holes) for row in rows)
    return [*lines, f"{len(rows)} clauses, {with_vectors} with vectors, {holes} {'hole' if holes == 1 else 'holes'}"]


def as_markdown(rows: Sequence[Row]) -> str:
    """Renders the matrix as a Markdown table for the documentation, with all names."""
    lines = ["| clause | level | code | vectors | properties | models | proofs |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        vectors = "<br>".join(f"`{name.split('/', 1)[1]}`" for name in row.vectors)
        if row.untestable:
            vectors = f"{vectors} not testable, because {row.untestable}".strip()
        code = "<br>".join(f"`{name}`" for name in row.code)
        cells = (row.clause, row.level, code, vectors, *map(", ".join, (row.properties, row.models, row.proofs)))
        lines.append(
            f"| {' | '.join(cell or ('**hole**' if at in _NEEDED and row.holes else '–') for at, cell in enumerate(cells))} |"
        )
    return "\n".join([*lines, "", summary(rows)[-1]])


_NEEDED = (2, 3)  #: the columns code and vectors


def as_json(matrices: Mapping[str, Sequence[Row]]) -> str:
    """Renders the matrices of protocols as JSON."""
    rows = {protocol: [asdict(row) | {"holes": row.holes} for row in matrix] for protocol, matrix in matrices.items()}
    return json.dumps(rows, indent=2, ensure_ascii=False)


WIDTH = 100
MOST_MENTIONING = 6  #: the most clauses of a protocol that are named because they mention an unknown word
_WORD = re.compile(r"\w+")
_SHORT = re.compile(r"([A-Za-z]{1,2})-?(\d{1,3})")  #: the id of a clause, perhaps without its dash or a zero
_HARDLY = 0.06  #: the difference in likeness that says nothing


#: The letters between that of the protocol and the dash -> the kind of item.
_KINDS_OF_ITEMS = {
    "none": "a clause",
    "A": "a decision",
    "D": "where an original implementation differs",
    "I": "an invariant",
    "L": "a liveness property",
    "X": "a false claim with its counterexample",
    "Z": "a proof",
    "C": "a worked case",
}


class ClauseNotFound(LookupError):
    """No protocol has such a clause; `tip` names some that exist: those that mention the name, or similar ones."""

    def __init__(self, name: str, known: Collection[str], mentioning: str = "") -> None:
        super().__init__(f"unknown clause {name!r}")
        self.tip = mentioning or clause_tip(name, known)


def clause_tip(name: str, known: Collection[str]) -> str:
    """
    Returns a tip for an unknown clause: the one of this number, clauses with the same letters, the names that look most similar,
    or else what the letters mean.

    >>> clause_tip("b-999", ["B-01", "B-02", "D-99"]), clause_tip("b2", ["B-01", "B-02", "B-22"])
    ('there are B-01 to B-02', 'did you mean B-02?')
    """
    if (parts := _SHORT.fullmatch(name)) and (whole := f"{parts[1].upper()}-{int(parts[2]):02}") in known:
        return f"did you mean {whole}?"
    letters, dash, digits = name.upper().partition("-")
    if same := sorted((clause for clause in known if clause.partition("-")[0] == letters), key=in_order):
        return f"there are {same[0]} to {same[-1]}" if len(same) > 1 else f"there is {same[0]}"
    close = _most_similar(name, known) or _most_similar(name.upper(), known)
    return f"did you mean {' or '.join(close)}?" if close and not (dash and digits.isdecimal()) else _letters()


def _most_similar(name: str, known: Collection[str]) -> list[str]:
    """The most similar name, and those that are hardly less so, such as the same name in the plural."""
    close = get_close_matches(name, known)
    likeness = [SequenceMatcher(None, each, name).ratio() for each in close]
    return [each for each, like in zip(close, likeness, strict=True) if like > likeness[0] - _HARDLY]


def _letters() -> str:
    known = [protocol for protocol in PROTOCOLS if protocol in catalogue.protocols()]
    first = ((next(iter(catalogue.load(protocol).items), "")[:1], protocol) for protocol in known)
    of_protocols = ", ".join(f"{letter} {protocol}" for letter, protocol in first)
    of_kinds = ", ".join(f"{letter} {kind}" for letter, kind in _KINDS_OF_ITEMS.items())
    return f"as in B-14 and BA-07, the first letter is the protocol ({of_protocols}), the second the kind ({of_kinds})"


@dataclass(frozen=True)
class ClauseCoverage:
    """The clause matrix of a protocol, and the coverage of its state graphs if that was requested."""

    protocol: str
    rows: Sequence[Row]
    edges: Sequence[EdgeCoverage] = ()

    @property
    def is_complete(self) -> bool:
        """Returns True if no clause is a hole, and vectors take every edge in which a node moves."""
        return not any(row.holes for row in self.rows) and all(one.complete for one in self.edges)


def cover_clauses(protocol: str, suite: Suite) -> ClauseCoverage:
    """
    Returns which code, vectors, properties, models and proofs cite each clause of a protocol. Raises VectorError.

    >>> from peerproof.conformance.vectors.suite import load
    >>> cover_clauses("scuttlebutt", load()).is_complete
    True
    """
    return ClauseCoverage(protocol, matrix(catalogue.load(protocol), suite.vectors))


def explain_clause(name: str, suite: Suite | None = None) -> str:
    """
    Returns a clause's text and everything that cites it: code, vectors, properties, proofs, models and other clauses.

    The vectors are those of a suite, by default of the one with the protocol's own. Raises ClauseNotFound, VectorError.

    >>> explain_clause("B-14").splitlines()[0].startswith("B-14 (scuttlebutt: ")
    True
    """
    typed, name = name, name.strip("[]").upper()
    every = [catalogue.load(protocol) for protocol in catalogue.protocols()]
    if found := [clauses for clauses in every if name in clauses.items]:
        return "\n\n".join(_explain_clause(clauses, name, suite or load(protocol=clauses.protocol)) for clauses in found)
    known = [clause for clauses in every for clause in clauses.items]
    names = [*known, *property_names(), *PROTOCOLS, *dict.fromkeys(model.name for model in manifest.models())]
    raise ClauseNotFound(typed, names, _mention(typed, every))


def _mention(word: str, every: Iterable[Clauses]) -> str:
    """
    Returns the first clauses of each protocol about a word: its section of this name, then the clauses whose text has it.

    If there are none, the protocols whose page has the word elsewhere.

    >>> _mention("joining", [catalogue.load("wendy")])
    'clauses that mention it: wendy W-45 W-46 W-47 W-48 W-49 W-50 …'
    """
    if not word.isalpha():
        return ""
    sought, found = word.lower(), []
    for clauses in every:
        about = [item for item in clauses.items.values() if sought in (item.section.lower(), *_WORD.findall(item.text.lower()))]
        about.sort(key=lambda item: item.section.lower() != sought)
        if about:
            more = " …" if len(about) > MOST_MENTIONING else ""
            found.append(" ".join([clauses.protocol, *(item.id for item in about[:MOST_MENTIONING])]) + more)
    if found:
        return f"clauses that mention it: {'; '.join(found)}"
    pages = [clauses for clauses in every if sought in _WORD.findall(clauses.file.read_text(encoding="utf-8").lower())]
    where = (f"{path_text(clauses.file)} does (peerproof explain {clauses.protocol})" for clauses in pages)
    return f"no clause mentions it, but {' and '.join(where)}" if pages else ""


def _explain_clause(clauses: Clauses, name: str, suite: Suite) -> str:
    clause = clauses.items[name]
    standing = f", {clause.standing}" if clause.standing else ""
    code = [f"{where.within}  {path_text(where.file)}:{where.line}" for where in clauses.code.get(name, ())]
    of_protocol = (vector for vector in suite.vectors if vector.protocol == clauses.protocol)
    citing = [vector for vector in of_protocol if name in vector.clauses or name.lower() in vector.flags]
    written = [f"{vector.id}  {vector.title}" for vector in citing if vector.layer != LAYER]
    made = len(citing) - len(written)
    words = f"'clause:{name} !layer:{LAYER}'" if made else f"clause:{name}"
    vectors = [*listed(written, f"peerproof vectors list -k {words}")]
    if made:
        edges = Counter(vector.body["model"]["config"] for vector in citing if vector.layer == LAYER)
        vectors.append(f"{made} made from state graphs: peerproof vectors list -k 'layer:{LAYER} clause:{name}'")
        vectors.append(f"  edges of {', '.join(f'{config} ({count})' for config, count in sorted(edges.items()))}")
    others = (other for other in clauses.items.values() if name in catalogue.find_clause_ids(other.text))
    beside = [f"{other.id}  {_start(other.text)}" for other in others]
    about = ((title, getattr(clauses, title).get(name, [])) for title in ("properties", "proofs", "models"))
    divergences = PROTOCOLS[clauses.protocol].divergences
    is_divergence = divergences is not None and name in divergences.load()
    run = [f"peerproof run --impl divergence:{name} -k flag:{name.lower()}"] if is_divergence else []
    readings = [f"{each.name!r}  {each.text}" for each in readings_of(clauses.protocol) if each.clause == name]
    if reason := settled_by(clauses.protocol).get(name):
        readings.append(f"none: {reason}")
    lists = (
        ("other readings that were tried, by the names in reports", readings),
        ("code", code),
        ("vectors", vectors),
        *about,
        ("cited by", beside),
        ("to see them fail", run),
    )
    is_stale = any(one.clause == clause for one in stale(clauses))
    to_do = (
        f"\nSTALE: it has changed since its vectors were reviewed; if they are right: peerproof vectors lint --reviewed {name}"
    )
    return "\n".join(
        [
            f"{name} ({clauses.protocol}: {clause.section}{standing})  {path_text(clauses.file)}:{clause.line}",
            "",
            indent(fill(clause.text, WIDTH - 2), "  "),
            *([to_do] if is_stale else []),
            *(f"\n{title}\n{indent(chr(10).join(lines), '  ')}" for title, lines in lists if lines),
        ]
    )


def _start(text: str) -> str:
    return text if len(text) <= WIDTH - 20 else f"{text[: WIDTH - 21]}…"
