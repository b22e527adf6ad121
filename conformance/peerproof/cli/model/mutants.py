"""
Measures how many mutants of the specifications the vectors kill.

  peerproof model mutants                              of all protocols (an hour or two)
  peerproof model mutants scuttlebutt                  of one (minutes)
  peerproof model mutants swim -k swim.gossip          only those with these words in their names: modules, functions, kinds
  peerproof model mutants swim --list                  list them
  peerproof model mutants swim --unlisted              without those listed as equivalent, which take longest
  peerproof model mutants swim --record swim.jsonl     store each verdict; the same command goes on after an interruption
  peerproof model mutants swim --matrix swim.jsonl     the same with up to twenty vectors that kill each, not only the first
  peerproof model mutants --json --output mutants.json
  peerproof model mutants --serve NAME                 serve the adapter protocol as this mutant, to look at its vectors:
                                       peerproof run swim --impl 'peerproof model mutants --serve NAME'

A mutant is the specification with one small fault: another comparison, a limit that is off by one, a guard, a statement or a
part of a change that is missing, effects in another order. It is run as the reference against the vectors until one of them
kills it. Equivalent mutants are listed in conformance/equivalent, each with its reason. The case that killed a mutant is stored
in ~/.cache/peerproof/detections (or in XDG_CACHE_HOME) and run first next time; that never changes a verdict.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.console import note
from peerproof.cli.exits import FAILED, INTERRUPTED, NOTHING, OK, Refusal
from peerproof.cli.ticker import Ticker
from peerproof.conformance.clauses import catalogue

if TYPE_CHECKING:
    from peerproof.conformance.mutation.scoring import Score
    from peerproof.conformance.mutation.sites import Mutant


EXITS: Final = {
    OK: "enough mutants killed",
    FAILED: "too few mutants killed, or a stale list of equivalents",
    NOTHING: "no mutant selected",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    options.add_protocol(parser, "only the mutants of this protocol")
    options.add_select(parser, "only mutants with all of these words in their names")
    options.add_jobs(parser, "run N mutants in parallel", os.cpu_count() or 1)
    add("--least", type=float, default=98.0, metavar="PERCENT", help="share of mutants that must be killed (default %(default)g)")
    options.add_format(parser)
    options.add_output(parser, "write the result to this file")
    add("--record", type=Path, metavar="FILE", help="store each verdict there; go on from those stored")
    add("--matrix", type=Path, metavar="FILE", help="the same, with up to 20 vectors that detect each, none from state graphs")
    add("--list", action="store_true", help="list the mutants")
    add("--unlisted", action="store_true", help="leave out those listed as equivalent")
    add("--serve", metavar="NAME", help="serve the adapter protocol as this mutant")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Runs the mutants, and prints the results."""
    if args.serve:
        return _serve(args.serve)
    if args.record and args.matrix:
        raise Refusal("--record and --matrix cannot be combined: a matrix is a record with more vectors")
    from peerproof.conformance.mutation.scoring import select_mutants

    options.check_protocol(args.protocol, catalogue.protocols(), has_vectors=True)
    every = {
        protocol: select_mutants(protocol, args.select, unlisted=args.unlisted)
        for protocol in ([args.protocol] if args.protocol else catalogue.protocols())
    }
    chosen = {protocol: mutants for protocol, mutants in every.items() if mutants}
    if not chosen:
        raise Refusal(f"no mutant has {args.select!r} in its name", NOTHING, tip="peerproof model mutants --list shows them")
    if args.list:
        print(*(f"{mutant.id}  {mutant.change}" for mutants in chosen.values() for mutant in mutants), sep="\n")
        return OK
    return _run_mutants(args, chosen)


def _run_mutants(args: Namespace, chosen: dict[str, list[Mutant]]) -> int:
    from peerproof.conformance.mutation.mutant_files import WrongRecord
    from peerproof.conformance.mutation.scoring import Scoring, is_enough, open_record

    suite = options.suite(args)
    path, is_matrix = args.matrix or args.record, args.matrix is not None
    with refuse(WrongRecord, OSError, prefix=f"--{'matrix' if is_matrix else 'record'}: "):
        record = open_record(path, suite, chosen, is_matrix=is_matrix) if path else None
    scores: list[Score] = []
    for protocol, mutants in chosen.items():
        whole = not (args.select or args.unlisted)
        with Ticker() as ticker, refuse(WrongRecord):
            scoring = Scoring(protocol, suite, mutants, record, whole, is_matrix, args.jobs, ticker)
            scores.append(scoring.run())
        if scoring.is_interrupted:
            _write(args, scores)
            note("interrupted; the result covers the mutants that were run")
            return INTERRUPTED
    _write(args, scores)
    return OK if is_enough(scores, args.least) else FAILED


def _write(args: Namespace, scores: list[Score]) -> None:
    import json

    from peerproof.conformance.mutation.scoring import as_plain
    from peerproof.conformance.suite.output import CannotWrite, write_whole

    text = json.dumps(as_plain(scores), indent=1) if args.format == "json" else "\n\n".join(score.text() for score in scores)
    with refuse(CannotWrite):
        write_whole(args.output, text + "\n")


def _serve(name: str) -> int:
    from peerproof.conformance.mutation.scoring import find_mutant, load_mutant

    try:
        mutant = find_mutant(name)
    except KeyError:
        raise Refusal(f"unknown mutant {name!r}", tip="peerproof model mutants --list shows them") from None
    load_mutant(mutant)
    from peerproof.reference.harness.harness import Harness
    from peerproof.reference.harness.request_channel import serve_stdio

    serve_stdio(Harness())
    return OK
