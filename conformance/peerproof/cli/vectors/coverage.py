"""
Prints the clause matrix: for each clause and decision the code, the vectors, the properties and the models.

  peerproof vectors coverage                              every protocol, and the edges of their state graphs
  peerproof vectors coverage scuttlebutt                  one
  peerproof vectors coverage --format markdown            for the documentation
  peerproof vectors coverage --json                       for programs
  peerproof vectors coverage --alone                      clauses that no vector tests alone, each with the nearest vector

A clause without code or without a vector is a gap, unless its text says why it cannot be tested.

The text output also lists the state graphs: the number of edges of each, and how many of them its vectors take. To explore the
graphs takes a minute. An edge in which a node moves and that no vector takes is a gap too.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.conformance.authoring import clause_report
from peerproof.conformance.authoring.clause_report import cover_clauses, find_meetings, meetings_as_text
from peerproof.conformance.clauses import catalogue as prose
from peerproof.conformance.models import edge_coverage
from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.suite import Suite, VectorError

EXITS: Final = {0: "no gap", 1: "a gap"}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    options.add_protocol(parser, "only this protocol")
    options.add_format(parser, ("text", "markdown", "json"))
    parser.add_argument(
        "--alone",
        action="store_true",
        help="list only the clauses that no vector tests alone, each with its nearest vector",
    )
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints the matrix of one protocol or of all. Returns 1 if there is a gap."""
    options.check_protocol(args.protocol, prose.protocols(), has_vectors=True)
    chosen = [args.protocol] if args.protocol else prose.protocols()
    read: dict[Path, Suite] = {}  # most protocols share one suite
    for protocol in chosen:
        if (root := locations.vectors_root(protocol)) not in read:
            read[root] = options.suite(args, protocol)
    suites = {protocol: read[locations.vectors_root(protocol)] for protocol in chosen}
    if args.alone:
        with refuse(VectorError):
            found_alone = {name: find_meetings(prose.load(name), suite.vectors) for name, suite in suites.items()}
        print("\n\n".join(f"{name}\n\n{meetings_as_text(meetings)}" for name, meetings in found_alone.items()))
        return 0
    with refuse(VectorError):
        found = [cover_clauses(protocol, suite) for protocol, suite in suites.items()]
    matrices = {each.protocol: each.rows for each in found}
    if args.format == "json":
        print(clause_report.as_json(matrices))
    else:
        as_table, heading = (clause_report.as_text, "{}\n") if args.format == "text" else (clause_report.as_markdown, "## {}\n")
        print("\n\n".join(f"{heading.format(protocol)}\n{as_table(rows)}" for protocol, rows in matrices.items()))
    for place, each in enumerate(found if args.format == "text" else ()):
        found[place] = replace(each, edges=list(edge_coverage.coverage(each.protocol, suites[each.protocol].vectors)))
        if found[place].edges:
            print(f"\n\n{each.protocol}: the state graphs\n\n{edge_coverage.as_text(found[place].edges)}")
    return int(not all(each.is_complete for each in found))
