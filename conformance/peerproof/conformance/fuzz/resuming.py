"""A campaign that goes on where an earlier one has ended, if it was killed, too."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from peerproof.conformance.fuzz.corpus import FINDINGS, RUNS
from peerproof.conformance.fuzz.findings import Over
from peerproof.conformance.fuzz.kept_runs import Keeper
from peerproof.conformance.fuzz.machine import Campaign
from peerproof.conformance.fuzz.profiles import Profile

#: So many runs are drawn from one seed: who is killed begins with these again.
AT_ONCE: Final = 60


@dataclass
class Resuming:
    """A campaign and its corpus."""

    campaign: Campaign
    keeper: Keeper
    name: str  #: of the campaign: what is different in another one
    seed: int
    replayed: int = 0  #: runs of earlier campaigns
    gone: int = 0  #: findings of earlier campaigns that did not show again

    def replay(self) -> Path | None:
        """
        What was found, and what was kept, once more; the file of the first that shows something. Raises CorpusError, Over.

        Everything is read before anything is replayed: a file that is none of the corpus's is told at once.
        """
        runs = {name: list(self.keeper.runs(name)) for name in (FINDINGS, RUNS)}
        for name, kept in runs.items():
            for path, run in kept:
                self.replayed += 1
                if self.campaign.replay(run):
                    return self._replace_finding(name, path)
                self.gone += name == FINDINGS
        return None

    def _replace_finding(self, name: str, path: Path) -> Path:
        """The finding's file: where it is smaller now than it was kept, it replaces what it was made of."""
        assert self.keeper.found is not None, "what is found is kept"
        if name == FINDINGS and self.keeper.found != path:
            path.unlink(missing_ok=True)
        return self.keeper.found

    def search(self, profile: Profile) -> None:
        """As many runs as the profile says, or until the time is over or something is found. Raises CorpusError, Over."""
        campaign, corpus = self.campaign, self.keeper.corpus
        position, left = corpus.position(self.name), profile.runs
        while (left > 0 or campaign.until is not None) and not campaign.finding:
            size = min(AT_ONCE, left) if campaign.until is None else AT_ONCE
            try:
                campaign.search(profile._replace(runs=size), self.seed + position)
            except Over:
                if campaign.until is not None and time.monotonic() > campaign.until and not campaign.finding:
                    corpus.advance(self.name, position + 1)
                raise
            if not campaign.finding:
                position, left = position + 1, left - size
                corpus.advance(self.name, position)
