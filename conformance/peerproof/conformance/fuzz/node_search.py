"""A search with nodes: campaigns until a finding, the last run, or the time limit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.implementation import create_adapter
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.fuzz.corpus import FINDINGS, RUNS, Corpus, CorpusError
from peerproof.conformance.fuzz.excuses import Excuses
from peerproof.conformance.fuzz.findings import Finding, OutOfRestarts, Over, Skipped
from peerproof.conformance.fuzz.implementation_players import Implementation, lacking
from peerproof.conformance.fuzz.inputs.inputs import Inputs, inputs_of
from peerproof.conformance.fuzz.kept_runs import Keeper
from peerproof.conformance.fuzz.known_findings import KnownFindings
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.players import Player, Specified
from peerproof.conformance.fuzz.search_settings import PROFILES, CannotFuzz, FuzzSettings, FuzzVerdict
from peerproof.conformance.runner.claims import check_claims
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.traces.other_readings import Taken, claimed_readings

#: Number of runs from one seed; a killed search repeats at most these.
AT_ONCE: Final = 80


@dataclass
class NodeSearch:
    """A search with nodes over a faulty network, and its results; valid also after `run` was interrupted."""

    protocol: str
    implementation: str | None = None  #: as `create_adapter` takes it; None: the specification itself
    settings: FuzzSettings = field(default_factory=FuzzSettings)
    corpus: Path | None = None  #: folder that keeps findings and new runs; a search continues where the last one there ended
    timeouts: Timeouts | None = None  #: seconds
    known: KnownFindings = field(default_factory=KnownFindings)  #: findings that do not end the search
    excuses: Excuses = field(default_factory=Excuses)  #: what else does not end it: what only a decision demands
    on_hello: Callable[[Hello], None] = lambda _: None
    on_progress: Callable[[Counter[str]], None] | None = None  #: gets the counts of runs, steps and events in them
    on_replayed: Callable[[int, int], None] = lambda _runs, _gone: None  #: runs of the corpus, findings that did not recur
    inputs: Inputs = field(init=False)
    declared: Taken = ()  #: the readings of the document that the implementation declares, by which it is judged
    finding: Finding | None = None
    kept: Path | None = None  #: file of the finding in the corpus
    counts: Counter[str] = field(default_factory=Counter)
    unsupported: dict[str, Skipped] = field(default_factory=dict)  #: members of configurations that nodes ran without
    seed: int = field(init=False)  #: the seed that reproduces the finding
    because: str | None = None  #: why the search ended early
    out_of_restarts: bool = False  #: it ended early because the implementation crashed too often
    _unusable: bool = False

    def __post_init__(self) -> None:
        """Raises NoInputs if the protocol cannot be fuzzed."""
        self.inputs = inputs_of(self.protocol)
        self.seed = self.settings.seed

    @property
    def verdict(self) -> FuzzVerdict:
        """The result of the search."""
        if self.finding:
            return FuzzVerdict.FOUND
        failed_unseen = self.out_of_restarts and not (self.known.seen.total() or self.excuses.seen.total())
        return FuzzVerdict.UNUSABLE if self._unusable or failed_unseen else FuzzVerdict.NOTHING_FOUND

    def run(self) -> FuzzVerdict:
        """Searches. Raises AdapterUnavailable, CannotFuzz, and CorpusError if there is no finding yet."""
        if self.implementation is None:
            return self._search(self._campaign(Specified()))
        adapter = create_adapter(self.implementation, "fuzz", self.timeouts)
        try:
            return self._search(self._campaign_of(adapter))
        finally:
            adapter.kill()

    def _campaign(self, player: Player) -> Campaign:
        until = time.monotonic() + self.settings.seconds if self.settings.seconds else None
        campaign = Campaign(self.inputs, player, self.settings.nodes, until=until, counts=self.counts, progress=self.on_progress)
        campaign.known = self.known
        return campaign

    def _campaign_of(self, adapter: Adapter) -> Campaign:
        hello = adapter.start()
        if why := lacking(self.protocol, hello):
            raise CannotFuzz(f"{hello.name} cannot be fuzzed: {why}")
        check_claims(hello)
        self.declared = claimed_readings(self.protocol, hello.readings)
        self.on_hello(hello)
        if self.declared:  # no property has been shown for other readings
            promises = frozenset(promise.name for promise in self.inputs.spec.PROPERTIES)
            self.inputs = replace(self.inputs, withheld=promises)
        player = Implementation(self.protocol, self.inputs, adapter, hello, self.declared, self.settings.restarts)
        self.unsupported = player.unsupported
        campaign = self._campaign(player)
        campaign.excuses = self.excuses
        offered = hello.protocols[self.protocol].capabilities
        campaign.commands = frozenset(word.removeprefix("api.") for word in offered if word.startswith("api."))
        if "restart" not in offered:
            campaign.faults -= {"crash"}
        return campaign

    def _search(self, campaign: Campaign) -> FuzzVerdict:
        try:
            self._resume(campaign, Corpus(self.corpus, self.protocol)) if self.corpus else self._draw(campaign)
        except Over as over:
            self._unusable = over.unusable is not None
            self.out_of_restarts = isinstance(over, OutOfRestarts)
            if campaign.finding or over.unusable or self.out_of_restarts:
                self.because = over.because
        except CorpusError as error:
            self.because = str(error)
            if not campaign.finding:
                raise
        finally:
            self.finding, self.counts = campaign.finding, campaign.counts
            self.kept = campaign.keeper.found if campaign.keeper else None
        return self.verdict

    def _draw(self, campaign: Campaign) -> None:
        """Runs campaigns from the seed, and with a time limit also from the following seeds. Raises Over."""
        while True:
            campaign.search(PROFILES[self.settings.profile], self.seed)
            if campaign.finding or campaign.until is None:
                return
            self.seed += 1

    def _resume(self, campaign: Campaign, corpus: Corpus) -> None:
        """Replays the corpus, then continues after the runs of the last search, even a killed one. Raises CorpusError, Over."""
        keeper = campaign.keeper = Keeper(corpus, self.inputs)
        shown, replayed, gone = _replay(campaign, keeper)
        if replayed:
            self.on_replayed(replayed, gone)
        if not shown:
            self._search_on(campaign, corpus)

    def _search_on(self, campaign: Campaign, corpus: Corpus) -> None:
        """Searches for the runs of the profile, or until the time limit or a finding. Raises CorpusError, Over."""
        settings, profile = self.settings, PROFILES[self.settings.profile]
        tested = "the specification" if self.implementation is None else self.implementation
        name = f"{tested} --profile {settings.profile} --nodes {settings.nodes} --seed {settings.seed}"
        position, left = corpus.position(name), profile.runs
        while (left > 0 or campaign.until is not None) and not campaign.finding:
            size = min(AT_ONCE, left) if campaign.until is None else AT_ONCE
            try:
                campaign.search(profile._replace(runs=size), settings.seed + position)
            except Over:
                if campaign.until is not None and time.monotonic() > campaign.until and not campaign.finding:
                    corpus.advance(name, position + 1)
                raise
            if not campaign.finding:
                position, left = position + 1, left - size
                corpus.advance(name, position)


def _replay(campaign: Campaign, keeper: Keeper) -> tuple[bool, int, int]:
    """
    Replays the findings and runs of the corpus. Returns: a run shows a finding, number of runs, findings that did not recur.

    All files are read before the first replay, so a foreign file is reported at once. Raises CorpusError, Over.
    """
    runs = [(name, *kept) for name in (FINDINGS, RUNS) for kept in keeper.runs(name)]
    gone = 0
    for replayed, (name, path, run) in enumerate(runs, 1):
        if campaign.replay(run):
            assert keeper.found is not None, "a finding is kept"
            if name == FINDINGS and keeper.found != path:  # it has been shrunk further
                path.unlink(missing_ok=True)
            return True, replayed, gone
        gone += name == FINDINGS
    return False, len(runs), gone


def fuzz_nodes(
    protocol: str,
    implementation: str | None = None,
    *,
    settings: FuzzSettings | None = None,
    corpus: Path | None = None,
    timeouts: Timeouts | None = None,
) -> NodeSearch:
    """
    Runs nodes over a faulty network, at random, against the specification; returns the search, whose `finding` is shrunk.

    `implementation` is what `create_adapter` takes; None is the specification itself, whose properties must hold. `corpus` is a
    folder to keep findings in, `timeouts` are in seconds. Needs Hypothesis. Raises NoInputs, AdapterUnavailable, CannotFuzz and
    CorpusError.
    """
    search = NodeSearch(protocol, implementation, settings or FuzzSettings(), corpus, timeouts)
    search.run()
    return search
