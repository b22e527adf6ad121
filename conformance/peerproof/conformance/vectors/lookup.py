"""One vector: found by its name, and shown as it is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches

from peerproof.conformance.suite.locations import path_text
from peerproof.conformance.vectors.model_table import LAYER
from peerproof.conformance.vectors.suite import Suite, Vector


class VectorNotFound(LookupError):
    """No vector, or more than one, has the name; the message lists what comes close."""


def find_vector(suite: Suite, name: str) -> Vector:
    """
    Finds the only vector with this id, former id, end of an id, or part of an id; `#` and what follows is ignored.

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
        raise VectorNotFound("\n".join([f"{len(found)} vectors fit {name!r}:", *(f"  {vector.id}" for vector in found)]))
    if reason := suite.withdrawn.get(name):
        raise VectorNotFound(f"{name} was withdrawn: {reason}")
    by_name = {end: vector.id for vector in suite.vectors for end in (vector.id, vector.id.rpartition("/")[2])}
    close = list(dict.fromkeys(by_name[end] for end in get_close_matches(name, by_name)))
    hint = f"; did you mean {' or '.join(close)}?" if close else "; see peerproof list"
    raise VectorNotFound(f"no vector {name!r}{hint}")


def vector_row(suite: Suite, vector: Vector) -> dict[str, object]:
    """
    Returns what a list of vectors says of one, as JSON data.

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
    while body and (not body[-1].strip() or body[-1].startswith("#")):  # what stands in front of the next vector
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
