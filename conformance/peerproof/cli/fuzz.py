"""
Runs a few nodes over a faulty network, at random, and looks for a run in which something is wrong.

  peerproof fuzz scuttlebutt                                  the specification itself: do its properties hold?
  peerproof fuzz scuttlebutt --impl './my-adapter --flag'     an implementation: does the specification explain what it does?
  peerproof fuzz scuttlebutt --impl py:my.adapter:Adapter --profile ci
  peerproof fuzz scuttlebutt --impl … --seconds 600 --seed 7  as many runs as there is time for
  peerproof fuzz scuttlebutt --impl … --promote new/scuttlebutt/exchange/found.yaml

Messages are lost, repeated, overtaken and cut off, nodes crash and start again, time passes, applications ask for things, and
strangers send what is malformed or forged. After each step every effect must be one that the specification can have, every
query must give what it gives, and every property must hold. What is found is made as small as it gets and shown as a message
graph. The same options find the same.

--promote writes the finding as a vector, after seeing that the implementation fails it and the reference passes it. Its FILE
is PROTOCOL/exchange/NAME.yaml below some folder, which is what --vectors of other commands takes.

Needs Hypothesis: pip install 'peerproof[fuzz]'. Ends with 1 if something is found, with 3 if the adapter cannot be used.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from peerproof.cli import options
from peerproof.cli.implementation import add_implementation, make_reach, positive, tell_unusable
from peerproof.conformance.fuzz.profiles import PROFILES

if TYPE_CHECKING:
    from peerproof.conformance.adapter import Adapter
    from peerproof.conformance.fuzz.findings import Finding
    from peerproof.conformance.fuzz.inputs import Inputs
    from peerproof.conformance.fuzz.machine import Campaign

NOTHING_FOUND, FOUND, UNUSABLE = 0, 1, 3
MOST_NODES = 5
MOST_SEED = 2**63


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("protocol", metavar="PROTOCOL", help="such as scuttlebutt")
    add_implementation(parser, "the specification itself")
    profiles = ", ".join(f"{name}: {profile.runs:,} runs of {profile.steps} steps" for name, profile in PROFILES.items())
    parser.add_argument("--profile", choices=tuple(PROFILES), default="quick", help=f"{profiles} (default: quick)")
    parser.add_argument("--nodes", metavar="N", type=_nodes, default=MOST_NODES, help=f"at most (default: {MOST_NODES})")
    parser.add_argument("--seed", metavar="N", type=_seed, default=0, help="of everything that is drawn by lot (default: 0)")
    parser.add_argument(
        "--seconds", metavar="N", type=positive, help="go on with the next seed, and the next, until the time is over"
    )
    parser.add_argument("--promote", metavar="FILE", type=Path, help="write what is found as a vector; needs --impl")


def run(args: Namespace) -> int:
    """Searches, and tells what is found."""
    if find_spec("hypothesis") is None:
        raise options.refusal("peerproof: fuzz needs Hypothesis: pip install 'peerproof[fuzz]'")
    _keep_out_of_the_way()
    from peerproof.conformance.fuzz.inputs import NoInputs, inputs_of

    try:
        inputs = inputs_of(args.protocol)
    except NoInputs as error:
        raise options.refusal(f"peerproof: {error}") from None
    if args.promote:
        _check_promotion(args)
    if args.impl is None:
        from peerproof.conformance.fuzz.players import Specified

        return _search(args, inputs, _campaign(args, inputs, Specified()), None)
    return _judge(args, inputs)


def _judge(args: Namespace, inputs: Inputs) -> int:
    """Against an implementation."""
    from peerproof.conformance.adapter import Unusable
    from peerproof.conformance.fuzz.judge import Implementation, lacking

    adapter = make_reach(args, "fuzz")()
    try:
        hello = adapter.start()
        if why := lacking(args.protocol, hello):
            print(f"peerproof: {hello.name} cannot be fuzzed: {why}", file=sys.stderr)
            return UNUSABLE
        print(f"peerproof: {hello.name} {hello.version}, which {_chance(oracle=hello.oracle)}", file=sys.stderr)
        campaign = _campaign(args, inputs, Implementation(args.protocol, inputs, adapter, hello))
        offered = hello.protocols[args.protocol].capabilities
        campaign.commands = frozenset(word.removeprefix("api.") for word in offered if word.startswith("api."))
        if "restart" not in offered:
            campaign.faults -= {"crash"}
        return _search(args, inputs, campaign, adapter)
    except Unusable as error:
        return tell_unusable(error)
    finally:
        adapter.kill()


def _chance(*, oracle: bool) -> str:
    return "asks for its choices" if oracle else "draws by itself: any choice of the specification explains it"


def _campaign(args: Namespace, inputs: Inputs, player: object) -> Campaign:
    from peerproof.conformance.fuzz.machine import Campaign

    until = time.monotonic() + args.seconds if args.seconds else None
    return Campaign(inputs, player, nodes=args.nodes, until=until, progress=Ticker(args))  # type: ignore[arg-type]  # a Player


def _search(args: Namespace, inputs: Inputs, campaign: Campaign, adapter: Adapter | None) -> int:
    """Campaign after campaign, until something is found or there is no going on."""
    from peerproof.conformance.fuzz.findings import Over
    from peerproof.conformance.fuzz.telling import happened

    seed, unusable = args.seed, None
    try:
        while True:
            campaign.search(PROFILES[args.profile], seed)
            if campaign.finding or campaign.until is None:
                break
            seed += 1
    except Over as over:
        unusable = over.unusable
        if campaign.finding or unusable:
            print(f"peerproof: {over.because}", file=sys.stderr)
    except KeyboardInterrupt:
        if campaign.finding:
            _tell(args, inputs, campaign, seed)
        raise
    finally:
        if isinstance(campaign.progress, Ticker):
            campaign.progress.clear()
    if campaign.finding:
        _tell(args, inputs, campaign, seed)
        if args.promote and adapter:
            adapter.stop()
            _promote(args, inputs, campaign.finding)
        return FOUND
    if unusable:
        return UNUSABLE
    counts = campaign.counts
    print(f"{args.protocol}: nothing found in {counts['run']:,} runs, {counts['step']:,} steps, from seed {args.seed}")
    print("\n".join(happened(inputs.spec, counts)))
    return NOTHING_FOUND


def _tell(args: Namespace, inputs: Inputs, campaign: Campaign, seed: int) -> None:
    from peerproof.conformance.fuzz.telling import told

    assert campaign.finding is not None, "somebody has looked"
    print(told(inputs.spec, campaign.finding))
    print(f"\n  found in run {campaign.counts['run']}")
    chosen = {"impl": args.impl, "profile": args.profile, "nodes": args.nodes, "seed": seed}
    shown = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in chosen.items() if value is not None)
    print(f"  again: peerproof fuzz {args.protocol} {shown}", flush=True)


def _check_promotion(args: Namespace) -> None:
    """Raises SystemExit if there can be no vector, before anything is run."""
    path: Path = args.promote
    if args.impl is None:
        raise options.refusal("peerproof: --promote needs --impl: a vector judges an implementation")
    if path.parts[-3:-1] != (args.protocol, "exchange") or path.suffix != ".yaml":
        example = Path("new", args.protocol, "exchange", "found.yaml")
        raise options.refusal(f"peerproof: --promote {path}: expected …/{args.protocol}/exchange/NAME.yaml, such as {example}")
    if path.exists():
        raise options.refusal(f"peerproof: --promote {path} is there already; name a new file")


def _promote(args: Namespace, inputs: Inputs, finding: Finding) -> None:
    """Writes the vector, if it is one: who should fails it, and who should passes it."""
    from peerproof.conformance.fuzz.promotion import NotPromoted, vector_of
    from peerproof.conformance.vector_text import document

    path: Path = args.promote
    try:
        text = document(args.protocol, "What the fuzzer has found.", [vector_of(inputs, finding)])
        with tempfile.TemporaryDirectory() as folder:
            _try(args, Path(folder), text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except NotPromoted as why:
        print(f"peerproof: no vector is written: {why}", file=sys.stderr)
    except OSError as error:
        print(f"peerproof: --promote {path}: {error.strerror}; the vector:\n{text}", file=sys.stderr)
    else:
        root = shlex.quote(str(path.parent.parent.parent))
        print(f"  kept:  {path}, which it fails and the reference passes")
        print(f"         peerproof run --vectors {root} --impl {shlex.quote(args.impl)}")


def _try(args: Namespace, root: Path, text: str) -> None:
    """Raises NotPromoted if it is no vector that tells right from wrong."""
    from peerproof.conformance import lint
    from peerproof.conformance.adapter import Unusable
    from peerproof.conformance.behaviour import objections
    from peerproof.conformance.fuzz.promotion import NotPromoted
    from peerproof.conformance.vectors import load

    file = root / args.protocol / "exchange" / args.promote.name
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    readable, errors = lint.read(root)
    if wrong := [str(error) for error in (*errors, *lint.findings(readable))]:
        raise NotPromoted(f"lint has something against it: {'; '.join(wrong)}\n{text}")
    suite = load(root)
    reference = Namespace(**{**vars(args), "impl": None})
    try:
        for objection in objections(suite, make_reach(reference, suite.version)).values():
            raise NotPromoted(f"the reference does not pass it: {objection}\n{text}")
        if not objections(suite, make_reach(args, suite.version), ["0"]):
            raise NotPromoted(f"the implementation passes it: what it does depends on more than the vector can say\n{text}")
    except Unusable as error:
        raise NotPromoted(f"it could not be tried: {error}") from None


def _keep_out_of_the_way() -> None:
    """Hypothesis keeps things it has computed in a folder; not in the one that somebody happens to be in."""
    from peerproof.conformance.compiled import folder

    place = folder()
    path = place.with_name("hypothesis") if place else Path(tempfile.gettempdir(), "peerproof-hypothesis")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(path))


class Ticker:
    """A line on a terminal that is overwritten as the runs go on; elsewhere nothing."""

    def __init__(self, args: Namespace) -> None:
        self._of = "" if args.seconds else f" of {PROFILES[args.profile].runs:,}"
        self._next = 0.0
        self._shown = sys.stderr.isatty()

    def __call__(self, counts: Counter[str]) -> None:
        """So many runs and steps so far."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.2
            print(f"\r\x1b[2Krun {counts['run']:,}{self._of}, {counts['step']:,} steps", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Makes room for a line that stays."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _nodes(text: str) -> int:
    number = positive(text)
    if number > MOST_NODES:
        raise ArgumentTypeError(f"expected a number from 1 to {MOST_NODES}, found {text!r}")
    return number


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= MOST_SEED:
        raise ArgumentTypeError(f"expected a whole number below 2^63, found {text!r}")
    return int(text)
