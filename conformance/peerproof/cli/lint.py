"""
Checks the vectors themselves: whether they can be read, whether every clause and flag is there, whether the protocol's
specification passes them.

  peerproof lint                       the suite's own vectors
  peerproof lint --vectors DIR         others
  peerproof lint --protocol NAME       those at the home of a protocol that another distribution adds
  peerproof lint --rules               what is checked
  peerproof lint --static              without running the vectors against the specification
  peerproof lint --reviewed B-14       the text of this clause has changed, and its vectors are right: say so (all: every clause)

Findings are `file:line:column: rule: message`, exit 1. A file that cannot be read as vectors at all: exit 2.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, UNUSABLE, USAGE
from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.authoring import lint
from peerproof.conformance.authoring.suite_check import NoSuchClause, check_suite, review_clauses
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite
from peerproof.conformance.vectors.suite import VectorError


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_vectors(parser)
    add("--protocol", metavar="NAME", help="the vectors at this protocol's home")
    add("--static", action="store_true", help="do not run the vectors")
    add("--impl", metavar="COMMAND", help="the implementation that is the specification (default: the reference)")
    add("--reviewed", action="append", metavar="CLAUSE", help="its vectors were looked at; may be given again")
    add("--rules", action="store_true", help="print what is checked, and end")


def run(args: Namespace) -> int:
    """Prints what is wrong. 1 if something is, 2 if it is not even a vector file."""
    if args.rules:
        print("\n".join(f"{rule:14} {about}" for rule, about in lint.RULES))
        return OK
    if args.reviewed:
        return _mark_reviewed(args.reviewed)
    with refuse(VectorError, prefix=""), refuse(AdapterUnavailable, code=UNUSABLE):
        found = check_suite(args.vectors or locations.vectors_root(args.protocol), static=args.static, implementation=args.impl)
    for line in (*found.errors, *found.findings):
        print(line)
    findings = len(found.errors) + len(found.findings)
    counts = (_pluralize(found.vectors, "vector"), _pluralize(found.files, "file"), _pluralize(findings, "finding"))
    print("{} in {}, {}".format(*counts), file=sys.stderr)
    return USAGE if found.errors else int(not found.is_clean)


def _mark_reviewed(names: list[str]) -> int:
    with refuse(VectorError, prefix=""), refuse(NoSuchClause, CannotWrite, prefix="peerproof lint: --reviewed: "):
        changed = review_clauses(names)
    print(f"reviewed: {', '.join(changed)}" if changed else "they were reviewed already")
    return OK


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
