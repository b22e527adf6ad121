"""
Checks the vectors themselves: whether they can be read, whether every clause and flag is there, whether the protocol's
specification passes them.

  peerproof lint                       the suite's own vectors
  peerproof lint --vectors DIR         others
  peerproof lint --protocol NAME       those at the home of a protocol that another distribution adds
  peerproof lint --rules               what is checked
  peerproof lint --static              without running the vectors against the specification
  peerproof lint --readings            try the other readings of the documents as well: is what rests on decisions written down?
  peerproof lint --basis               write that down anew, and let the vectors cite the decisions that they need
  peerproof lint --basis --changed     the same, trying only the vectors of files that have changed since
  peerproof lint --reviewed B-14       the text of this clause has changed, and its vectors are right: say so (all: every clause)

Findings are `file:line:column: rule: message`, exit 1. A file that cannot be read as vectors at all: exit 2.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import OK, UNUSABLE, USAGE, Refusal
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.authoring import lint
from peerproof.conformance.authoring.basis_file import protocols_with_readings, write_basis
from peerproof.conformance.authoring.suite_check import NoSuchClause, check_suite, review_clauses
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite
from peerproof.conformance.vectors.suite import VectorError, load


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_vectors(parser)
    add("--protocol", metavar="NAME", help="the vectors at this protocol's home; with --basis, only what this protocol's rest on")
    add("--static", action="store_true", help="do not run the vectors")
    add("--readings", action="store_true", help="try the other readings of the documents as well")
    add("--basis", action="store_true", help="write down anew what rests on decisions")
    add("--changed", action="store_true", help="with --basis: try only the vectors of files that have changed (default: all)")
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
    root = args.vectors or locations.vectors_root(args.protocol)
    if args.changed and not args.basis:
        raise Refusal("peerproof lint: --changed is for --basis")
    if args.basis:
        return _write_basis(root, args.protocol, only_changed=args.changed)
    with refuse(VectorError, prefix=""), refuse(AdapterUnavailable, code=UNUSABLE), Ticker() as ticker:
        found = check_suite(
            root,
            static=args.static,
            readings=args.readings,
            implementation=args.impl,
            on_progress=lambda reading, done, count: ticker(f"{done} of {count} readings tried: {reading.clause} {reading.name}"),
        )
    for line in (*found.errors, *found.findings):
        print(line)
    findings = len(found.errors) + len(found.findings)
    counts = (_pluralize(found.vectors, "vector"), _pluralize(found.files, "file"), _pluralize(findings, "finding"))
    print("{} in {}, {}".format(*counts), file=sys.stderr)
    return USAGE if found.errors else int(not found.is_clean)


def _write_basis(root: Path, only: str | None, *, only_changed: bool) -> int:
    with refuse(VectorError, prefix=""), refuse(CannotWrite, prefix="peerproof lint: --basis: "), Ticker() as ticker:
        suite = load(root)
        changed = [
            path
            for protocol in protocols_with_readings(suite)
            if only in (None, protocol)
            for path in write_basis(
                suite,
                protocol,
                lambda reading, done, count: ticker(f"{done} of {count} readings tried: {reading.clause} {reading.name}"),
                only_changed=only_changed,
            )
        ]
    print("\n".join(f"written: {locations.path_text(path)}" for path in changed) or "it was written down so already")
    return OK


def _mark_reviewed(names: list[str]) -> int:
    with refuse(VectorError, prefix=""), refuse(NoSuchClause, CannotWrite, prefix="peerproof lint: --reviewed: "):
        changed = review_clauses(names)
    print(f"reviewed: {', '.join(changed)}" if changed else "they were reviewed already")
    return OK


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
