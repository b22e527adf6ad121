"""
Checks the vectors themselves: whether they can be read, whether every clause and flag is there, whether the protocol's
specification passes them.

  peerproof lint                       the suite's own vectors
  peerproof lint --vectors DIR         others
  peerproof lint --rules               what is checked
  peerproof lint --static              without running the vectors against the specification
  peerproof lint --reviewed B-14       the text of this clause has changed, and its vectors are right: say so (all: every clause)

Findings are `file:line:column: rule: message`, exit 1. A file that cannot be read as vectors at all: exit 2.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.conformance import lint, sources
from peerproof.conformance.model_table import LAYER
from peerproof.conformance.output import CannotWrite
from peerproof.conformance.vectors import Suite, Vector, VectorError

UNUSABLE = 3


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    options.add_vectors(parser)
    parser.add_argument("--static", action="store_true", help="do not run the vectors")
    parser.add_argument("--impl", metavar="COMMAND", help="the implementation that is the specification (default: the reference)")
    parser.add_argument("--reviewed", action="append", metavar="CLAUSE", help="its vectors were looked at; may be given again")
    parser.add_argument("--rules", action="store_true", help="print what is checked, and end")


def run(args: Namespace) -> int:
    """Prints what is wrong. 1 if something is, 2 if it is not even a vector file."""
    if args.rules:
        print("\n".join(f"{rule:14} {about}" for rule, about in lint.RULES))
        return 0
    if args.reviewed:
        return _reviewed(args.reviewed)
    try:
        readable, errors = lint.read(args.vectors or sources.vectors_root())
        found = lint.findings(readable)
        tables: list[Vector] = []
        if not errors:
            suite = options.suite(args)
            objections = {} if args.static else _objections(args, suite)
            found = sorted({*found, *lint.behaviour(readable, objections), *lint.of_tables(suite, objections)})
            tables = [vector for vector in suite.vectors if vector.layer == LAYER]
    except VectorError as error:
        raise options.refusal(str(error)) from None
    for line in (*errors, *found):
        print(line)
    counted = sum(len(source.document.data["vectors"]) for source in readable) + len(tables)
    files = len(readable) + len({vector.file for vector in tables})
    findings = len(errors) + len(found)
    print(f"{_counted(counted, 'vector')} in {_counted(files, 'file')}, {_counted(findings, 'finding')}", file=sys.stderr)
    return options.USAGE if errors else int(bool(found))


def _reviewed(names: list[str]) -> int:
    from peerproof.conformance import clauses, reviewed

    try:
        every = [clauses.load(protocol) for protocol in clauses.protocols()]
        known = {name for each in every for name in (*(one.id for one in each.with_level), *reviewed.reviewed(each.protocol))}
        if unknown := sorted({*names} - known - {"all"}):
            raise options.refusal(f"peerproof lint: --reviewed: there is no clause {', '.join(unknown)}")
        changed = [name for each in every for name in reviewed.review(each, known if "all" in names else names)]
    except VectorError as error:
        raise options.refusal(str(error)) from None
    except CannotWrite as error:
        raise options.refusal(f"peerproof lint: --reviewed: {error}") from None
    print(f"reviewed: {', '.join(changed)}" if changed else "they were reviewed already")
    return 0


def _objections(args: Namespace, suite: Suite) -> dict[str, str]:
    from peerproof.conformance.adapter import Adapter, Unusable, program, reach
    from peerproof.conformance.behaviour import objections
    from peerproof.conformance.patience import Patience

    def specification() -> Adapter:
        if args.impl:
            return reach(args.impl, Patience(), suite.version)
        return program([sys.executable, "-m", "peerproof.reference.harness"], Patience(), suite.version)

    try:
        return objections(suite, specification)
    except Unusable as error:
        print(f"peerproof: {error}", file=sys.stderr)
        raise SystemExit(UNUSABLE) from None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
