"""
The language in which commands say which vectors: `-k 'clause:B-14 layer:codec !flag:slow digest'`.

Words are separated by blanks, and a vector is selected if it fits all of them. A plain word fits an id that contains it; a
whole id only itself. `key:value` fits a vector with that value; `a,b` is either; `*` stands for any characters; `!` in front
turns a word round. A word that fits no vector at all is a mistake, not an empty selection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from peerproof.conformance.vectors.suite import Suite, Vector

#: key -> the values that a vector has there
KEYS: Final[Mapping[str, Callable[[Vector], Sequence[str]]]] = {
    "id": lambda vector: (vector.id,),
    "protocol": lambda vector: (vector.protocol,),
    "layer": lambda vector: (vector.layer,),
    "level": lambda vector: (vector.level,),
    "clause": lambda vector: vector.clauses,
    "flag": lambda vector: vector.flags,
    "need": lambda vector: vector.needs,
    "file": lambda vector: (vector.file,),
}


class SelectionError(ValueError):
    """An expression that says nothing: it has a key that is not there."""


class NothingFits(SelectionError):
    """A word that no vector fits."""


def select(vectors: Iterable[Vector], expression: str, former: Mapping[str, str] | None = None) -> list[Vector]:
    """The vectors that fit the expression, in their order; `former` are ids that have changed. Raises SelectionError."""
    pool = list(vectors)
    chosen = set(range(len(pool)))
    for word in expression.split():
        turned = word.startswith("!")
        fitting = _fitting(pool, word.removeprefix("!"), former or {})
        chosen = chosen - fitting if turned else chosen & fitting
    return [pool[index] for index in sorted(chosen)]


def select_vectors(suite: Suite, expression: str = "", protocol: str | None = None) -> list[Vector]:
    """
    Selects vectors of a suite, in their order, by an expression as `-k` takes it, and by protocol; former ids are known.

    Raises NothingFits for a word that no vector fits, SelectionError for a key that does not exist.

    >>> from peerproof.conformance.vectors.suite import load
    >>> [vector.id for vector in select_vectors(load(), "digest-request-of-one layer:codec", "scuttlebutt")]
    ['scuttlebutt/codec/digest-request-of-one']
    """
    return select(suite.vectors, expression + (f" protocol:{protocol}" if protocol else ""), suite.aliases)


def _fitting(pool: Sequence[Vector], word: str, former: Mapping[str, str]) -> set[int]:
    """Indices of the vectors that fit one word; every alternative in it must fit one."""
    key, colon, rest = word.partition(":")
    if not colon:
        return _union(pool, word, lambda value: _with_id(pool, former.get(value, value)), _ids)
    if key not in KEYS:
        raise SelectionError(f"no key {key!r} in {word!r}; there are {', '.join(KEYS)}")
    values = KEYS[key]

    def with_value(pattern: str) -> set[int]:
        return {index for index, vector in enumerate(pool) if any(fnmatchcase(value, pattern) for value in values(vector))}

    return _union(pool, rest, with_value, lambda vector: list(values(vector)))


def _union(
    pool: Sequence[Vector], alternatives: str, fitting: Callable[[str], set[int]], words: Callable[[Vector], list[str]]
) -> set[int]:
    union: set[int] = set()
    for alternative in alternatives.split(","):
        if not (found := fitting(alternative)):
            known = sorted({word for vector in pool for word in words(vector)})
            close = get_close_matches(alternative, known, n=1)
            raise NothingFits(f"no vector fits {alternative!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
        union |= found
    return union


def _with_id(pool: Sequence[Vector], text: str) -> set[int]:
    exact = {index for index, vector in enumerate(pool) if vector.id == text}
    return exact or {index for index, vector in enumerate(pool) if text in vector.id or fnmatchcase(vector.id, text)}


def _ids(vector: Vector) -> list[str]:
    return [vector.id, vector.id.rpartition("/")[2]]
