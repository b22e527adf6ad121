"""
Mutants of the specifications: how many small faults do the vectors detect?

  peerproof mutants                              of all protocols (an hour or two)
  peerproof mutants scuttlebutt                  of one (minutes)
  peerproof mutants swim -k swim.gossip          only those with these words in their names: modules, functions, kinds of faults
  peerproof mutants swim --list                  which there are
  peerproof mutants swim --unlisted              only those of which nobody has said that they are equivalent: these take longest
  peerproof mutants swim --record swim.jsonl     each verdict as it comes; the same command goes on where it was interrupted
  peerproof mutants swim --matrix swim.jsonl     the same with up to twenty vectors that detect each, not only the first
  peerproof mutants --format json --output mutants.json
  peerproof mutants --serve NAME                 speak the adapter protocol as this mutant, so that its vectors can be looked at:
                                                 peerproof run --protocol swim --impl 'peerproof mutants --serve NAME'

A mutant is the specification with one small fault: another comparison, a limit that is off by one, a guard, a statement or a
part of a change that is missing, effects in another order. It is run as the reference, against the vectors alone, until one of
them kills it. Equivalent mutants are listed in conformance/equivalent, each with its reason. The case that killed a mutant is
kept in ~/.cache/peerproof/detections (or in XDG_CACHE_HOME) and is run first next time; that never changes a verdict.

Ends with 1 if less than 98 % of the others are killed (--least), or if the list of equivalents is stale.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import FAILED, INTERRUPTED, NOTHING, OK, Refusal
from peerproof.cli.ticker import Ticker
from peerproof.conformance.clauses import catalogue

if TYPE_CHECKING:
    from peerproof.conformance.mutation.scoring import Score
    from peerproof.conformance.mutation.sites import Mutant


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("protocol", nargs="?", metavar="PROTOCOL", choices=catalogue.protocols(), help="only of this one")
    add("-k", dest="words", metavar="WORDS", default="", help="only mutants with all of these words in their names")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at a time (default: %(default)s)")
    add("--least", type=float, default=98.0, metavar="PERCENT", help="that must be killed (default: %(default)g)")
    add("--format", choices=("text", "json"), default="text")
    add("--output", type=Path, metavar="FILE", help="where the result goes, if not to standard output")
    add("--record", type=Path, metavar="FILE", help="keep each verdict; go on from those there")
    add("--matrix", type=Path, metavar="FILE", help="the same, with up to 20 vectors that detect each, none from state graphs")
    add("--list", action="store_true", help="print the mutants, and end")
    add("--unlisted", action="store_true", help="not those that are listed as equivalent")
    add("--serve", metavar="NAME", help="be this mutant, behind the adapter protocol")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Tries the mutants, and prints what came of them."""
    if args.serve:
        return _serve(args.serve)
    if args.record and args.matrix:
        raise Refusal("peerproof mutants: --record and --matrix exclude each other: a matrix is a record, with more in it")
    from peerproof.conformance.mutation.scoring import select_mutants

    every = {
        protocol: select_mutants(protocol, args.words, unlisted=args.unlisted)
        for protocol in ([args.protocol] if args.protocol else catalogue.protocols())
    }
    chosen = {protocol: mutants for protocol, mutants in every.items() if mutants}
    if not chosen:
        raise Refusal(f"peerproof mutants: no mutant has {args.words!r} in its name; --list shows them", NOTHING)
    if args.list:
        print(*(f"{mutant.id}  {mutant.change}" for mutants in chosen.values() for mutant in mutants), sep="\n")
        return OK
    return _run_mutants(args, chosen)


def _run_mutants(args: Namespace, chosen: dict[str, list[Mutant]]) -> int:
    from peerproof.conformance.mutation.mutant_files import WrongRecord
    from peerproof.conformance.mutation.scoring import Scoring, is_enough, open_record

    suite = options.suite(args)
    path, is_matrix = args.matrix or args.record, args.matrix is not None
    with refuse(WrongRecord, OSError, prefix=f"peerproof mutants: --{'matrix' if is_matrix else 'record'}: "):
        record = open_record(path, suite, chosen, is_matrix=is_matrix) if path else None
    scores: list[Score] = []
    for protocol, mutants in chosen.items():
        whole = not (args.words or args.unlisted)
        with Ticker() as ticker, refuse(WrongRecord, prefix="peerproof mutants: "):
            scoring = Scoring(protocol, suite, mutants, record, whole, is_matrix, args.jobs, ticker)
            scores.append(scoring.run())
        if scoring.is_interrupted:
            _write(args, scores)
            print("peerproof: interrupted; what is told is of the mutants that were tried", file=sys.stderr)
            return INTERRUPTED
    _write(args, scores)
    return OK if is_enough(scores, args.least) else FAILED


def _write(args: Namespace, scores: list[Score]) -> None:
    import json

    from peerproof.conformance.mutation.scoring import as_plain
    from peerproof.conformance.suite.output import CannotWrite, write_whole

    text = json.dumps(as_plain(scores), indent=1) if args.format == "json" else "\n\n".join(score.text() for score in scores)
    with refuse(CannotWrite, prefix="peerproof mutants: "):
        write_whole(args.output, text + "\n")


def _serve(name: str) -> int:
    from peerproof.conformance.mutation.scoring import find_mutant, load_mutant

    try:
        mutant = find_mutant(name)
    except KeyError:
        raise Refusal(f"peerproof mutants: there is no mutant {name!r}; --list shows them") from None
    load_mutant(mutant)
    from peerproof.reference.harness.harness import Harness
    from peerproof.reference.harness.request_channel import serve_stdio

    serve_stdio(Harness())
    return OK
