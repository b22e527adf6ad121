"""
Shows a vector: as it is written, or as a message graph.

  peerproof show scuttlebutt/codec/delta-empty                as YAML, with what its flags mean
  peerproof show delta-empty                                  the end of an id will do if only one vector has it
  peerproof show delta-empty --format sequence                as a Mermaid sequence diagram; dashed is what is expected
  peerproof show delta-empty --format text                    the same for a terminal; => is what is expected
  peerproof show delta-empty --format svg                     the same as a picture

peerproof draw draws traces, captures and counterexamples as well.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from peerproof.cli import options
from peerproof.conformance.model_table import LAYER
from peerproof.conformance.sources import shown
from peerproof.conformance.vectors import Suite, Vector


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("id", metavar="ID", help="a vector's id, a part of it that only one has, or a former id")
    parser.add_argument("--format", choices=("yaml", "sequence", "text", "svg"), default="yaml")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints one vector."""
    suite = options.suite(args)
    vector = find(suite, args.id)
    if args.format == "yaml":
        print(as_written(suite, vector))
        return 0
    from peerproof.conformance import sequence

    graph = sequence.of_vector(vector)
    if args.format == "svg":
        print(graph.svg(f"{vector.id}: {vector.title}"))
        return 0
    print(graph.mermaid() if args.format == "sequence" else graph.text())
    return 0


def find(suite: Suite, name: str) -> Vector:
    """The only vector with this id, former id, end of an id, or part of one; without one, the command ends."""
    from difflib import get_close_matches

    name = suite.aliases.get(name, name).partition("#")[0]
    fits = (str.__eq__, lambda known, asked: known.endswith(f"/{asked}"), str.__contains__)
    found = next((found for fit in fits if (found := [vector for vector in suite.vectors if fit(vector.id, name)])), [])
    if len(found) == 1:
        return found[0]
    if found:
        raise options.refusal(
            "\n".join([f"peerproof: {len(found)} vectors fit {name!r}:", *(f"  {vector.id}" for vector in found)])
        )
    if reason := suite.withdrawn.get(name):
        raise options.refusal(f"peerproof: {name} was withdrawn: {reason}")
    by_name = {end: vector.id for vector in suite.vectors for end in (vector.id, vector.id.rpartition("/")[2])}
    close = list(dict.fromkeys(by_name[end] for end in get_close_matches(name, by_name)))
    hint = f"; did you mean {' or '.join(close)}?" if close else "; see peerproof list"
    raise options.refusal(f"peerproof: no vector {name!r}{hint}")


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


def as_written(suite: Suite, vector: Vector) -> str:
    """The vector's lines in its file, with comments that say what is not in them; a row of a table as it would be written."""
    path = suite.path(vector)
    if vector.layer == LAYER:
        return "\n".join([f"# {shown(path)}:{vector.line}", f"# needs: {' '.join(vector.needs)}", *_flow(vector)])
    lines = path.read_text(encoding="utf-8").splitlines()
    after = [other.line for other in suite.vectors if other.file == vector.file and other.line > vector.line]
    body = lines[vector.line - 1 : min(after, default=len(lines) + 1) - 1]
    while body and (not body[-1].strip() or body[-1].startswith("#")):  # what stands in front of the next vector
        body.pop()
    flags = [f"# {flag}: {suite.notes[flag]['text']}" for flag in vector.flags if flag in suite.notes]
    return "\n".join([f"# {shown(path)}:{vector.line}", f"# needs: {' '.join(vector.needs)}", *flags, *body])
