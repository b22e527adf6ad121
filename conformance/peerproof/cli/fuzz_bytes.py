"""`peerproof fuzz --bytes`: fuzzes decoders of implementations and of the specification."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from textwrap import shorten
from typing import Any, Final

from peerproof.cli import fuzz_search
from peerproof.cli.console import note
from peerproof.cli.exits import Refusal
from peerproof.cli.fuzz_search import EXIT_CODES, declared_lines, print_again, print_ending, print_replayed, searching
from peerproof.cli.implementation import patience
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.clauses.catalogue import load as clauses_of
from peerproof.conformance.diagrams.labels import MOST_SHOWN, message_text, window_texts
from peerproof.conformance.fuzz.bytes.byte_promotion import vector_of
from peerproof.conformance.fuzz.bytes.byte_search import ByteSearch
from peerproof.conformance.fuzz.bytes.coverage_guided import Status
from peerproof.conformance.fuzz.bytes.flaw_excuses import explain_flaw, flaw_clauses, flaw_rests_on
from peerproof.conformance.fuzz.bytes.flaws import KINDS, Flaw, name_flaw
from peerproof.conformance.fuzz.bytes.seeds import Seeds, read
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import basis_text
from peerproof.conformance.fuzz.search_settings import FuzzSettings, FuzzVerdict

WIDTH: Final = 120
MOST_ERRORS: Final = 20  #: lines of standard error


def run(args: Namespace) -> int:
    """Fuzzes, and reports the findings."""
    is_guided = args.impl is None and not args.unguided
    if is_guided and find_spec("atheris") is None:
        raise Refusal("atheris is not installed", tip="pip install 'peerproof[fuzz-bytes]', or add --unguided")
    if args.promote:
        fuzz_search.check_place(args, "codec")
    ticker = Ticker()
    excuses = Excuses(args.decisions, args.strict)
    search = ByteSearch(
        args.protocol,
        args.impl,
        FuzzSettings(args.profile, args.seed, args.seconds, restarts=args.restarts),
        args.corpus,
        is_guided,
        patience(args),
        fuzz_search.known_findings(args),
        lambda hello: _greet(search, hello),
        lambda status: ticker(_progress(status, guided=is_guided)),
        excuses=excuses,
    )
    try:
        with searching(ticker):
            verdict = search.run()
    except KeyboardInterrupt:
        if search.flaw:
            _report(args, search.seeds, search.flaw, search)
        raise
    print_ending(args, verdict, search.because, out_of_restarts=search.out_of_restarts)
    if verdict is not FuzzVerdict.UNUSABLE and search.replayed:
        print_replayed(args, "inputs", search.replayed, search.gone)
    if search.flaw:
        _report(args, search.seeds, search.flaw, search)
    elif verdict is FuzzVerdict.NOTHING_FOUND:
        status = search.status
        early = ", before the search ended early" if search.because else ""
        print(f"{args.protocol}: nothing found in {status.inputs:,} inputs, from seed {args.seed}{early}")
        fuzz_search.print_known(search.known, is_complete=not search.because)
        fuzz_search.print_excused(excuses)
        fuzz_search.print_declarable(excuses, "such inputs are passed over; they are judged")
        if is_guided:
            print(f"  {status.reached:,} points of the decoder's code reached, by {status.kept:,} inputs that are kept")
        fuzz_search.refuse_promotion(args, excuses)
    return EXIT_CODES[verdict]


def _greet(search: ByteSearch, hello: Hello) -> None:
    note(f"{hello.name} {hello.version}")
    fuzz_search.note_readings(search.protocol, hello, search.seeds.taken)


def _progress(status: Status, *, guided: bool) -> str:
    if guided:
        return f"{status.inputs:,} inputs, {status.reached:,} points of the code reached, {status.kept:,} inputs kept"
    return f"{status.inputs:,} inputs" + (f", {status.kept:,} of them new" if status.kept else "")


def _report(args: Namespace, seeds: Seeds, flaw: Flaw, search: ByteSearch) -> None:
    """Prints the details of a finding, and commands to paste."""
    print("\n".join(_render_flaw(seeds, flaw)))
    for line in declared_lines(seeds.protocol, seeds.taken):
        print(f"  {line}")
    make = partial(vector_of, seeds, flaw)
    print_again(args, search.kept if args.corpus else None, name_flaw(flaw), make)
    if args.promote:
        fuzz_search.promote(args, make)


def _render_flaw(seeds: Seeds, flaw: Flaw) -> Iterator[str]:
    yield f"FOUND {flaw.kind}: {KINDS[flaw.kind]}"
    yield f"  {shorten(flaw.detail, MOST_SHOWN, placeholder=' …')}"
    message = read(seeds, flaw.data)
    items = clauses_of(seeds.protocol).items
    explanations = explain_flaw(seeds, flaw)
    for clause in flaw_clauses(seeds, flaw, explanations):
        yield f"  {items[clause].shortened(WIDTH)}"
    if based := flaw_rests_on(seeds, flaw, explanations):
        yield f"  {basis_text(based, explanations)}"
    yield ""
    yield f"    bytes     {flaw.data.hex() or 'none'}  ({len(flaw.data)})"
    if message is not None:
        yield f"    which is  {_printable(message_text(seeds.codec.plain(message)))}"
    if flaw.expected is not None or flaw.actual is not None:
        expected, actual = window_texts(_render_value(flaw.expected), _render_value(flaw.actual))
        yield f"    expected  {expected}"
        yield f"    actual    {actual}"
    yield ""
    if flaw.errors:
        yield from (f"    | {line}" for line in flaw.errors.splitlines()[-MOST_ERRORS:])
        yield ""


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return shorten(shown, MOST_SHOWN, placeholder=" …")


def _render_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
