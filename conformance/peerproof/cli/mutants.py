"""
Mutants of the specifications: how much of what can go wrong do the vectors notice?

  peerproof mutants                              of all protocols (an hour or two)
  peerproof mutants scuttlebutt                  of one (minutes)
  peerproof mutants swim -k swim.gossip          only those with these words in their names: modules, functions, kinds of mistakes
  peerproof mutants swim --list                  which there are
  peerproof mutants swim --unlisted              only those of which nobody has said that they are equivalent: these take longest
  peerproof mutants swim --record swim.jsonl     each verdict as it comes; the same command goes on where it was interrupted,
                                                 and after vectors were added it tries first what noticed a mutant before
  peerproof mutants --format json --output mutants.json
  peerproof mutants --serve NAME                 speak the adapter protocol as this mutant, so that its vectors can be looked at:
                                                 peerproof run --protocol swim --impl 'peerproof mutants --serve NAME'

A mutant is the specification with one small mistake: another comparison, a limit that is off by one, a guard, a statement or a
part of a change that is missing, effects in another order. It is run as the reference, against the vectors alone, until one of
them notices. What nobody can notice from outside is listed in conformance/equivalent, each with its reason.

Ends with 1 if less than 98 % of the others are noticed (--least), or if the list of equivalents is stale.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peerproof.cli import options
from peerproof.cli.ticker import Ticker
from peerproof.conformance import clauses

if TYPE_CHECKING:
    from peerproof.conformance.mutants.places import Module, Mutant
    from peerproof.conformance.mutants.record import Record
    from peerproof.conformance.mutants.score import Score
    from peerproof.conformance.vectors import Suite

AS_EXPECTED, UNEXPECTED, USAGE, NOTHING_SELECTED, OWN_FAULT, INTERRUPTED = 0, 1, 2, 4, 5, 130

#: What is judged, and what is to be loaded anew beside the specification.
IMPLEMENTATION: Final = "peerproof.reference.harness:Harness"
PACKAGES: Final = ("peerproof.reference",)


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", nargs="?", metavar="PROTOCOL", choices=clauses.protocols(), help="only of this one")
    parser.add_argument(
        "-k", dest="words", metavar="WORDS", default="", help="only mutants with all of these words in their names"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--least", type=float, default=98.0, metavar="PERCENT", help="that must be noticed (default: %(default)g)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the result goes, if not to standard output")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep each verdict; go on from those there")
    parser.add_argument(
        "--rewrite", action="store_true", help="keep in conformance/noticed what noticed each: it is tried first next time"
    )
    parser.add_argument("--list", action="store_true", help="print the mutants, and end")
    parser.add_argument("--unlisted", action="store_true", help="not those that are listed as equivalent")
    parser.add_argument("--serve", metavar="NAME", help="be this mutant, behind the adapter protocol")
    options.add_vectors(parser)


def run(args: Namespace) -> int:
    """Tries the mutants, and prints what came of them."""
    if args.serve:
        return _serve(args.serve)
    chosen = {protocol: _chosen(args, protocol) for protocol in ([args.protocol] if args.protocol else clauses.protocols())}
    if not any(mutants for _, mutants in chosen.values()):
        raise options.refusal(f"peerproof mutants: no mutant has {args.words!r} in its name; --list shows them", NOTHING_SELECTED)
    if args.list:
        print(*(f"{mutant.id}  {mutant.change}" for _, mutants in chosen.values() for mutant in mutants), sep="\n")
        return AS_EXPECTED
    return _tried(args, {protocol: found for protocol, found in chosen.items() if found[1]})


def _chosen(args: Namespace, protocol: str) -> tuple[list[Module], list[Mutant]]:
    from peerproof.conformance.mutants.equivalents import equivalents
    from peerproof.conformance.mutants.places import modules, mutants

    found = modules(protocol)
    made = (mutant for module in found for mutant in mutants(module))
    passed_over = equivalents(protocol) if args.unlisted else {}
    words = args.words.split()
    return found, [mutant for mutant in made if mutant.id not in passed_over and all(word in mutant.id for word in words)]


def _tried(args: Namespace, chosen: dict[str, tuple[list[Module], list[Mutant]]]) -> int:
    from peerproof.conformance.mutants.record import Record, WrongRecord, digest

    suite = options.suite(args)
    modules = [module for found, _ in chosen.values() for module in found]
    try:
        files = {suite.path(vector) for vector in suite.vectors if vector.protocol in chosen}
        record = Record(args.record, digest(files, modules)) if args.record else None
    except (WrongRecord, OSError) as error:
        raise options.refusal(f"peerproof mutants: --record: {error}") from None
    scores: list[Score] = []
    interrupted = False
    for protocol, (found, mutants) in chosen.items():
        try:
            score, interrupted = _scored(args, suite, protocol, found, mutants, record)
        except WrongRecord as error:
            raise options.refusal(f"peerproof mutants: {error}") from None
        scores.append(score)
        if interrupted:
            break
    _write(args, scores)
    if interrupted:
        print("peerproof: interrupted; what is told is of the mutants that were tried", file=sys.stderr)
        return INTERRUPTED
    return UNEXPECTED if any(100 * score.score < args.least or score.stale for score in scores) else AS_EXPECTED


def _scored(
    args: Namespace, suite: Suite, protocol: str, modules: list[Module], mutants: list[Mutant], record: Record | None
) -> tuple[Score, bool]:
    """And whether a person has ended it. Raises WrongRecord."""
    from peerproof.conformance.cases import cases
    from peerproof.conformance.mutants.equivalents import equivalents
    from peerproof.conformance.mutants.noticed import keep, noticed_by
    from peerproof.conformance.mutants.places import mutants as made
    from peerproof.conformance.mutants.score import Score
    from peerproof.conformance.mutants.trials import Bench

    listed = equivalents(protocol)
    vectors = [vector for vector in suite.vectors if vector.protocol == protocol]
    bench = Bench(protocol, cases(suite, vectors), IMPLEMENTATION, PACKAGES, suite.version)
    verdicts = {mutant: record.found[mutant.id] for mutant in mutants if mutant.id in record.found} if record else {}
    left = [mutant for mutant in mutants if mutant not in verdicts]
    ticker, noticed, interrupted = Ticker(), sum(verdict.killed for verdict in verdicts.values()), False
    try:
        ticker(f"{protocol}: which of {len(bench.cases):,} cases come by where")
        before = {**noticed_by(protocol), **(record.before if record else {})}
        for mutant, verdict in bench.trials(left, bench.reach(modules), max(1, args.jobs), before) if left else ():
            verdicts[mutant] = verdict
            noticed += verdict.killed
            if record:
                record.add(mutant.id, verdict)
            ticker(f"{protocol}: {len(verdicts):,} of {len(mutants):,} mutants tried, {noticed:,} noticed")
    except KeyboardInterrupt:
        interrupted = True
    ticker.clear()
    if args.rewrite:
        try:
            keep(protocol, verdicts, {mutant.id for module in modules for mutant in made(module)})
        except OSError as error:
            print(f"peerproof mutants: --rewrite: {error}", file=sys.stderr)
    whole = not (args.words or args.unlisted or interrupted)
    inorder = {mutant: verdicts[mutant] for mutant in mutants if mutant in verdicts}
    return Score(protocol, inorder, listed, frozenset(vector.id for vector in vectors), whole), interrupted


def _write(args: Namespace, scores: list[Score]) -> None:
    import json

    from peerproof.conformance.mutants.score import as_plain
    from peerproof.conformance.output import CannotWrite, write_whole

    text = json.dumps(as_plain(scores), indent=1) if args.format == "json" else "\n\n".join(score.text() for score in scores)
    try:
        write_whole(args.output, text + "\n")
    except CannotWrite as error:
        raise options.refusal(f"peerproof mutants: {error}") from None


def _serve(name: str) -> int:
    from peerproof.conformance.mutants.copies import begin_again
    from peerproof.conformance.mutants.places import modules, mutants

    protocol = name.partition(".")[0]
    made = (mutant for module in (modules(protocol) if protocol in clauses.protocols() else ()) for mutant in mutants(module))
    mutant = next((mutant for mutant in made if mutant.id == name), None)
    if mutant is None:
        raise options.refusal(f"peerproof mutants: there is no mutant {name!r}; --list shows them")
    begin_again([*(f"peerproof.spec.{each}" for each in clauses.protocols()), *PACKAGES], mutant)
    from peerproof.reference.channel import serve_stdio
    from peerproof.reference.harness import Harness

    serve_stdio(Harness())
    return AS_EXPECTED
