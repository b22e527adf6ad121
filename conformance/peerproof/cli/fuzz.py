"""
Runs a few nodes over a faulty network, at random, and searches for a run with a fault.

  peerproof fuzz scuttlebutt                                  the specification itself, against its properties
  peerproof fuzz scuttlebutt --impl './my-adapter --flag'     an implementation, against the specification
  peerproof fuzz scuttlebutt --impl py:my.adapter:Adapter --profile ci
  peerproof fuzz scuttlebutt --impl ./my-adapter --seconds 600 --seed 7                as many runs as there is time for
  peerproof fuzz scuttlebutt --impl ./my-adapter --minutes 20 --corpus fuzz-corpus     go on where the last campaign ended
  peerproof fuzz scuttlebutt --impl ./my-adapter --promote mine/scuttlebutt/exchange/found.yaml
  peerproof fuzz scuttlebutt --bytes --impl ./my-adapter      its decoder alone, with damaged messages
  peerproof fuzz scuttlebutt --bytes                          the specification's own decoder, guided by code coverage
  peerproof fuzz scuttlebutt --bytes --unguided --minutes 5   the same with many more inputs, at random

Messages are lost, repeated, reordered and cut off; nodes crash and restart; time passes; applications make calls; and
unknown peers send malformed and forged messages. After each step every effect must be one that the specification allows, every
query must answer as the specification does, and every property must hold. A finding is shrunk and shown as a message graph. The
same options give the same finding.

With --bytes there are no nodes. An implementation must decode and reject the same bytes as the specification, and encode alike.
The specification's decoder must decode or reject every input, encode the result so that it decodes to the same message, and
take time and memory in proportion to the length.

--corpus stores findings and inputs that reached new states. The next campaign with the same folder replays those first and
continues where this one ended, even if it was killed; the same options may then find something else.

--known lists findings that are disputed or not fixed yet: each report ends with the name of its finding; put it into the list
with a reason. A run or an input with a known finding is counted, and the search continues. It also continues past
what peerproof run would not fail: a finding that only a decision forbids, not the document, differs, and one about a
recommendation is tolerated, unless --decisions strict or --strict is given. At the end stands which it was, and how often.

An implementation that ends or hangs is started again, up to --restarts times; then the search ends early, and says so. An
adapter that answers with the error panic instead of ending costs none of them.

--explore shows the finding in the browser, as peerproof vectors explore shows a vector, until Ctrl-C.

--promote writes the finding as a vector, after checking that the implementation fails it and the reference passes it; so use it
before the bug is fixed. Its FILE is PROTOCOL/exchange/NAME.yaml below some folder, which other commands take as --vectors; with
--bytes, PROTOCOL/codec/NAME.yaml.

Needs Hypothesis: pip install 'peerproof[fuzz]'. With --bytes, that is not needed; without --impl and --unguided, atheris is:
pip install 'peerproof[fuzz-bytes]'.
"""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from peerproof.cli.command import count
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.implementation import add_implementation, patience, refuse_unavailable
from peerproof.cli.options import add_decisions, add_protocol, add_strict, check_protocol
from peerproof.conformance.clauses.catalogue import protocols
from peerproof.conformance.fuzz.search_settings import HANG, MOST_RESTARTS, PROFILES

MOST_NODES = 5
MOST_SEED = 2**63


EXITS: Final = {
    OK: "nothing found",
    FAILED: "something found",
    UNUSABLE: "the adapter cannot be used",
    NOTHING: "nothing found to promote",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add_protocol(parser, "protocol to fuzz; if left out, all that --impl offers, one after the other")
    add_implementation(parser, "the specification itself")
    profiles = ", ".join(f"{name}: {profile.runs:,} runs of {profile.steps} steps" for name, profile in PROFILES.items())
    add("--profile", choices=tuple(PROFILES), default="quick", help=f"{profiles} (default: quick)")
    add("--nodes", metavar="N", type=_nodes, help=f"at most N nodes (default {MOST_NODES})")
    add("--seed", metavar="N", type=_seed, default=0, help="random seed (default 0)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", metavar="N", type=count, help="go on with the next seeds until the time is over")
    limit.add_argument("--minutes", metavar="N", type=count, help="the same, in minutes")
    restarts = f"start the implementation again after at most N crashes; a hang counts as {HANG} (default {MOST_RESTARTS})"
    add("--restarts", metavar="N", type=count, default=MOST_RESTARTS, help=restarts)
    add("--corpus", metavar="DIR", type=Path, help="store findings and new inputs; go on where the last campaign ended")
    add("--bytes", action="store_true", help="fuzz the decoder alone, with damaged messages")
    add("--unguided", action="store_true", help="with --bytes and without --impl: many more inputs, at random")
    add("--known", metavar="FILE", type=Path, help="known findings, one a line (name and reason), which do not end the search")
    add_strict(parser)
    add_decisions(parser)
    add("--explore", action="store_true", help="show the finding in the browser: each event, and what the faulty node knew")
    add("--promote", metavar="FILE", type=Path, help="write the finding as a vector; needs --impl or --bytes")


def run(args: Namespace) -> int:
    """Fuzzes each selected protocol, and reports the findings."""
    known = protocols()
    check_protocol(args.protocol, known)
    if args.protocol:
        return _search(args)
    if args.promote:
        raise Refusal("--promote needs a protocol", tip="peerproof fuzz PROTOCOL --promote FILE")
    return max([_search(Namespace(**(vars(args) | {"protocol": protocol}))) for protocol in _offered(args, known)])


def _offered(args: Namespace, known: list[str]) -> list[str]:
    """Returns the protocols that the implementation offers; all, if it offers none of them, or is the specification."""
    if args.impl is None:
        return known
    from peerproof.conformance.adapter.implementation import create_adapter

    with refuse_unavailable():
        adapter = create_adapter(args.impl, "fuzz", patience(args))
        try:
            offered = adapter.start().protocols
        finally:
            adapter.kill()
    return [protocol for protocol in known if protocol in offered] or known


def _search(args: Namespace) -> int:
    args.seconds = args.seconds or (args.minutes and 60 * args.minutes)
    if args.known and args.impl is None:
        raise Refusal(
            "--known is for an implementation: a finding in the specification must be fixed", tip="name one with --impl"
        )
    if args.unguided and (not args.bytes or args.impl is not None):
        raise Refusal("--unguided is for the specification's own decoder", tip="use it with --bytes and without --impl")
    if args.bytes:
        if args.nodes is not None or args.explore:
            raise Refusal(f"{'--explore' if args.explore else '--nodes'} cannot be combined with --bytes")
        from peerproof.cli.fuzz_bytes import run as search

        return search(args)
    if find_spec("hypothesis") is None:
        raise Refusal("Hypothesis is not installed", tip="pip install 'peerproof[fuzz]'")
    args.nodes = args.nodes or MOST_NODES
    _keep_out_of_the_way()
    from peerproof.cli.fuzz_nodes import run as search

    return search(args)


def _keep_out_of_the_way() -> None:
    """Keeps Hypothesis from writing its cache to the working directory."""
    from peerproof.conformance.vectors.compiled import folder

    place = folder()
    path = place.with_name("hypothesis") if place else Path(tempfile.gettempdir(), "peerproof-hypothesis")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(path))


def _nodes(text: str) -> int:
    number = count(text)
    if number > MOST_NODES:
        raise ArgumentTypeError(f"expected a number from 1 to {MOST_NODES}, found {text!r}")
    return number


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= MOST_SEED:
        raise ArgumentTypeError(f"expected a whole number below 2^63, found {text!r}")
    return int(text)
