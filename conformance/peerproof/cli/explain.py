"""
Explains a clause: its text and what covers it (code, vectors, properties, models, proofs). Or a property that models check, or a
model. Or a protocol: its messages as data.

  peerproof explain B-14        a clause of the protocol's document
  peerproof explain BA-07       a decision where the document leaves something open
  peerproof explain BD-04       a divergence of the original implementation, with the vectors that show it
  peerproof explain NoGap       a property: what it says, its clauses, and the models that check it
  peerproof explain small-joins  a model: its question, the expected answer, what it checks, its constants
  peerproof explain swim        tables of a protocol: messages, calls, queries, events, configuration in their plain forms
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK
from peerproof.conformance.adapter import form_tables
from peerproof.conformance.authoring.clause_report import ClauseNotFound, explain_clause
from peerproof.conformance.authoring.model_report import explain_model
from peerproof.conformance.authoring.property_report import explain_property
from peerproof.conformance.vectors.suite import VectorError
from peerproof.spec.protocols import PROTOCOLS


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("clause", metavar="CLAUSE|PROPERTY|MODEL|PROTOCOL", help="such as B-14, NoGap, small-joins or swim")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints a clause with all that cites it, a property with the models that check it, a model, or the tables of a protocol."""
    if args.clause in PROTOCOLS:
        print("\n".join((f"# {args.clause}", "", *form_tables.INTRODUCTION, *form_tables.message_tables(args.clause))))
        return OK
    if of_property := explain_property(args.clause):
        print(of_property)
        return OK
    if of_model := explain_model(args.clause, _explorable):
        print(of_model)
        return OK
    suite = options.suite(args) if args.vectors else None
    with refuse(VectorError), refuse(ClauseNotFound):
        print(explain_clause(args.clause, suite))
    return OK


def _explorable(protocol: str) -> Collection[str]:
    from peerproof.conformance.explorer.walk import explorable  # it loads the models, which clauses do not need

    return explorable(protocol)
