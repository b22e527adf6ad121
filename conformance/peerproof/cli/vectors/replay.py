"""
Runs one vector exactly once, and prints every line between runner and implementation.

  peerproof vectors replay bx-01-round-sync-node-1             > is sent by the runner, < by the implementation
  peerproof vectors replay ID#decode --impl './my-adapter'     one case of it
  peerproof vectors replay ID --emit stdin > lines             the requests alone, to feed a program: ./my-adapter < lines

Of the reply to hello, only what concerns the vector's protocol is shown; -v shows all. With the --seed of a run that failed, all
random choices are those of that run. The lines of --emit stdin include the answers to the questions of the implementation given
with --impl.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from functools import partial
from typing import Any, Final

from peerproof.cli import options
from peerproof.cli.command import refuse
from peerproof.cli.console import is_verbose
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE
from peerproof.cli.implementation import (
    add_bounds,
    add_implementation,
    arguments_of_replay,
    bounds,
    make_reach,
    refuse_unavailable,
)
from peerproof.conformance.runner.cases import CaseNotFound, find_cases
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings, apply_settings, replay_cases
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.vectors.selection import VectorNotFound

EXITS: Final = {
    OK: "the vector passes",
    FAILED: "it fails",
    UNUSABLE: "the adapter cannot be used",
    NOTHING: "the implementation lacks what the vector needs, so it is skipped",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("id", metavar="ID", help="a vector, or with #CASE one case of it, as reports name them")
    add_implementation(parser)
    add_bounds(parser)
    options.add_vectors(parser)
    options.add_decisions(parser)
    add("--seed", default="0", help="random seed, that of the run to be repeated (default 0)")
    add("--emit", choices=("stdin",), help="print only the lines that go to the implementation")


def run(args: Namespace) -> int:
    """Runs the vector once. Returns its outcome as exit code."""
    suite = options.suite(args, args.id.partition("/")[0])
    with refuse(VectorNotFound, CaseNotFound):
        chosen = find_cases(suite, args.id)
    with refuse_unavailable():
        show = _show if is_verbose() else partial(_show_briefly, chosen[0].vector.protocol)
        watch = _emit if args.emit else show
        reach = make_reach(args, suite.version, watch, protocols=[chosen[0].vector.protocol])
        replayed = replay_cases(chosen, reach(), args.seed, bounds(args))
    results = [apply_settings(Settings(decisions=args.decisions), result) for result in replayed]
    if not args.emit:
        for case, result in zip(chosen, results, strict=True):
            _print_outcome(case, result, args)
    if all(result.status == "skipped" for result in results):
        return NOTHING
    return int(any(STATUSES[result.status] for result in results))


def _show(direction: str, line: str) -> None:
    print(f"{direction} {line}", flush=True)


def _show_briefly(protocol: str, direction: str, line: str) -> None:
    """Shows a line; of a reply to hello, only what concerns the protocol."""
    _show(direction, shorten_hello(line, protocol) if direction == "<" and '"protocols"' in line else line)


def shorten_hello(line: str, protocol: str) -> str:
    """
    Returns a reply to hello with one protocol; a reply of another form is returned as it is.

    >>> shorten_hello('{"id":0,"protocols":{"raft":{},"swim":{},"wendy":{}}}', "swim")
    '{"id":0,"protocols":{"swim":{},"…":"2 more, shown by -v"}}'
    """
    match _parsed(line):
        case {"id": 0, "protocols": {**protocols}} as hello if protocol in protocols and len(protocols) > 1:
            brief = {protocol: protocols[protocol], "…": f"{len(protocols) - 1} more, shown by -v"}
            return json.dumps({**hello, "protocols": brief}, ensure_ascii=False, separators=(",", ":"))
    return line


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _emit(direction: str, line: str) -> None:
    if direction == ">":
        print(line, flush=True)


def _print_outcome(case: Case, result: Result, args: Namespace) -> None:
    from peerproof.conformance.report.failure_text import diagram, explain

    print()
    if STATUSES[result.status] or result.failure:
        decisions = {"decisions": args.decisions} if args.decisions != "report" else {}
        print(explain(result, case.vector.title, {**arguments_of_replay(args), **decisions}), end="")
        return
    reason = f": {result.reason}" if result.reason else ""
    print(f"{result.status.upper()} {result.id}{reason}")
    if result.branches:
        print(f"  branches taken: {', '.join(result.branches)}")
    if result.story:
        print(diagram(result.story, case.vector.protocol))
