"""
Runs the conformance vectors on several implementations, or on mutants of the specification, into the table `vector_results`.

  peerproof pipeline matrix --impl './adapter-1' --impl './adapter-2' --output out
  peerproof pipeline matrix --impl reference --impl py:my_package.adapter:Adapter -k 'layer:codec' --output out
  peerproof pipeline matrix scuttlebutt --mutants reconcile --output out    which vector kills which mutant

Verdicts are those of `peerproof run` with the same seed; a failure has its expected and actual values. An implementation is
identified by its command: use another folder after it has changed. On a cluster it must be installed on every machine.
Exits with 1 if anything fails.

For each mutant, `peerproof model mutants` stops at the first vector that kills it. This command runs all vectors, which takes
much longer.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from typing import Final

from peerproof.cli import options
from peerproof.cli.console import shows_progress
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.implementation import refuse_unavailable
from peerproof.cli.pipeline.options import add_out, add_spark, engine, print_outcome, stage
from peerproof.conformance.adapter.implementation import REFERENCE

PEERPROOF = (sys.executable, "-m", "peerproof.cli.main")


EXITS: Final = {
    OK: "every implementation passes",
    FAILED: "an implementation fails",
    UNUSABLE: "an implementation, Spark, a package or a file cannot be used",
    NOTHING: "no case or no mutant selected",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add(
        "--impl",
        action="append",
        metavar="WHAT",
        help="'COMMAND ARGS', tcp://HOST:PORT, py:MODULE:CLASS, or reference; may be repeated (default: reference)",
    )
    add(
        "--mutants",
        metavar="WORDS",
        help="also run each mutant of the protocols with all of these words in its name (peerproof model mutants --list)",
    )
    options.add_selection(parser)
    options.add_vectors(parser)
    add("--seed", default="0", metavar="SEED", help="random seed (default 0)")
    add("--strict", action="store_true", help="treat unmet should vectors as failures")
    add_out(parser)
    add_spark(parser)


@stage
def run(args: Namespace) -> int:
    """Runs the cases."""
    from peerproof.conformance.runner.cases import select_cases
    from peerproof.pipeline.spark.progress import Progress
    from peerproof.pipeline.stages.matrix import Matrix, check, execute
    from peerproof.pipeline.stages.verdict_counts import count_results, has_failure

    suite = options.suite(args)
    selected = options.select(select_cases, args, suite)
    options.note_models(args, (case.vector for case in selected))
    if not selected:
        raise Refusal("no case is selected", NOTHING)
    mutants = [] if args.mutants is None else _mutants(args.mutants, {case.vector.protocol for case in selected})
    implementations = list(dict.fromkeys([*(args.impl or ["reference"]), *mutants]))
    todo = Matrix(
        suite, selected, implementations, REFERENCE, (*PEERPROOF, "model", "mutants", "--serve"), args.seed, args.strict
    )
    progress = Progress("matrix", quiet=not shows_progress())
    with refuse_unavailable():
        check(todo)
        with engine(args) as spark:
            try:
                result = execute(spark, args.out, todo, progress)
            finally:
                progress.clear()
            if args.format == "text":
                print_outcome(args, spark, result)
    counts = count_results(todo, result.success)
    shown = {"folder": str(result.success.folder), **result.success.told, "verdicts": counts}
    print(json.dumps(shown) if args.format == "json" else _text(counts), flush=True)
    return FAILED if has_failure(counts) else OK


def _mutants(words: str, protocols: Collection[str]) -> list[str]:
    """Returns the mutants' names as implementations. Ends the program if there is none."""
    from peerproof.conformance.mutation.scoring import select_mutants
    from peerproof.pipeline.stages.matrix import MUTANT

    found = [f"{MUTANT}{mutant.id}" for protocol in sorted(protocols) for mutant in select_mutants(protocol, words)]
    if not found:
        names = " and ".join(sorted(protocols))
        problem = f"no mutant of {names} has {words!r} in its name; peerproof model mutants --list shows them"
        raise Refusal(problem, NOTHING)
    return found


def _text(counts: dict[str, dict[str, int]]) -> str:
    width = max(map(len, counts))
    return "\n".join(
        f"{name:{width}}  {', '.join(f'{number:,} {verdict}' for verdict, number in sorted(of.items()))}"
        for name, of in counts.items()
    )
