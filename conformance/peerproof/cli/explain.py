"""
Explains a clause: its text, and what holds it: code, vectors, properties, models, proofs.

  peerproof explain B-14        a clause of the protocol's document
  peerproof explain BA-07       a decision where the document leaves something open
  peerproof explain BD-04       a divergence of the original, with the vectors that show it
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK
from peerproof.conformance.authoring.clause_report import ClauseNotFound, explain_clause
from peerproof.conformance.vectors.suite import VectorError


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("clause", metavar="CLAUSE", help="such as B-14")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints a clause with everything that cites it."""
    suite = options.suite(args) if args.vectors else None
    with refuse(VectorError, prefix=""), refuse(ClauseNotFound):
        print(explain_clause(args.clause, suite))
    return OK
