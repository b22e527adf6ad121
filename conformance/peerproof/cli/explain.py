"""
Explains a clause: its text and what covers it (code, vectors, properties, models, proofs). Or a property that models check, or a
model. Or a protocol: its messages as data. Or several of these.

  peerproof explain B-14        a clause of the protocol's document
  peerproof explain B-36 BA-14  two clauses, as a failing vector names them
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
from peerproof.conformance.vectors.suite import Suite, VectorError
from peerproof.spec.protocols import PROTOCOLS


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    about = "such as B-14, NoGap, small-joins or swim"
    parser.add_argument("names", metavar="CLAUSE|PROPERTY|MODEL|PROTOCOL", nargs="+", help=about)
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Prints a clause with all that cites it, a property with the models that check it, a model, or the tables of a protocol."""
    suite = options.suite(args) if args.vectors else None
    with refuse(VectorError), refuse(ClauseNotFound):
        print("\n\n".join([_explain(name, suite) for name in args.names]))
    return OK


def _explain(name: str, suite: Suite | None) -> str:
    """Raises VectorError and ClauseNotFound."""
    if name in PROTOCOLS:
        return "\n".join((f"# {name}", "", *form_tables.INTRODUCTION, *form_tables.message_tables(name)))
    return explain_property(name) or explain_model(name, _explorable) or explain_clause(name, suite)


def _explorable(protocol: str) -> Collection[str]:
    from peerproof.conformance.explorer.walk import explorable  # it loads the models, which clauses do not need

    return explorable(protocol)
