"""`peerproof fuzz --bytes`: decoders, those of implementations and the specification's own."""

from __future__ import annotations

import json
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any, Final

from peerproof.cli import fuzz_promotion, options
from peerproof.cli.implementation import make_reach, tell_unusable
from peerproof.cli.ticker import Ticker
from peerproof.conformance.adapter import Adapter, Unusable
from peerproof.conformance.clauses import load as clauses_of
from peerproof.conformance.clauses import protocols
from peerproof.conformance.fuzz.corpus import Corpus, CorpusError
from peerproof.conformance.fuzz.findings import Over
from peerproof.conformance.fuzz.octets.coverage_guided import Guided, Status, Unguided
from peerproof.conformance.fuzz.octets.flaws import KINDS, Flaw
from peerproof.conformance.fuzz.octets.foreign import Decoder, Search
from peerproof.conformance.fuzz.octets.promotion import vector_of
from peerproof.conformance.fuzz.octets.seeds import LONGEST, Seeds, read, seeds_of
from peerproof.conformance.fuzz.profiles import INPUTS
from peerproof.conformance.message_graph import shortened
from peerproof.conformance.protocol import Hello
from peerproof.conformance.vectors import load

NOTHING_FOUND, FOUND, UNUSABLE = 0, 1, 3

WIDTH: Final = 120
MOST_SHOWN: Final = 400  #: characters of a value
MOST_ERRORS: Final = 20  #: lines


def run(args: Namespace) -> int:
    """Searches, and tells what is found."""
    if args.protocol not in protocols():
        raise options.refusal(f"peerproof: no protocol {args.protocol!r} can be fuzzed; there are {', '.join(protocols())}")
    if args.impl is None and find_spec("atheris") is None:
        raise options.refusal("peerproof: fuzz --bytes without --impl needs atheris: pip install 'peerproof[fuzz-bytes]'")
    if args.promote:
        fuzz_promotion.check_place(args, "codec")
    seeds = seeds_of(load(), args.protocol)
    try:
        if args.impl is not None:
            return _judge(args, seeds, Corpus(args.corpus, args.protocol) if args.corpus else None)
        with TemporaryDirectory() as folder:
            return _guided(args, seeds, Corpus(args.corpus or Path(folder), args.protocol))
    except CorpusError as error:
        raise options.refusal(f"peerproof: {error}") from None


def _guided(args: Namespace, seeds: Seeds, corpus: Corpus) -> int:
    """The specification's own decoder."""
    ticker = Ticker()

    def show(status: Status) -> None:
        ticker(f"{status.inputs:,} inputs, {status.reached:,} points of the code reached, {status.kept:,} inputs kept")

    search = Guided(seeds, corpus, f"peerproof.spec.{args.protocol}:MESSAGE", show)
    try:
        flaw = search.search(args.seed, INPUTS[args.profile], args.seconds)
    except Unguided as error:
        print(f"peerproof: {error}", file=sys.stderr)
        return UNUSABLE
    finally:
        ticker.clear()
    _tell_replayed(args, search)
    if flaw:
        _tell(args, seeds, flaw, search.found)
        return FOUND
    status = search.status
    print(f"{args.protocol}: nothing found in {status.inputs:,} inputs, from seed {args.seed}")
    print(f"  {status.reached:,} points of the decoder's code reached, by {status.kept:,} inputs that are kept")
    return NOTHING_FOUND


def _judge(args: Namespace, seeds: Seeds, corpus: Corpus | None) -> int:
    """An implementation's decoder."""
    adapter = make_reach(args, "fuzz")()
    try:
        hello = adapter.start()
        if why := _lacking(args.protocol, hello):
            print(f"peerproof: {hello.name} cannot be fuzzed: {why}", file=sys.stderr)
            return UNUSABLE
        print(f"peerproof: {hello.name} {hello.version}", file=sys.stderr)
        limit = hello.protocols[args.protocol].limits.get("max_payload")
        decoder = Decoder(adapter, seeds, min(LONGEST, limit) if type(limit) is int and limit > 0 else LONGEST)
        until = time.monotonic() + args.seconds if args.seconds else None
        return _search(args, Search(seeds, decoder, corpus, until), adapter)
    except Unusable as error:
        return tell_unusable(error)
    finally:
        adapter.kill()


def _lacking(protocol: str, hello: Hello) -> str:
    """Why there is no decoder; nothing if there is one."""
    if protocol not in hello.protocols:
        return f"it does not offer {protocol}, but {', '.join(hello.protocols) or 'nothing'}"
    return "" if "codec" in hello.protocols[protocol].capabilities else "it does not offer codec"


def _search(args: Namespace, search: Search, adapter: Adapter) -> int:
    ticker, unusable = Ticker(), None
    search.progress = lambda inputs, known: ticker(f"{inputs:,} inputs, {known:,} of them begin something new")
    try:
        search.search(f"{args.impl} --bytes --seed {args.seed}", args.seed, INPUTS[args.profile])
    except Over as over:
        unusable = over.unusable
        print(f"peerproof: {over.because}", file=sys.stderr)
        if search.flaw is None:
            return UNUSABLE
    except KeyboardInterrupt:
        if search.flaw:
            _tell(args, search.seeds, search.flaw, search.found)
        raise
    finally:
        ticker.clear()
    _tell_replayed(args, search)
    if search.flaw:
        adapter.stop()
        _tell(args, search.seeds, search.flaw, search.found)
        return FOUND
    print(f"{args.protocol}: nothing found in {search.inputs:,} inputs, from seed {args.seed}")
    return UNUSABLE if unusable else NOTHING_FOUND


def _tell_replayed(args: Namespace, search: Search | Guided) -> None:
    if search.replayed:
        gone = f"; findings that did not show again: {search.gone:,}" if search.gone else ""
        print(f"peerproof: inputs replayed from {args.corpus}: {search.replayed:,}{gone}", file=sys.stderr)


def _tell(args: Namespace, seeds: Seeds, flaw: Flaw, found: Path | None) -> None:
    """All that helps to see what is wrong, and what to paste."""
    print("\n".join(_told(seeds, flaw)))
    if found and args.corpus:
        print(f"  kept:  {found}, which is replayed first from now on")
    chosen = {"impl": args.impl, "profile": args.profile, "seed": args.seed, "corpus": args.corpus}
    shown = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in chosen.items() if value is not None)
    print(f"  again: peerproof fuzz {args.protocol} --bytes {shown}", flush=True)
    if args.promote:
        fuzz_promotion.promote(args, partial(vector_of, seeds, flaw))


def _told(seeds: Seeds, flaw: Flaw) -> Iterator[str]:
    yield f"FOUND {flaw.kind}: {KINDS[flaw.kind]}"
    yield f"  {shorten(flaw.detail, MOST_SHOWN, placeholder=' …')}"
    message = read(seeds, flaw.data)
    items = clauses_of(seeds.protocol).items
    for clause in seeds.clauses(None if message is None else seeds.codec.form.names[type(message)]):
        yield f"  {clause} {items[clause].level or ''}: {shorten(items[clause].text, WIDTH - 16, placeholder=' …')}"
    yield ""
    yield f"    bytes     {flaw.data.hex() or 'none'}  ({len(flaw.data)})"
    if message is not None:
        yield f"    which is  {_printable(shortened(seeds.codec.plain(message)))}"
    if flaw.expected is not None or flaw.actual is not None:
        yield f"    expected  {_shown(flaw.expected)}"
        yield f"    actual    {_shown(flaw.actual)}"
    yield ""
    if flaw.errors:
        yield from (f"    | {line}" for line in flaw.errors.splitlines()[-MOST_ERRORS:])
        yield ""


def _printable(text: str) -> str:
    shown = "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
    return shorten(shown, MOST_SHOWN, placeholder=" …")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text)} characters)"
