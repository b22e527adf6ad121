"""
Runs one vector exactly once, and prints every line between runner and implementation.

  peerproof vectors replay round-goes-to-a-peer                > is sent by the runner, < by the implementation
  peerproof vectors replay ID#decode --impl './my-adapter'     one case of it
  peerproof vectors replay ID --emit stdin > lines             the requests alone, to feed a program: ./my-adapter < lines

With the --seed of a run that failed, all random choices are those of that run. The lines of --emit stdin include the answers to
the questions of the implementation given with --impl.
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
    add("id", metavar="ID", help="a vector, or with #CASE one case of it, as reports name them")
    add_implementation(parser)
    add_bounds(parser)
    options.add_vectors(parser)
    add("--seed", default="0", help="random seed, that of the run to be repeated (default 0)")
    add("--emit", choices=("stdin",), help="print only the lines that go to the implementation")


def run(args: Namespace) -> int:
    """Runs the vector once. Returns its outcome as exit code."""
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
