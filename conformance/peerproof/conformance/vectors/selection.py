"""
Selects vectors: one by its name, or many by an expression: `-k 'clause:B-14 layer:codec !flag:slow digest'`.

Words are separated by blanks, and a vector is selected if it matches all of them. A plain word matches an id that contains
it; a whole id matches only itself, and the number of a clause, `B-14`, the vectors that cite it. `key:value` matches a vector
with that value, clauses in any case; `a,b` is either, and `b` has the key of `a` unless it has its own; `*` stands for any
characters; a leading `!` negates a word. A word that matches no vector is an error, not an empty selection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite, Vector
from peerproof.spec.properties import is_decision

_CLAUSE: Final = re.compile(r"[A-Z]{1,3}-[0-9]+", re.IGNORECASE)


def _clauses(vector: Vector) -> Sequence[str]:
    """The clauses of a vector, and the divergences that it is flagged with."""
    return (*vector.clauses, *(flag.upper() for flag in vector.flags if _CLAUSE.fullmatch(flag)))


#: key -> the values of a vector for it
KEYS: Final[Mapping[str, Callable[[Vector], Sequence[str]]]] = {
    "id": lambda vector: (vector.id,),
    "protocol": lambda vector: (vector.protocol,),
    "layer": lambda vector: (vector.layer,),
    "level": lambda vector: (vector.level,),
    "clause": _clauses,
    "flag": lambda vector: vector.flags,
    "need": lambda vector: vector.needs,
    "file": lambda vector: (vector.file,),
}


MOST_LISTED: Final = 20
MOST_NAMED: Final = 8  #: values of a key that a tip names

#: The most vectors made from models in a selection by clause that need no remark.
MANY_FROM_MODELS: Final = 100


class SelectionError(ValueError):
    """An expression with a key that does not exist; `tip` names what may have been meant."""

    def __init__(self, message: str, tip: str | None = None) -> None:
        super().__init__(message)
        self.tip = tip


class NothingFits(SelectionError):
    """A word that no vector fits."""


def select(vectors: Iterable[Vector], expression: str, former: Mapping[str, str] | None = None) -> list[Vector]:
    """Returns the vectors that match, in their order; `former` maps changed ids. Raises SelectionError."""
    pool = list(vectors)
    chosen = set(range(len(pool)))
    for word in expression.split():
        turned = word.startswith("!")
        fitting = _fitting(pool, word.removeprefix("!"), former or {})
        chosen = chosen - fitting if turned else chosen & fitting
    return [pool[index] for index in sorted(chosen)]


def select_vectors(suite: Suite, expression: str = "", protocol: str | None = None) -> list[Vector]:
    """
    Selects vectors of a suite, in their order, by an expression as in `-k`, and by protocol; former ids are known.

    Raises NothingFits for a word that matches no vector, SelectionError for a key that does not exist.

    >>> from peerproof.conformance.vectors.suite import load
    >>> [vector.id for vector in select_vectors(load(), "digest-request-of-one layer:codec", "scuttlebutt")]
    ['scuttlebutt/codec/digest-request-of-one']
    """
    return select(suite.vectors, expression + (f" protocol:{protocol}" if protocol else ""), suite.aliases)


def note_on_models(expression: str, vectors: Iterable[Vector]) -> str | None:
    """
    Returns how to leave out the vectors made from models, if a selection by clause has many of them.

    >>> note_on_models("layer:codec", [])
    """
    words = expression.split()
    wanted = (pair for word in words if not word.startswith("!") for pair in _alternatives(word))
    by_clause = any(key == "clause" or (not key and _CLAUSE.fullmatch(value)) for key, value in wanted)
    layers = {vector.id: vector.layer for vector in vectors}
    count = sum(layer == LAYER for layer in layers.values())
    if count <= MANY_FROM_MODELS or not by_clause or f"layer:{LAYER}" in words:
        return None
    those = f"{count:,} of these {len(layers):,} vectors"
    return f"{those} are made from state graphs; without them: -k '{expression} !layer:{LAYER}'"


def _alternatives(word: str) -> Iterator[tuple[str, str]]:
    """Yields the key and the value of each alternative of a word; the key of a plain one is empty."""
    key = ""
    for alternative in word.split(","):
        named, colon, value = alternative.rpartition(":")
        key = named if colon else key
        yield key, value


def _fitting(pool: Sequence[Vector], word: str, former: Mapping[str, str]) -> set[int]:
    """Indices of the vectors that match one word; each alternative in it must match a vector."""
    union: set[int] = set()
    for key, value in _alternatives(word):
        if key and key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            tip = f"did you mean {close[0]}:{value}?" if close else f"there are {', '.join(KEYS)}"
            raise SelectionError(f"unknown key {key!r} in {word!r}", tip)
        by_key = key or ("clause" if _CLAUSE.fullmatch(value) else "")
        found = _with_value(pool, by_key, value) if by_key else set()
        if not found and not key:
            found = _with_id(pool, former.get(value, value))
        if not found:
            known = sorted({one for each in pool for one in KEYS.get(by_key, _names)(each)})
            raise NothingFits(f"no vector matches {value!r}", _tip(value, known))
        union |= found
    return union


def _with_value(pool: Sequence[Vector], key: str, pattern: str) -> set[int]:
    values, matched = KEYS[key], pattern.upper() if key == "clause" else pattern
    return {index for index, vector in enumerate(pool) if any(fnmatchcase(value, matched) for value in values(vector))}


def _tip(word: str, known: Sequence[str]) -> str:
    """What may have been meant: of a clause that does not exist, those with the same letters; of a few values, all of them."""
    letters, dash, digits = word.upper().partition("-")
    alike = [name for name in known if name.partition("-")[0] == letters]
    if dash and digits.isdecimal() and alike:
        return f"there are {alike[0]} to {alike[-1]}"
    close = get_close_matches(word, known, n=1)
    if not close and len(known) <= MOST_NAMED:
        return f"there are {', '.join(known)}"
    return f"did you mean {close[0]}?" if close else "peerproof vectors list shows them"


def _with_id(pool: Sequence[Vector], text: str) -> set[int]:
    exact = {index for index, vector in enumerate(pool) if vector.id == text}
    return exact or {index for index, vector in enumerate(pool) if text in vector.id or fnmatchcase(vector.id, text)}


def _names(vector: Vector) -> list[str]:
    """The id of a vector, its end, and the words of that."""
    end = vector.id.rpartition("/")[2]
    return [vector.id, end, *end.split("-")]


class VectorNotFound(LookupError):
    """No vector, or more than one, has the name; `tip` suggests similar names."""

    def __init__(self, message: str, tip: str | None = None) -> None:
        super().__init__(message)
        self.tip = tip


class UnknownVector(VectorNotFound):
    """No vector has the name; `close` are the ids of vectors with similar names."""

    def __init__(self, name: str, close: Sequence[str]) -> None:
        tip = f"did you mean {' or '.join(close)}?" if close else "peerproof vectors list shows them"
        super().__init__(f"unknown vector {name!r}", tip)
        self.close = close


def find_vector(suite: Suite, name: str) -> Vector:
    """
    Finds the only vector with this id, former id, last part of an id, or part of an id; ignores `#` and what follows.

    Raises VectorNotFound.

    >>> from peerproof.conformance.vectors.suite import load
    >>> find_vector(load(), "digest-request-of-one").id
    'scuttlebutt/codec/digest-request-of-one'
    """
    name = suite.aliases.get(name, name).partition("#")[0]
    fits = (str.__eq__, lambda known, asked: known.endswith(f"/{asked}"), str.__contains__)
    found = next((found for fit in fits if (found := [vector for vector in suite.vectors if fit(vector.id, name)])), [])
    if len(found) == 1:
        return found[0]
    if found:
        shown = [f"  {vector.id}" for vector in found[:MOST_LISTED]]
        more = [f"  and {len(found) - len(shown)} more"] if len(found) > len(shown) else []
        raise VectorNotFound("\n".join([f"{len(found)} vectors match {name!r}:", *shown, *more]), "name one of them")
    if reason := suite.withdrawn.get(name):
        raise VectorNotFound(f"{name} was withdrawn: {reason}")
    by_name = {end: vector.id for vector in suite.vectors for end in _names(vector)[:2]}
    raise UnknownVector(name, list(dict.fromkeys(by_name[end] for end in get_close_matches(name, by_name))))


def decision_shares(vectors: Iterable[Vector]) -> list[list[str]]:
    """
    Returns rows of a table: for each protocol and layer, the share of the vectors whose clauses are all decisions.

    Those can only differ, and never fail a run that is not strict.

    >>> from peerproof.conformance.vectors.suite import load
    >>> decision_shares(select_vectors(load(), "layer:codec", "wendy"))
    [['', 'codec'], ['wendy', '100 %']]
    """
    counts: dict[str, dict[str, list[bool]]] = {}
    for vector in vectors:
        only = all(map(is_decision, vector.clauses))
        counts.setdefault(vector.protocol, {}).setdefault(vector.layer, []).append(only)
    layers = list(dict.fromkeys(layer for found in counts.values() for layer in found))
    rows = [
        [
            protocol,
            *(f"{sum(found[layer]) / len(found[layer]):.0%}".replace("%", " %") if layer in found else "" for layer in layers),
        ]
        for protocol, found in counts.items()
    ]
    return [["", *layers], *rows]


def vector_row(suite: Suite, vector: Vector) -> dict[str, object]:
    """
    Returns the members of a vector in lists, as JSON data.

    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> vector_row(suite, find_vector(suite, "digest-request-of-one"))["level"]
    'must'
    """
    names = ("id", "rev", "title", "protocol", "layer", "level", "clauses", "flags", "needs", "line")
    return {name: getattr(vector, name) for name in names} | {"file": str(suite.path(vector))}


def vector_source(suite: Suite, vector: Vector) -> str:
    """
    Returns the vector's lines in its file, after comments on its place, needs and flags; a row of a table as YAML.

    >>> from peerproof.conformance.vectors.suite import load
    >>> suite = load()
    >>> print(vector_source(suite, find_vector(suite, "digest-request-of-one")).splitlines()[1])
    # needs: codec
    """
    path = suite.path(vector)
    if vector.layer == LAYER:
        return "\n".join([f"# {path_text(path)}:{vector.line}", f"# needs: {' '.join(vector.needs)}", *_flow(vector)])
    lines = path.read_text(encoding="utf-8").splitlines()
    after = [other.line for other in suite.vectors if other.file == vector.file and other.line > vector.line]
    body = lines[vector.line - 1 : min(after, default=len(lines) + 1) - 1]
    while body and (not body[-1].strip() or body[-1].startswith("#")):  # comments before the next vector
        body.pop()
    flags = [f"# {flag}: {suite.notes[flag]['text']}" for flag in vector.flags if flag in suite.notes]
    return "\n".join([f"# {path_text(path)}:{vector.line}", f"# needs: {' '.join(vector.needs)}", *flags, *body])


def _flow(vector: Vector) -> Iterator[str]:
    """The body of a vector as YAML: its members, and a line for each node and step."""
    for number, (name, value) in enumerate(vector.body.items()):
        indent = "- " if number == 0 else "  "
        match value:
            case {"config": configuration}:
                path = f", path: [{', '.join(value['path'])}]" if "path" in value else ""
                yield f"{indent}model: {{config: {configuration}{path}}}"
            case dict() if name == "nodes":
                yield f"{indent}nodes:"
                yield from (f"    {node}: {json.dumps(about, ensure_ascii=False)}" for node, about in value.items())
            case list() if name == "steps":
                yield f"{indent}steps:"
                yield from (f"  - {json.dumps(step, ensure_ascii=False)}" for step in value)
            case list():
                yield f"{indent}{name}: [{', '.join(value)}]"
            case _:
                yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False) if name == 'title' else value}"
