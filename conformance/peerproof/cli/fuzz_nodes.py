"""`peerproof fuzz` without `--bytes`: nodes, driven by Hypothesis."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from functools import partial

from peerproof.cli import fuzz_promotion, options
from peerproof.cli.implementation import patience, report_unavailable
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.fuzz.corpus import CorpusError
from peerproof.conformance.fuzz.findings import render_counts, render_finding
from peerproof.conformance.fuzz.inputs.inputs import NoInputs
from peerproof.conformance.fuzz.node_search import NodeSearch
from peerproof.conformance.fuzz.promotion import vector_of
from peerproof.conformance.fuzz.search_settings import PROFILES, CannotFuzz, FuzzSettings, FuzzVerdict

NOTHING_FOUND, FOUND, UNUSABLE = 0, 1, 3
EXIT_CODES = {FuzzVerdict.NOTHING_FOUND: NOTHING_FOUND, FuzzVerdict.FOUND: FOUND, FuzzVerdict.UNUSABLE: UNUSABLE}


def run(args: Namespace) -> int:
    """Searches, and reports what is found."""
    settings = FuzzSettings(args.profile, args.seed, args.seconds, args.nodes)
    try:
        search = NodeSearch(args.protocol, args.impl, settings, args.corpus, patience(args))
    except NoInputs as error:
        raise options.refusal(f"peerproof: {error}") from None
    if args.promote:
        if args.impl is None:
            raise options.refusal("peerproof: --promote needs --impl: a vector judges an implementation")
        fuzz_promotion.check_place(args, "exchange")
    ticker = Ticker()
    of = "" if args.seconds else f" of {PROFILES[args.profile].runs:,}"
    search.on_hello = _greet
    search.on_progress = lambda counts: ticker(f"run {counts['run']:,}{of}, {counts['step']:,} steps")
    search.on_replayed = partial(_report_replayed, args)
    try:
        verdict = search.run()
    except AdapterUnavailable as error:
        return report_unavailable(error)
    except CannotFuzz as error:
        print(f"peerproof: {error}", file=sys.stderr)
        return UNUSABLE
    except CorpusError as error:
        raise options.refusal(f"peerproof: {error}") from None
    except KeyboardInterrupt:
        if search.finding:
            _report(args, search)
        raise
    finally:
        ticker.clear()
    if search.because:
        print(f"peerproof: {search.because}", file=sys.stderr)
    if search.finding:
        _report(args, search)
        if args.promote:
            fuzz_promotion.promote(args, partial(vector_of, search.inputs, search.finding))
    elif verdict is FuzzVerdict.NOTHING_FOUND:
        where = f"and kept in {args.corpus}" if args.corpus else f"from seed {args.seed}"
        print(f"{args.protocol}: nothing found in {search.counts['run']:,} runs, {search.counts['step']:,} steps, {where}")
        print("\n".join(render_counts(search.inputs.spec, search.counts)))
    return EXIT_CODES[verdict]


def _greet(hello: Hello) -> None:
    chance = "asks for its choices" if hello.oracle else "draws by itself: any choice of the specification explains it"
    print(f"peerproof: {hello.name} {hello.version}, which {chance}", file=sys.stderr)


def _report_replayed(args: Namespace, replayed: int, gone: int) -> None:
    shown = f"; findings that did not show again: {gone:,}" if gone else ""
    print(f"peerproof: runs replayed from {args.corpus}: {replayed:,}{shown}", file=sys.stderr)


def _report(args: Namespace, search: NodeSearch) -> None:
    assert search.finding is not None, "the caller has looked"
    print(render_finding(search.inputs.spec, search.finding))
    print(f"\n  found in run {search.counts['run']}")
    if search.kept:
        print(f"  kept:  {search.kept}, which is replayed first from now on")
    chosen = {"impl": args.impl, "profile": args.profile, "nodes": args.nodes, "seed": search.seed, "corpus": args.corpus}
    shown = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in chosen.items() if value is not None)
    print(f"  again: peerproof fuzz {args.protocol} {shown}", flush=True)
