"""A search with bytes through the decoder of an implementation, or of the specification."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.clauses.catalogue import protocols
from peerproof.conformance.fuzz.bytes.coverage_guided import Guided, Status
from peerproof.conformance.fuzz.bytes.flaws import Flaw
from peerproof.conformance.fuzz.bytes.foreign import Decoder, Search
from peerproof.conformance.fuzz.bytes.seeds import LONGEST, Seeds, seeds_of, take_readings
from peerproof.conformance.fuzz.corpus import Corpus
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import OutOfRestarts, Over
from peerproof.conformance.fuzz.known_findings import KnownFindings
from peerproof.conformance.fuzz.search_settings import INPUTS, CannotFuzz, FuzzSettings, FuzzVerdict, NoInputs
from peerproof.conformance.runner.claims import check_claims
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.traces.other_readings import claimed_readings
from peerproof.conformance.vectors.suite import load
from peerproof.spec.protocols import PROTOCOLS


@dataclass
class ByteSearch:
    """A search through a decoder, and its results; valid also after `run` was interrupted."""

    protocol: str
    implementation: str | None = None  #: as `create_adapter` takes it; None: the specification's own decoder
    settings: FuzzSettings = field(default_factory=FuzzSettings)
    corpus: Path | None = None  #: folder that keeps findings and inputs that reached something new
    guided: bool = True  #: guide the inputs of the specification's own decoder by code coverage, which needs atheris
    timeouts: Timeouts | None = None  #: seconds
    known: KnownFindings = field(default_factory=KnownFindings)  #: findings that do not end the search
    on_hello: Callable[[Hello], None] = lambda _: None
    on_progress: Callable[[Status], None] = lambda _: None
    seeds: Seeds = field(init=False)  #: their codec judges; it takes the readings that an implementation declares
    flaw: Flaw | None = None
    status: Status = field(default_factory=Status)  #: points reached are counted in the specification's own decoder only
    kept: Path | None = None  #: file of the finding in the corpus
    replayed: int = 0  #: number of inputs of the corpus
    gone: int = 0  #: number of findings of the corpus that did not recur
    because: str | None = None  #: why the search ended early
    out_of_restarts: bool = False  #: it ended early because the implementation crashed too often
    excuses: Excuses = field(default_factory=Excuses)  #: what else does not end the search: what only a decision demands

    def __post_init__(self) -> None:
        """Raises NoInputs if the protocol cannot be fuzzed."""
        if self.protocol not in protocols():
            raise NoInputs(f"no protocol {self.protocol!r} can be fuzzed; there are {', '.join(protocols())}")
        self.seeds = seeds_of(load(protocol=self.protocol), self.protocol)

    @property
    def verdict(self) -> FuzzVerdict:
        """The result of the search."""
        if self.flaw:
            return FuzzVerdict.FOUND
        explained = self.out_of_restarts and (self.known.seen.total() or self.excuses.seen.total())
        return FuzzVerdict.UNUSABLE if self.because and not explained else FuzzVerdict.NOTHING_FOUND

    def run(self) -> FuzzVerdict:
        """Searches. Raises AdapterUnavailable, CannotFuzz, CorpusError, and FuzzerError if the guided process fails."""
        if self.implementation is not None:
            corpus = Corpus(self.corpus, self.protocol) if self.corpus else None
            adapter = create_adapter(self.implementation, "fuzz", self.timeouts)
            try:
                self._search(adapter, corpus)
            finally:
                adapter.kill()
        else:
            with TemporaryDirectory() as folder:
                self._search_own(Corpus(self.corpus or Path(folder), self.protocol))
        return self.verdict

    def _search(self, adapter: Adapter, corpus: Corpus | None) -> None:
        hello = adapter.start()
        if why := _lacking(self.protocol, hello):
            raise CannotFuzz(f"{hello.name} cannot be fuzzed: {why}")
        check_claims(hello)
        self.seeds = take_readings(self.seeds, claimed_readings(self.protocol, hello.readings))
        self.on_hello(hello)
        limit = hello.protocols[self.protocol].limits.get("max_payload")
        longest = min(LONGEST, limit) if type(limit) is int and limit > 0 else LONGEST
        decoder = Decoder(adapter, self.seeds, longest, self.settings.restarts)
        until = time.monotonic() + self.settings.seconds if self.settings.seconds else None
        search = Search(self.seeds, decoder, corpus, until, lambda inputs, kept: self.on_progress(Status(inputs, 0, kept)))
        search.known, search.excuses = self.known, self.excuses
        name = f"{self.implementation} --bytes --seed {self.settings.seed}"
        try:
            search.search(name, self.settings.seed, INPUTS[self.settings.profile])
        except Over as over:
            self.because, self.out_of_restarts = over.because, isinstance(over, OutOfRestarts)
        finally:
            self.flaw, self.kept, self.status = search.flaw, search.found, Status(search.inputs)
            self.replayed, self.gone = search.replayed, search.gone

    def _search_own(self, corpus: Corpus) -> None:
        seconds = None if self.settings.seconds is None else int(self.settings.seconds)
        search = Guided(self.seeds, corpus, f"{PROTOCOLS[self.protocol].specification.target}:MESSAGE", self.on_progress)
        try:
            self.flaw = search.search(self.settings.seed, INPUTS[self.settings.profile], seconds, guided=self.guided)
        finally:
            self.kept, self.status = search.found, search.status
            self.replayed, self.gone = search.replayed, search.gone


def _lacking(protocol: str, hello: Hello) -> str:
    """Returns why there is no decoder; an empty text if there is one."""
    if protocol not in hello.protocols:
        return f"it does not offer {protocol}, but {', '.join(hello.protocols) or 'nothing'}"
    return "" if "codec" in hello.protocols[protocol].capabilities else "it does not offer codec"


def fuzz_decoder(
    protocol: str,
    implementation: str | None = None,
    *,
    settings: FuzzSettings | None = None,
    corpus: Path | None = None,
    guided: bool = True,
    timeouts: Timeouts | None = None,
) -> ByteSearch:
    """
    Feeds a decoder bytes that are nearly messages; returns the search, whose `flaw` has the smallest input that shows a fault.

    `implementation` is what `create_adapter` takes; it must read, reject and write like the specification. None is the
    specification's own decoder; to be `guided` by code coverage it needs atheris. `corpus` is a folder to keep findings in,
    `timeouts` are in seconds. Raises NoInputs, AdapterUnavailable, CannotFuzz, CorpusError, FuzzerError.
    """
    search = ByteSearch(protocol, implementation, settings or FuzzSettings(), corpus, guided, timeouts)
    search.run()
    return search
