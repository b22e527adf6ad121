"""
Shows a vector: as it is written, or as a message graph.

  peerproof vectors show scuttlebutt/codec/delta-empty       as YAML, with what its flags mean
  peerproof vectors show delta-empty                         the end of an id is enough if only one vector has it
  peerproof vectors show delta-empty --format sequence       as a Mermaid sequence diagram; dashed is what is expected
  peerproof vectors show delta-empty --format text           the same for a terminal; => is what is expected
  peerproof vectors show delta-empty --format svg            the same as an SVG image

peerproof trace draw draws traces, captures and counterexamples as well.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.cli.exits import OK
from peerproof.conformance.diagrams.svg import render_svg
from peerproof.conformance.vectors.selection import vector_source


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("id", metavar="ID", help="a vector's id, a part of it that no other has, or a former id")
    options.add_format(parser, ("yaml", "sequence", "text", "svg"), "yaml")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints one vector."""
    suite = options.suite(args, args.id.partition("/")[0])
    vector = options.vector(suite, args.id)
    if args.format == "yaml":
        print(vector_source(suite, vector))
        return OK
    from peerproof.conformance.runner import vector_diagram

    graph = vector_diagram.of_vector(vector)
    if args.format == "svg":
        print(render_svg(graph, f"{vector.id}: {vector.title}"))
    else:
        print(graph.mermaid() if args.format == "sequence" else graph.text())
    return OK
