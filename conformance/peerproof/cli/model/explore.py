"""
Explores a protocol in the browser: what each node knows, what is under way, and what may happen next.

  peerproof model explore                          choose protocol and model on the page
  peerproof model explore swim --model small-a     begin there
  peerproof model explore scuttlebutt --model BX-03-two-values
  peerproof model explore counterexamples.json     what refutes a proof, as peerproof model prove --save writes it
  peerproof model explore swim --model small-suspicion --impl './my-adapter'      your implementation plays a node
  peerproof model explore swim --model small-suspicion --output swim.html         one file that needs no server

One click delivers, loses or doubles a message, runs a timer out, gives a command, or restarts a node; where chance decides, every
outcome can be chosen. The path is in the address of the page, so that it can be sent to a colleague who runs this command too.
The page also finds the shortest way to an answer, a violation, or a state that you describe, and saves a path as a vector.

With --impl, the implementation plays one node of the path, and each of its steps is compared with the specification. It is run
anew at every click, at the times at which its timers run out by the clock. A node that does not begin as a new one needs `load`.

A counterexample of a proof is a run of one step: the state of a node before, the event or the call, the state after, and the
claim that is false. Of the rest of the cluster it shows only what the claim speaks of.

A file for --output holds the whole state graph, up to some 10,000 states.

The page is served on this machine only, at an address with a random token, until Ctrl-C.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Final

from peerproof.cli.command import refuse
from peerproof.cli.exits import Refusal
from peerproof.cli.implementation import add_implementation, make_reach, refuse_unavailable
from peerproof.cli.options import add_protocol, check_protocol
from peerproof.cli.page import PAGE_EXITS, add_page, open_page, write_page
from peerproof.cli.parser import did_you_mean
from peerproof.spec.protocols import PROTOCOLS

EXITS: Final = PAGE_EXITS


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add_protocol(parser, "protocol to begin with, or a file with counterexamples of proofs")
    parser.add_argument("--model", metavar="NAME", help="model or configuration to begin with (model check --list lists them)")
    add_implementation(parser, "none")
    add_page(parser)


def run(args: Namespace) -> int:
    """Serves the page until Ctrl-C, or writes it."""
    from peerproof.conformance.explorer.walk import explorable

    if args.protocol and Path(args.protocol).is_file():
        return _explore_file(args, Path(args.protocol))
    begin = ""
    if args.protocol:
        check_protocol(args.protocol, sorted(PROTOCOLS))
        known = explorable(args.protocol)
        args.model = args.model or ("small-a" if "small-a" in known else next(iter(known)))
        if args.model not in known:
            raise _no_model(args.protocol, args.model, known)
        begin = f"#{args.protocol}/{args.model}/"
    elif args.model:
        raise Refusal("--model needs a protocol", tip=f"peerproof model explore PROTOCOL --model {args.model}")
    if args.output:
        return _write(args)
    if not args.impl:
        return open_page(begin, listen=args.listen, no_browser=args.no_browser)
    reach = make_reach(args, "explorer")
    with refuse_unavailable():
        adapter = reach()
        adapter.start()
        adapter.stop()
    return open_page(begin, listen=args.listen, no_browser=args.no_browser, implementation=args.impl, reach=reach)


def _no_model(protocol: str, name: str, known: Collection[str]) -> Refusal:
    """Returns the error for a model that does not exist, or that cannot be explored."""
    from peerproof.conformance.explorer.walk import obstacle_of
    from peerproof.tla.manifest import models

    those = f"there are {', '.join(known)}"
    for model in models(protocol):
        if model.name == name:
            return Refusal(f"the model {name} cannot be explored: {obstacle_of(model)}", tip=those)
    return Refusal(f"unknown model {name!r}", tip=did_you_mean(name, known) or those)


def _explore_file(args: Namespace, path: Path) -> int:
    """Shows the counterexamples of a file."""
    from peerproof.conformance.explorer.proof_run import read_runs
    from peerproof.conformance.proofs.counterexample import BadFile

    if args.model or args.impl:
        raise Refusal(f"{path} is a file with counterexamples: it takes neither --model nor --impl")
    with refuse(BadFile, prefix=f"{path}: "):
        runs = read_runs(path)
    if args.output:
        return write_page(args.output, {"runs": [run.whole() for run in runs]}, path.name)
    named = {run.title: partial(lambda one: one, run) for run in runs}
    return open_page("#run/0/", listen=args.listen, no_browser=args.no_browser, runs=named)


def _write(args: Namespace) -> int:
    """Writes the page of one model."""
    from peerproof.cli.ticker import Ticker
    from peerproof.conformance.explorer.walk import TooMany, Walk

    if not args.protocol or args.impl:
        raise Refusal(
            "--output needs a protocol, and no --impl", tip="peerproof model explore PROTOCOL --model NAME --output FILE"
        )
    with refuse(TooMany, prefix=f"{args.model} is too large for a file: "), Ticker() as ticker:
        data = Walk(args.protocol, args.model).whole(progress=lambda count: ticker("", count, None, "states"))
    return write_page(args.output, {"model": data}, f"{args.protocol} {args.model}")
