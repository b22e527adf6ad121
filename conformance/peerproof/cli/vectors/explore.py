"""
Shows a vector in the browser, step by step: what happens, what the nodes know, and where an implementation differs.

  peerproof vectors explore delta-stops-at-what-does-not-fit                       what the specification does
  peerproof vectors explore ID --impl './my-adapter'                               your implementation beside it
  peerproof vectors explore ID --impl divergence:BD-09 --output page.html          one file that needs no server

Time line, message graph, and the state of each node with what the step has changed. The page begins at the first difference.
Loading it again runs the vector again, so that you see at once whether a change of the implementation has helped. Unlike a run,
it goes on after a difference, to the end of the vector.

The state of an implementation is what it answers to the queries that it offers (`observe.…` in its hello). The page is served on
this machine only, at an address with a random token, until Ctrl-C.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.exits import Refusal
from peerproof.cli.implementation import (
    add_bounds,
    add_implementation,
    arguments_of_replay,
    bounds,
    make_reach,
    refuse_unavailable,
)
from peerproof.cli.page import PAGE_EXITS, add_page, open_page, write_page
from peerproof.conformance.runner.cases import CaseNotFound, find_cases
from peerproof.conformance.vectors.selection import VectorNotFound

EXITS: Final = PAGE_EXITS


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("id", metavar="ID", help="a vector, or with #CASE one case of it, as reports name them")
    add_implementation(parser, "the specification alone")
    add_bounds(parser)
    options.add_vectors(parser)
    parser.add_argument("--seed", default="0", help="random seed, that of the run to be repeated (default 0)")
    add_page(parser)


def run(args: Namespace) -> int:
    """Runs the vector's cases, and shows them."""
    from peerproof.conformance.explorer.recorded_run import TooLarge
    from peerproof.conformance.explorer.serve import create_reference
    from peerproof.conformance.explorer.vector_run import NotRun, run_case

    suite = options.suite(args, args.id.partition("/")[0])
    with refuse(VectorNotFound, CaseNotFound):
        chosen = find_cases(suite, args.id)
    arguments = arguments_of_replay(args)
    reach = make_reach(args, suite.version) if args.impl else None
    runs = {
        case.id: partial(run_case, case, create_reference, reach, arguments=arguments, bounds=bounds(args)) for case in chosen
    }
    with refuse_unavailable():
        try:
            made = {name: make() for name, make in runs.items()}
        except NotRun as error:
            raise Refusal(f"{args.id} does not apply: {error}", tip="without --impl the specification plays it") from None
    if args.output:
        with refuse(TooLarge):
            return write_page(args.output, {"runs": [one.whole() for one in made.values()]}, args.id)
    return open_page("#run/0/", listen=args.listen, no_browser=args.no_browser, runs=runs, first=list(made.values()))
