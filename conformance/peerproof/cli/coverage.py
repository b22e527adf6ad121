"""
The clause matrix: for every clause and decision the code that does it, the vectors that demand it, the properties that watch
over it and the models that cover it.

  peerproof coverage                                all protocols, and the edges of their state graphs
  peerproof coverage --protocol scuttlebutt
  peerproof coverage --format markdown              for the documentation
  peerproof coverage --format json                  for programs

A clause without code or without a vector is a hole, unless its text says why nothing can test it. Holes: exit 1.

As text, the state graphs follow: how many edges there are in each, and how many of them the vectors made from it take. They are
walked for this. An edge in which a node moves and that no vector takes: exit 1.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.conformance import clauses as prose
from peerproof.conformance import coverage
from peerproof.conformance.vectors import Suite, VectorError


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--protocol", metavar="NAME", choices=prose.protocols(), help="only this protocol")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints the matrix of one protocol or of all. 1 if there is a hole."""
    suite = options.suite(args)
    try:
        every = [prose.load(protocol) for protocol in ([args.protocol] if args.protocol else prose.protocols())]
    except VectorError as error:
        raise options.refusal(str(error)) from None
    matrices = {clauses.protocol: coverage.matrix(clauses, suite.vectors) for clauses in every}
    if args.format == "json":
        print(coverage.as_json(matrices))
    else:
        as_table, heading = (coverage.as_text, "{}\n") if args.format == "text" else (coverage.as_markdown, "## {}\n")
        print("\n\n".join(f"{heading.format(protocol)}\n{as_table(rows)}" for protocol, rows in matrices.items()))
    holes = any(row.holes for rows in matrices.values() for row in rows)
    complete = [_edges(suite, protocol) for protocol in matrices] if args.format == "text" else []
    return int(holes or not all(complete))


def _edges(suite: Suite, protocol: str) -> bool:
    """Prints what the vectors take of the state graphs. False if it is not all that they must."""
    from peerproof.conformance import edge_coverage

    found = list(edge_coverage.coverage(protocol, suite.vectors))
    if found:
        print(f"\n\n{protocol}: the state graphs\n\n{edge_coverage.as_text(found)}")
    return all(one.complete for one in found)
