"""Shared parts of `peerproof fuzz` with and without `--bytes`: running a search, and reporting a finding."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from peerproof.cli.command import refuse
from peerproof.cli.console import note, print_error, warn
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.implementation import limits_as_arguments, patience, refuse_unavailable
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.authoring import vector_promotion
from peerproof.conformance.fuzz.bytes.coverage_guided import FuzzerError
from peerproof.conformance.fuzz.corpus import CorpusError
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import NotPromoted
from peerproof.conformance.fuzz.known_findings import KnownFindings, UnreadableFindings, load_known_findings
from peerproof.conformance.fuzz.search_settings import MOST_RESTARTS, CannotFuzz, FuzzVerdict
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.traces.other_readings import Taken

EXIT_CODES: Final = {FuzzVerdict.NOTHING_FOUND: OK, FuzzVerdict.FOUND: FAILED, FuzzVerdict.UNUSABLE: UNUSABLE}


@contextmanager
def searching(ticker: Ticker) -> Iterator[None]:
    """Runs a search; its errors end the command."""
    with refuse(CannotFuzz, FuzzerError, code=UNUSABLE), refuse(CorpusError), refuse_unavailable(), ticker:
        yield


def known_findings(args: Namespace) -> KnownFindings:
    """Loads the list of `--known`. An unreadable list ends the command."""
    if args.known is None:
        return KnownFindings()
    with refuse(UnreadableFindings):
        return load_known_findings(args.known)


def declared_lines(protocol: str, declared: Taken) -> list[str]:
    """Returns the line that says by which readings an implementation is judged, if it declares some."""
    named = ", ".join(f"{one.clause} as {one.name}" for one in (readings_of(protocol)[number] for number in declared))
    return [f"judged by the readings that its hello declares: {named}"] if named else []


def note_readings(protocol: str, hello: Hello, declared: Taken) -> None:
    """Notes by which of the readings that a hello declares the implementation is judged, and by which it cannot be."""
    for line in declared_lines(protocol, declared):
        note(line)
    read = readings_of(protocol)
    opened = [f"{one.clause} as {one.name}" for one in read if not one.is_definite and hello.readings.get(one.clause) == one.name]
    if opened:
        note(
            f"hello declares {', '.join(opened)}: the document leaves this open, so that no behaviour can be expected by it; "
            "what shows it fails nothing, as without the declaration"
        )


def print_ending(args: Namespace, verdict: FuzzVerdict, because: str | None, *, out_of_restarts: bool) -> None:
    """Prints why a search ended early, if it did, and how to go on."""
    if because is None:
        return
    if not out_of_restarts:
        print_error(because)
        return
    more = f"--restarts {10 * args.restarts} goes on for longer"
    if verdict is FuzzVerdict.FOUND:
        warn(f"what was found could be shrunk no further: {because}", tip=more)
        return
    report = print_error if verdict is FuzzVerdict.UNUSABLE else warn
    tip = f"fix the crash, or let the adapter answer with the error panic instead of ending; {more}"
    report(f"the search ended early: {because}", tip=tip)


def print_known(known: KnownFindings, *, is_complete: bool) -> None:
    """Prints how often each known finding occurred; after a complete search with a warning for those that did not."""
    for name, reason in known.reasons.items():
        print(f"  known, {known.seen[name]:,} times: {name}: {reason}")
    if is_complete and (unseen := [name for name in known.reasons if not known.seen[name]]):
        note(f"warning: known, but not found this time: {', '.join(unseen)}; remove from --known what is fixed")


def print_excused(excuses: Excuses) -> None:
    """Prints how often each finding occurred that does not fail the implementation, and what it rests on."""
    for name, times in excuses.seen.most_common():
        verdict, _, why = excuses.said[name].partition(": ")
        print(f"  {verdict}, {times:,} times: {name}: {why}")


def print_declarable(excuses: Excuses, passed_over: str) -> None:
    """Prints which readings a hello can declare to be judged by them; `passed_over` says what changes then."""
    if excuses.declarable:
        print(f'  next:  {passed_over} if your hello declares the reading: "readings": {json.dumps(excuses.declarable)}')


def print_again(args: Namespace, kept: object, name: str, make: Callable[[], Mapping[str, Any]], **changed: object) -> None:
    """Prints the name of a finding, its file, the command that reproduces it, and how to keep it: `make` returns its vector."""
    if args.impl is not None:
        print(f"  name:  {name} (add it with a reason to the file of --known to ignore it)")
    if kept:
        print(f"  kept:  {kept}, which is replayed first from now on")
    chosen = {name: getattr(args, name) for name in ("impl", "profile", "nodes", "seed", "corpus", "known")} | changed
    chosen |= {"decisions": args.decisions} if args.decisions != "report" else {}
    chosen |= {"restarts": args.restarts} if args.restarts != MOST_RESTARTS else {}
    chosen |= limits_as_arguments(args)
    shown = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in chosen.items() if value is not None)
    flags = "".join(f"--{flag} " for flag in ("bytes", "unguided", "strict") if getattr(args, flag))
    print(f"  again: peerproof fuzz {args.protocol} {flags}{shown}", flush=True)
    if args.impl is None or args.promote:
        return
    try:
        make()
    except NotPromoted as why:
        print(f"  next:  no vector can hold it: {why}; {_instead(args)}", flush=True)
    else:
        example = Path("mine", args.protocol, "codec" if args.bytes else "exchange", "found.yaml")
        print(f"  next:  before you fix it, add --promote {example} to keep it as a vector", flush=True)


def _instead(args: Namespace) -> str:
    """Says how to keep a finding that cannot become a vector."""
    return "the corpus keeps it" if args.corpus else "the command above repeats it, and --corpus fuzz-corpus keeps it"


def print_replayed(args: Namespace, what: str, replayed: int, gone: int) -> None:
    """Prints how much of the corpus was replayed."""
    shown = f"; findings that did not occur again: {gone:,}" if gone else ""
    note(f"{what} replayed from {args.corpus}: {replayed:,}{shown}")


def check_place(args: Namespace, layer: str) -> None:
    """Ends the command before the search if `--promote` cannot write a vector of this layer there."""
    with refuse(vector_promotion.BadPlace, prefix="--promote "):
        vector_promotion.check_place(args.promote, args.protocol, layer)


def refuse_promotion(args: Namespace, excuses: Excuses) -> None:
    """Ends the command with an error if `--promote` was given, and there is nothing to write."""
    if args.promote and excuses.seen:
        raise Refusal(
            f"nothing to promote: what was found fails no run, and {args.promote} is not written",
            NOTHING,
            tip="--strict --decisions strict makes it a finding",
        )
    if args.promote:
        raise Refusal(
            f"nothing to promote: there is no finding, and {args.promote} is not written",
            NOTHING,
            tip="a finding can be written as a vector only while the implementation still fails it: promote first, then fix",
        )


def promote(args: Namespace, make: Callable[[], Mapping[str, Any]]) -> None:
    """Writes the vector that `make` returns, and prints the command that runs it."""
    try:
        vector_promotion.promote_finding(args.promote, args.protocol, make, args.impl, patience(args))
    except NotPromoted as why:
        print_error(f"no vector is written: {why}", tip=_instead(args))
    except vector_promotion.NotWritten as error:
        print_error(f"--promote {error}; the vector:\n{error.text}")
    else:
        root = shlex.quote(str(args.promote.parent.parent.parent))
        if args.impl is None:
            print(f"  kept:  {args.promote}, which the specification does not pass")
            print(f"         peerproof vectors lint --vectors {root}")
            return
        print(f"  kept:  {args.promote}, which the implementation fails and the reference passes")
        print(f"         peerproof run --vectors {root} --impl {shlex.quote(args.impl)}")
