"""
Mutants of the specifications: how many small faults do the vectors detect?

  peerproof mutants                              of all protocols (an hour or two)
  peerproof mutants scuttlebutt                  of one (minutes)
  peerproof mutants swim -k swim.gossip          only those with these words in their names: modules, functions, kinds of faults
  peerproof mutants swim --list                  which there are
  peerproof mutants swim --unlisted              only those of which nobody has said that they are equivalent: these take longest
  peerproof mutants swim --record swim.jsonl     each verdict as it comes; the same command goes on where it was interrupted
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
from peerproof.cli.ticker import Ticker
from peerproof.conformance.clauses import catalogue

if TYPE_CHECKING:
    from peerproof.conformance.mutation.scoring import Score
    from peerproof.conformance.mutation.sites import Mutant

AS_EXPECTED, UNEXPECTED, USAGE, NOTHING_SELECTED, OWN_FAULT, INTERRUPTED = 0, 1, 2, 4, 5, 130


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", nargs="?", metavar="PROTOCOL", choices=catalogue.protocols(), help="only of this one")
    parser.add_argument(
        "-k", dest="words", metavar="WORDS", default="", help="only mutants with all of these words in their names"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at a time (default: %(default)s)"
    )
    parser.add_argument("--least", type=float, default=98.0, metavar="PERCENT", help="that must be killed (default: %(default)g)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the result goes, if not to standard output")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep each verdict; go on from those there")
    parser.add_argument("--list", action="store_true", help="print the mutants, and end")
    parser.add_argument("--unlisted", action="store_true", help="not those that are listed as equivalent")
    parser.add_argument("--serve", metavar="NAME", help="be this mutant, behind the adapter protocol")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Tries the mutants, and prints what came of them."""
    if args.serve:
        return _serve(args.serve)
    from peerproof.conformance.mutation.scoring import select_mutants

    every = {
        protocol: select_mutants(protocol, args.words, unlisted=args.unlisted)
        for protocol in ([args.protocol] if args.protocol else catalogue.protocols())
    }
    chosen = {protocol: mutants for protocol, mutants in every.items() if mutants}
    if not chosen:
        raise options.refusal(f"peerproof mutants: no mutant has {args.words!r} in its name; --list shows them", NOTHING_SELECTED)
    if args.list:
        print(*(f"{mutant.id}  {mutant.change}" for mutants in chosen.values() for mutant in mutants), sep="\n")
        return AS_EXPECTED
    return _run_mutants(args, chosen)


def _run_mutants(args: Namespace, chosen: dict[str, list[Mutant]]) -> int:
    from peerproof.conformance.mutation.mutant_files import WrongRecord
    from peerproof.conformance.mutation.scoring import Scoring, is_enough, open_record

    suite = options.suite(args)
    try:
        record = open_record(args.record, suite, chosen) if args.record else None
    except (WrongRecord, OSError) as error:
        raise options.refusal(f"peerproof mutants: --record: {error}") from None
    scores: list[Score] = []
    for protocol, mutants in chosen.items():
        ticker = Ticker()
        whole = not (args.words or args.unlisted)
        scoring = Scoring(protocol, suite, mutants, record, whole, args.jobs, ticker)
        try:
            scores.append(scoring.run())
        except WrongRecord as error:
            raise options.refusal(f"peerproof mutants: {error}") from None
        finally:
            ticker.clear()
        if scoring.is_interrupted:
            _write(args, scores)
            print("peerproof: interrupted; what is told is of the mutants that were tried", file=sys.stderr)
            return INTERRUPTED
    _write(args, scores)
    return AS_EXPECTED if is_enough(scores, args.least) else UNEXPECTED


def _write(args: Namespace, scores: list[Score]) -> None:
    import json

    from peerproof.conformance.mutation.scoring import as_plain
    from peerproof.conformance.suite.output import CannotWrite, write_whole

    text = json.dumps(as_plain(scores), indent=1) if args.format == "json" else "\n\n".join(score.text() for score in scores)
    try:
        write_whole(args.output, text + "\n")
    except CannotWrite as error:
        raise options.refusal(f"peerproof mutants: {error}") from None


def _serve(name: str) -> int:
    from peerproof.conformance.mutation.scoring import find_mutant, load_mutant

    try:
        mutant = find_mutant(name)
    except KeyError:
        raise options.refusal(f"peerproof mutants: there is no mutant {name!r}; --list shows them") from None
    load_mutant(mutant)
    from peerproof.reference.harness.harness import Harness
    from peerproof.reference.harness.request_channel import serve_stdio

    serve_stdio(Harness())
    return AS_EXPECTED
