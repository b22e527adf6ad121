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
from peerproof.cli.implementation import add_implementation, make_reach, tell_unusable
from peerproof.cli.show import find
from peerproof.conformance.adapter import Unusable
from peerproof.conformance.cases import cases
from peerproof.conformance.lane import Control, Lane, skipped
from peerproof.conformance.result import STATUSES, Result
from peerproof.conformance.runner import missing
from peerproof.conformance.trial import Case
from peerproof.conformance.vectors import Suite

NOTHING = 4


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("id", metavar="ID", help="a vector, or with #… one case of it, as reports name them")
    add_implementation(parser)
    options.add_vectors(parser)
    parser.add_argument("--seed", default="0", help="that of the run that is to be seen again (default: 0)")
    parser.add_argument("--emit", choices=("stdin",), help="print nothing but the lines that go to the implementation")


def run(args: Namespace) -> int:
    """Shows one run. The exit code says how it came out."""
    suite = options.suite(args)
    chosen = _cases(suite, args.id)
    adapter = make_reach(args, suite.version, _emit if args.emit else _show)()
    try:
        hello = adapter.start()
        lane = Lane(adapter, hello, args.seed, Control(most_restarts=1))
        results: list[Result] = []
        usable = True
        for case in chosen:
            if lacking := missing(case, hello):
                results.append(skipped(case, lacking))
            elif not usable:
                results.append(skipped(case, "the implementation has ended"))
            else:
                result, usable = lane.once(case)
                results.append(result)
    except Unusable as error:
        return tell_unusable(error)
    finally:
        adapter.stop()
    if not args.emit:
        for case, result in zip(chosen, results, strict=True):
            _tell(case, result, args)
    if all(result.status == "skipped" for result in results):
        return NOTHING
    return int(any(STATUSES[result.status] for result in results))


def _cases(suite: Suite, name: str) -> list[Case]:
    vector = find(suite, name)
    found = cases(suite, [vector])
    part = name.partition("#")[2]
    if not part:
        return found
    if chosen := [case for case in found if case.part == part]:
        return chosen
    parts = ", ".join(f"#{case.part}" for case in found if "#" in case.id)
    raise options.refusal(f"peerproof: {vector.id} has no case #{part}; it has {parts or 'only one, without #'}")


def _show(direction: str, line: str) -> None:
    print(f"{direction} {line}", flush=True)


def _emit(direction: str, line: str) -> None:
    if direction == ">":
        print(line, flush=True)


def _tell(case: Case, result: Result, args: Namespace) -> None:
    from peerproof.conformance.failure_text import diagram, explained

    print()
    if STATUSES[result.status] or result.failure:
        arguments = {"impl": args.impl, "seed": args.seed if args.seed != "0" else None, "vectors": args.vectors}
        print(explained(result, case.vector.title, arguments), end="")
        return
    reason = f": {result.reason}" if result.reason else ""
    print(f"{result.status.upper()} {result.id}{reason}")
    if result.branches:
        print(f"  branches taken: {', '.join(result.branches)}")
    if result.story:
        print(diagram(result.story, case.vector.protocol))
