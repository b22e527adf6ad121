"""`peerproof fuzz` without `--bytes`: fuzzes nodes with Hypothesis."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from functools import partial

from peerproof.cli import fuzz_search
from peerproof.cli.command import refuse
from peerproof.cli.console import note
from peerproof.cli.exits import Refusal
from peerproof.cli.fuzz_search import EXIT_CODES, declared_lines, print_again, print_ending, print_replayed, searching
from peerproof.cli.implementation import patience
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import render_counts, render_finding
from peerproof.conformance.fuzz.known_findings import name_finding
from peerproof.conformance.fuzz.node_search import NodeSearch
from peerproof.conformance.fuzz.promotion import vector_of
from peerproof.conformance.fuzz.search_settings import PROFILES, FuzzSettings, FuzzVerdict, NoInputs
from peerproof.conformance.traces.other_readings import specification_by


def run(args: Namespace) -> int:
    """Fuzzes, and reports the findings."""
    settings = FuzzSettings(args.profile, args.seed, args.seconds, args.nodes, args.restarts)
    with refuse(NoInputs):
        search = NodeSearch(args.protocol, args.impl, settings, args.corpus, patience(args), fuzz_search.known_findings(args))
    search.excuses = Excuses(args.decisions, args.strict)
    if args.promote:
        if args.impl is None:
            raise Refusal("--promote needs --impl", tip="a vector is written after an implementation has failed it")
        fuzz_search.check_place(args, "exchange")
    ticker = Ticker()
    runs = None if args.seconds else PROFILES[args.profile].runs
    search.on_hello = partial(_greet, search)
    replayed = 0

    def show_progress(counts: Counter[str]) -> None:
        ticker(f"{counts['step']:,} steps", counts["run"] - replayed, runs, "runs")

    def show_replayed(count: int, gone: int) -> None:
        nonlocal replayed
        replayed = count
        print_replayed(args, "runs", count, gone)

    search.on_progress, search.on_replayed = show_progress, show_replayed
    try:
        with searching(ticker):
            verdict = search.run()
    except KeyboardInterrupt:
        if search.finding:
            _report(args, search)
        raise
    print_ending(args, verdict, search.because, out_of_restarts=search.out_of_restarts)
    if search.finding:
        _report(args, search)
        if args.promote:
            fuzz_search.promote(args, partial(vector_of, search.inputs, search.finding))
        if args.explore:
            _explore(search)
    elif verdict is FuzzVerdict.NOTHING_FOUND:
        where = f"and kept in {args.corpus}" if args.corpus else f"from seed {args.seed}"
        early = ", before the search ended early" if search.because else ""
        print(f"{args.protocol}: nothing found in {search.counts['run']:,} runs, {search.counts['step']:,} steps, {where}{early}")
        print("\n".join(render_counts(search.inputs.spec, search.counts, search.unsupported)))
        fuzz_search.print_known(search.known, is_complete=not search.because)
        fuzz_search.print_excused(search.excuses)
        fuzz_search.print_declarable(search.excuses, "runs end there; they go on")
        fuzz_search.refuse_promotion(args, search.excuses)
    return EXIT_CODES[verdict]


def _explore(search: NodeSearch) -> None:
    """Shows the finding in the browser until Ctrl-C."""
    from peerproof.cli.page import open_page
    from peerproof.conformance.explorer.finding_run import run_finding

    assert search.finding is not None, "the caller has checked this"
    make = partial(run_finding, specification_by(search.protocol, search.declared), search.finding)
    open_page("#run/0/", runs={search.finding.detail: make})


def _greet(search: NodeSearch, hello: Hello) -> None:
    asks, chooses = "asks the runner to choose", "chooses by itself: any choice that the specification allows is accepted"
    chance = asks if hello.is_oracle(search.protocol) else chooses
    note(f"{hello.name} {hello.version}, which {chance}")
    fuzz_search.note_readings(search.protocol, hello, search.declared)


def _report(args: Namespace, search: NodeSearch) -> None:
    assert search.finding is not None, "the caller has checked this"
    print(render_finding(search.inputs.spec, search.finding))
    for line in declared_lines(search.protocol, search.declared):
        print(f"\n  {line}")
    print(f"\n  found in run {search.counts['run']}")
    make = partial(vector_of, search.inputs, search.finding)
    print_again(args, search.kept, name_finding(search.inputs.spec, search.finding), make, seed=search.seed)
