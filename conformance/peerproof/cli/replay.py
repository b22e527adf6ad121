"""
Runs one vector exactly once, and shows every line that goes to the implementation and comes back.

  peerproof replay round-goes-to-a-peer                   > is what the suite says, < what the implementation says
  peerproof replay ID#decode --impl './my-adapter'        only this case of it
  peerproof replay ID --emit stdin > lines                what to feed a program by hand: ./my-adapter < lines

With the same --seed as the run that failed, everything that is drawn by lot is the same again. What --emit stdin prints
holds the answers that the implementation under --impl has asked for.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import NOTHING
from peerproof.cli.implementation import (
    add_bounds,
    add_implementation,
    bounds,
    bounds_as_arguments,
    make_reach,
    refuse_unavailable,
)
from peerproof.conformance.runner.cases import CaseNotFound, find_cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import replay_cases
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.selection import VectorNotFound


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("id", metavar="ID", help="a vector, or with #… one case of it, as reports name them")
    add_implementation(parser)
    add_bounds(parser)
    options.add_vectors(parser)
    add("--seed", default="0", help="that of the run that is to be seen again (default: 0)")
    add("--emit", choices=("stdin",), help="print nothing but the lines that go to the implementation")


def run(args: Namespace) -> int:
    """Shows one run. The exit code says how it came out."""
    suite = options.suite(args, args.id.partition("/")[0])
    with refuse(VectorNotFound, CaseNotFound):
        chosen = find_cases(suite, args.id)
    with refuse_unavailable():
        results = replay_cases(chosen, make_reach(args, suite.version, _emit if args.emit else _show)(), args.seed, bounds(args))
    if not args.emit:
        for case, result in zip(chosen, results, strict=True):
            _print_outcome(case, result, args)
    if all(result.status == "skipped" for result in results):
        return NOTHING
    return int(any(STATUSES[result.status] for result in results))


def _show(direction: str, line: str) -> None:
    print(f"{direction} {line}", flush=True)


def _emit(direction: str, line: str) -> None:
    if direction == ">":
        print(line, flush=True)


def _print_outcome(case: Case, result: Result, args: Namespace) -> None:
    from peerproof.conformance.report.failure_text import diagram, explain

    print()
    if STATUSES[result.status] or result.failure:
        arguments = {"impl": args.impl, "seed": args.seed if args.seed != "0" else None, "vectors": args.vectors}
        arguments |= bounds_as_arguments(args)
        print(explain(result, case.vector.title, arguments), end="")
        return
    reason = f": {result.reason}" if result.reason else ""
    print(f"{result.status.upper()} {result.id}{reason}")
    if result.branches:
        print(f"  branches taken: {', '.join(result.branches)}")
    if result.story:
        print(diagram(result.story, case.vector.protocol))
