"""`peerproof fuzz` without `--bytes`: nodes, driven by Hypothesis."""

from __future__ import annotations

import shlex
import sys
import time
from argparse import Namespace
from functools import partial

from peerproof.cli import fuzz_promotion, options
from peerproof.cli.implementation import make_reach, tell_unusable
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter import Adapter, Unusable
from peerproof.conformance.fuzz.corpus import Corpus, CorpusError
from peerproof.conformance.fuzz.findings import Over
from peerproof.conformance.fuzz.inputs import Inputs, NoInputs, inputs_of
from peerproof.conformance.fuzz.judge import Implementation, lacking
from peerproof.conformance.fuzz.kept_runs import Keeper
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Player, Specified
from peerproof.conformance.fuzz.profiles import PROFILES
from peerproof.conformance.fuzz.promotion import vector_of
from peerproof.conformance.fuzz.resuming import Resuming
from peerproof.conformance.fuzz.telling import happened, told

NOTHING_FOUND, FOUND, UNUSABLE = 0, 1, 3


def run(args: Namespace) -> int:
    """Searches, and tells what is found."""
    try:
        inputs = inputs_of(args.protocol)
    except NoInputs as error:
        raise options.refusal(f"peerproof: {error}") from None
    if args.promote:
        if args.impl is None:
            raise options.refusal("peerproof: --promote needs --impl: a vector judges an implementation")
        fuzz_promotion.check_place(args, "exchange")
    if args.impl is None:
        return _search(args, inputs, _campaign(args, inputs, Specified()), None)
    return _judge(args, inputs)


def _judge(args: Namespace, inputs: Inputs) -> int:
    """Against an implementation."""
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


def _campaign(args: Namespace, inputs: Inputs, player: Player) -> Campaign:
    until = time.monotonic() + args.seconds if args.seconds else None
    return Campaign(inputs, player, nodes=args.nodes, until=until)


def _search(args: Namespace, inputs: Inputs, campaign: Campaign, adapter: Adapter | None) -> int:
    """Campaign after campaign, until something is found or there is no going on."""
    ticker = Ticker()
    of = "" if args.seconds else f" of {PROFILES[args.profile].runs:,}"
    campaign.progress = lambda counts: ticker(f"run {counts['run']:,}{of}, {counts['step']:,} steps")
    try:
        searching = _Kept(args, inputs, campaign) if args.corpus else _Drawn(args, campaign)
    except CorpusError as error:
        raise options.refusal(f"peerproof: {error}") from None
    unusable = None
    try:
        searching.search()
    except Over as over:
        unusable = over.unusable
        if campaign.finding or unusable:
            print(f"peerproof: {over.because}", file=sys.stderr)
    except KeyboardInterrupt:
        if campaign.finding:
            _tell(args, inputs, campaign, searching)
        raise
    except CorpusError as error:
        print(f"peerproof: {error}", file=sys.stderr)
        if not campaign.finding:
            return options.USAGE
    finally:
        ticker.clear()
    if campaign.finding:
        _tell(args, inputs, campaign, searching)
        if args.promote and adapter:
            adapter.stop()
            fuzz_promotion.promote(args, partial(vector_of, inputs, campaign.finding))
        return FOUND
    if unusable:
        return UNUSABLE
    counts = campaign.counts
    print(f"{args.protocol}: nothing found in {counts['run']:,} runs, {counts['step']:,} steps, {searching.where}")
    print("\n".join(happened(inputs.spec, counts)))
    return NOTHING_FOUND


class _Drawn:
    """Runs drawn from the seed, and with a limit of time from the next ones."""

    def __init__(self, args: Namespace, campaign: Campaign) -> None:
        self._args = args
        self._campaign = campaign
        self._seed = args.seed
        self.where = f"from seed {args.seed}"

    def search(self) -> None:
        """Until something is found, or there is no going on. Raises Over."""
        while True:
            self._campaign.search(PROFILES[self._args.profile], self._seed)
            if self._campaign.finding or self._campaign.until is None:
                return
            self._seed += 1

    def again(self) -> str:
        """How it is found again."""
        return f"{_options(self._args)} --seed {self._seed}"


class _Kept:
    """What was kept, and then what follows on the last campaign's runs."""

    def __init__(self, args: Namespace, inputs: Inputs, campaign: Campaign) -> None:
        """Raises CorpusError."""
        self._args = args
        self._keeper = campaign.keeper = Keeper(Corpus(args.corpus, args.protocol), inputs)
        whom = "the specification" if args.impl is None else args.impl
        name = f"{whom} --profile {args.profile} --nodes {args.nodes} --seed {args.seed}"
        self._resuming = Resuming(campaign, self._keeper, name, args.seed)
        self.where = f"and kept in {args.corpus}"

    def search(self) -> None:
        """Until something is found, or there is no going on. Raises CorpusError, Over."""
        resuming = self._resuming
        seen = resuming.replay()
        if resuming.replayed:
            gone = f"; findings that did not show again: {resuming.gone:,}" if resuming.gone else ""
            print(f"peerproof: runs replayed from {self._args.corpus}: {resuming.replayed:,}{gone}", file=sys.stderr)
        if seen is None:
            resuming.search(PROFILES[self._args.profile])

    def again(self) -> str:
        """How it is found again."""
        return f"{_options(self._args)} --seed {self._args.seed} --corpus {shlex.quote(str(self._args.corpus))}"


def _options(args: Namespace) -> str:
    chosen = {"impl": args.impl, "profile": args.profile, "nodes": args.nodes}
    return " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in chosen.items() if value is not None)


def _tell(args: Namespace, inputs: Inputs, campaign: Campaign, searching: _Drawn | _Kept) -> None:
    assert campaign.finding is not None, "somebody has looked"
    print(told(inputs.spec, campaign.finding))
    print(f"\n  found in run {campaign.counts['run']}")
    if campaign.keeper and campaign.keeper.found:
        print(f"  kept:  {campaign.keeper.found}, which is replayed first from now on")
    print(f"  again: peerproof fuzz {args.protocol} {searching.again()}", flush=True)
