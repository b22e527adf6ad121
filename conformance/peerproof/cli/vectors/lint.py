"""
Checks vector files: their syntax, their clauses and flags, and whether the protocol's specification passes them.

  peerproof vectors lint                       the suite's own vectors
  peerproof vectors lint swim                  those of a protocol, also of one that another distribution adds
  peerproof vectors lint --vectors PATH        those in a folder or file
  peerproof vectors lint --rules               list what is checked
  peerproof vectors lint --static              do not run the vectors against the specification
  peerproof vectors lint --readings            also try other readings of the documents: are dependences on decisions recorded?
  peerproof vectors lint --basis               record them again, and let the vectors cite the decisions that they need
  peerproof vectors lint --basis --changed     the same for the vectors of files that have changed since
  peerproof vectors lint --reviewed B-14       record that the vectors of this changed clause are right (all: every clause)

A finding is printed as `file:line:column: rule: message`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.console import note
from peerproof.cli.exits import FAILED, OK, UNUSABLE, USAGE, Refusal
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.authoring import lint
from peerproof.conformance.authoring.basis_file import protocols_with_readings, write_basis
from peerproof.conformance.authoring.clause_report import ClauseNotFound
from peerproof.conformance.authoring.suite_check import check_suite, review_clauses
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.vectors.suite import VectorError, load
from peerproof.spec.protocols import PROTOCOLS

EXITS: Final = {
    OK: "no findings",
    FAILED: "findings",
    USAGE: "wrong usage, or a file that cannot be read as vectors",
    UNUSABLE: "the implementation cannot be used",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_protocol(parser, "only the vectors of this protocol")
    options.add_vectors(parser)
    add("--static", action="store_true", help="do not run the vectors")
    add("--readings", action="store_true", help="try other readings of the documents too")
    add("--basis", action="store_true", help="record which vectors depend on decisions")
    add("--changed", action="store_true", help="with --basis: only vectors of files that have changed")
    add("--impl", metavar="COMMAND", help="check against this implementation (default: the reference)")
    add("--reviewed", action="append", metavar="CLAUSE", help="record that its vectors were reviewed (repeatable)")
    add("--rules", action="store_true", help="print what is checked, and end")


def run(args: Namespace) -> int:
    """Prints the findings. Returns 1 if there are any, 2 if a file is not a vector file."""
    if args.rules:
        print("\n".join(f"{rule:14} {about}" for rule, about in lint.RULES))
        return OK
    if args.reviewed:
        return _mark_reviewed(args.reviewed)
    options.check_protocol(args.protocol, PROTOCOLS, has_vectors=True)
    root = args.vectors or locations.vectors_root(args.protocol)
    if args.changed and not args.basis:
        raise Refusal("--changed is for --basis")
    if args.basis:
        return _write_basis(root, args.protocol, only_changed=args.changed)
    with refuse(VectorError), refuse(AdapterUnavailable, code=UNUSABLE), Ticker() as ticker:
        found = check_suite(
            root,
            args.protocol,
            static=args.static,
            readings=args.readings,
            implementation=args.impl,
            on_progress=lambda reading, done, count: ticker(f"reading {reading.clause} {reading.name}", done, count),
        )
    for line in (*found.errors, *found.findings):
        print(line)
    findings = len(found.errors) + len(found.findings)
    vectors, files = count_text(found.vectors, "vector"), count_text(found.files, "file")
    note(f"{vectors} in {files}, {count_text(findings, 'finding')}")
    return USAGE if found.errors else int(not found.is_clean)


def _write_basis(root: Path, only: str | None, *, only_changed: bool) -> int:
    with refuse(VectorError), refuse(CannotWrite, prefix="--basis: "), Ticker() as ticker:
        suite = load(root)
        changed = [
            path
            for protocol in protocols_with_readings(suite)
            if only in (None, protocol)
            for path in write_basis(
                suite,
                protocol,
                lambda reading, done, count: ticker(f"reading {reading.clause} {reading.name}", done, count),
                only_changed=only_changed,
            )
        ]
    print("\n".join(f"written: {locations.path_text(path)}" for path in changed) or "already recorded")
    return OK


def _mark_reviewed(names: list[str]) -> int:
    with refuse(VectorError), refuse(ClauseNotFound, CannotWrite, prefix="--reviewed: "):
        changed = review_clauses(names)
    print(f"reviewed: {', '.join(changed)}" if changed else "already reviewed")
    return OK
