"""Mutants from their selection to a score: which there are, what the vectors say of each, and what that comes to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from peerproof.conformance.mutation.copies import begin_again
from peerproof.conformance.mutation.detections import load_detections, store_detections
from peerproof.conformance.mutation.equivalents import equivalents
from peerproof.conformance.mutation.score import Score
from peerproof.conformance.mutation.sites import Mutant, modules, mutants
from peerproof.conformance.mutation.trials import Bench, Verdict
from peerproof.conformance.mutation.verdict_log import Record, digest
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.vectors.suite import Suite
from peerproof.spec.protocols import PROTOCOLS

#: The implementation that a mutant runs in, and what is loaded anew beside the specification.
IMPLEMENTATION: Final = "peerproof.reference.harness.harness:Harness"
PACKAGES: Final = ("peerproof.reference",)

#: Percent of the mutants that are not equivalent: so many must be detected.
LEAST: Final = 98.0


def select_mutants(protocol: str, words: str = "", *, unlisted: bool = False) -> list[Mutant]:
    """
    Returns the mutants of a protocol's specification with all of these words in their names.

    With `unlisted`, those that are listed as equivalent are left out.

    >>> len({mutant.id for mutant in select_mutants("swim", "gossip")}) > 10
    True
    """
    left_out = equivalents(protocol) if unlisted else {}
    made = (mutant for module in modules(protocol) for mutant in mutants(module))
    return [mutant for mutant in made if mutant.id not in left_out and all(word in mutant.id for word in words.split())]


def find_mutant(name: str) -> Mutant:
    """Returns the mutant of this name. Raises KeyError."""
    protocol = name.partition(".")[0]
    if protocol in PROTOCOLS:
        for mutant in select_mutants(protocol):
            if mutant.id == name:
                return mutant
    raise KeyError(name)


def load_mutant(mutant: Mutant) -> None:
    """Replaces the specifications of this process, and what was loaded beside them, by copies with this mutant in them."""
    begin_again([*(row.specification.target for row in PROTOCOLS.values()), *PACKAGES], mutant)


def open_record(path: Path, suite: Suite, protocols: Iterable[str]) -> Record:
    """Opens the record of verdicts that a scoring goes on from. Raises WrongRecord, OSError."""
    chosen = list(protocols)
    files = {suite.path(vector) for vector in suite.vectors if vector.protocol in chosen}
    return Record(path, digest(files, [module for protocol in chosen for module in modules(protocol)]))


@dataclass
class Scoring:
    """The mutants of one protocol, tried until one case detects each; valid also after an interruption."""

    protocol: str
    suite: Suite
    mutants: Sequence[Mutant]
    record: Record | None = None  #: of verdicts that are taken from it, and added to it
    is_whole: bool = False  #: whether these are all mutants of the protocol
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    on_progress: Callable[[str], None] = lambda _: None  #: gets a sentence on how far it is
    verdicts: dict[Mutant, Verdict] = field(default_factory=dict)
    is_interrupted: bool = False

    def run(self) -> Score:
        """
        Tries the mutants that the record has no verdict on.

        An interruption from the keyboard ends it, and the score is of those that were tried. Raises WrongRecord.
        """
        vectors = [vector for vector in self.suite.vectors if vector.protocol == self.protocol]
        bench = Bench(self.protocol, cases(self.suite, vectors), IMPLEMENTATION, PACKAGES, self.suite.version)
        record, name = self.record, self.protocol
        self.verdicts = (
            {mutant: record.found[mutant.id] for mutant in self.mutants if mutant.id in record.found} if record else {}
        )
        left = [mutant for mutant in self.mutants if mutant not in self.verdicts]
        detected = sum(verdict.killed for verdict in self.verdicts.values())
        try:
            self.on_progress(f"{name}: which of {len(bench.cases):,} cases come by where")
            before = load_detections(name)
            reached = bench.reach(modules(name)) if left else None
            for mutant, verdict in bench.trials(left, reached, max(1, self.jobs), before) if reached else ():
                self.verdicts[mutant] = verdict
                detected += verdict.killed
                if record:
                    record.add(mutant.id, verdict)
                self.on_progress(f"{name}: {len(self.verdicts):,} of {len(self.mutants):,} mutants run, {detected:,} killed")
        except KeyboardInterrupt:
            self.is_interrupted = True
        store_detections(name, self.verdicts, {mutant.id for mutant in select_mutants(name)})
        in_order = {mutant: self.verdicts[mutant] for mutant in self.mutants if mutant in self.verdicts}
        whole = self.is_whole and not self.is_interrupted
        return Score(name, in_order, equivalents(name), frozenset(vector.id for vector in vectors), whole)


def is_enough(scores: Iterable[Score], least: float = LEAST) -> bool:
    """
    Whether each score is at least so many percent, and no list of equivalents is stale.

    >>> is_enough([])
    True
    """
    return not any(100 * score.score < least or score.stale for score in scores)
