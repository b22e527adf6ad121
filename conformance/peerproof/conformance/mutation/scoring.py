"""From the selection of mutants to a score: how many were killed, by which vectors, and which survived."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.mutation.copies import avoid_shortcuts, begin_again
from peerproof.conformance.mutation.mutant_files import Equivalent, Record, digest, equivalents, load_detections, store_detections
from peerproof.conformance.mutation.sites import Mutant, find_mixups, modules, mutants
from peerproof.conformance.mutation.trials import MOST_KILLERS, Bench, Verdict
from peerproof.conformance.runner.cases import cases
from peerproof.conformance.vectors.suite import Suite
from peerproof.spec.protocols import PROTOCOLS

#: Number of vectors listed as those that kill most.
LISTED: Final = 10


@dataclass(frozen=True)
class Score:
    """The score of a protocol, or of some of its mutants."""

    protocol: str
    verdicts: Mapping[Mutant, Verdict]
    equivalents: Mapping[str, Equivalent]
    vectors: frozenset[str]  #: the ids of the vectors in the run
    whole: bool = True  #: all mutants were run

    @cached_property
    def killed(self) -> list[Mutant]:
        """The mutants that a vector detected."""
        return [mutant for mutant, verdict in self.verdicts.items() if verdict.killed]

    @cached_property
    def equivalent(self) -> list[Mutant]:
        """The mutants that are listed as equivalent and were not killed."""
        return [mutant for mutant, verdict in self.verdicts.items() if not verdict.killed and mutant.id in self.equivalents]

    @cached_property
    def survivors(self) -> list[Mutant]:
        """The mutants that are not listed as equivalent and were not killed."""
        return [mutant for mutant, verdict in self.verdicts.items() if not verdict.killed and mutant.id not in self.equivalents]

    @property
    def score(self) -> float:
        """Killed ÷ non-equivalent, from 0 to 1."""
        counted = len(self.killed) + len(self.survivors)
        return len(self.killed) / counted if counted else 1.0

    @cached_property
    def stale(self) -> list[str]:
        """The faults of the list of equivalent mutants."""
        made = {mutant.id: mutant for mutant in self.verdicts}
        killers = {mutant.id: self.verdicts[mutant] for mutant in self.killed}
        wrong = []
        for name, entry in self.equivalents.items():
            if name in killers:
                wrong.append(f"{entry.where}: {name} is not equivalent: {killers[name].killer or killers[name].how} kills it")
            elif name in made and made[name].change != entry.change:
                wrong.append(f"{entry.where}: {name} changes {made[name].change!r}, not {entry.change!r}")
            elif name not in made and self.whole:
                wrong.append(f"{entry.where}: there is no mutant {name} any more")
        return wrong

    def kills(self) -> Counter[str]:
        """Returns how many mutants each vector was the first to kill."""
        killers = (verdict.killer for verdict in self.verdicts.values())
        return Counter(killer.partition("#")[0] for killer in killers if killer is not None)

    def detects_alone(self) -> Counter[str]:
        """Returns how many mutants each vector alone detects, in a matrix; vectors made from state graphs do not count."""
        return Counter(verdict.killers[0] for verdict in self.verdicts.values() if len(verdict.killers) == 1)

    def plain(self) -> dict[str, Any]:
        """Returns the score as JSON data."""
        kills = self.kills()
        return {
            **self.counts(),
            "whole": self.whole,
            "modules": {name: part.counts() for name, part in self.modules().items()},
            "kinds": {name: part.counts() for name, part in self.kinds().items()},
            "survivors": [
                {"mutant": one.id, "kind": one.kind, "change": one.change, "cases": self.verdicts[one].cases, "diff": one.diff()}
                for one in self.survivors
            ],
            "stale": self.stale,
            "kills": dict(kills.most_common()),
            "kill nothing": sorted(self.vectors - kills.keys()),
            "kill alone": dict(self.detects_alone().most_common()),
        }

    def counts(self) -> dict[str, Any]:
        """Returns the numbers of mutants as JSON data."""
        counts = {"mutants": len(self.verdicts), "killed": len(self.killed), "equivalent": len(self.equivalent)}
        return counts | {"score": round(self.score, 4)}

    def modules(self) -> dict[str, Score]:
        """Returns the score of each module."""
        return self._parts(lambda mutant: mutant.module.name.rpartition(".")[2])

    def kinds(self) -> dict[str, Score]:
        """Returns the score of each kind of fault, the lowest first."""
        parts = self._parts(lambda mutant: mutant.kind)
        return dict(sorted(parts.items(), key=lambda part: (part[1].score, part[0])))

    def _parts(self, name_of: Callable[[Mutant], str]) -> dict[str, Score]:
        parts: defaultdict[str, dict[Mutant, Verdict]] = defaultdict(dict)
        for mutant, verdict in self.verdicts.items():
            parts[name_of(mutant)][mutant] = verdict
        return {name: Score(self.protocol, part, self.equivalents, self.vectors, whole=False) for name, part in parts.items()}

    def text(self) -> str:
        """Renders the score for people."""
        lines = [
            *_table("module", {**self.modules(), self.protocol: self}),
            "",
            *_table("kind of fault", self.kinds()),
        ]
        kills = self.kills()
        lines += ["", "vectors that were the first to kill most:"]
        lines += [f"{count:>7,}  {name}" for name, count in kills.most_common(LISTED)]
        lines += [f"{len(self.vectors) - len(kills):,} of {len(self.vectors):,} vectors were the first to kill none", ""]
        if alone := self.detects_alone():
            lines += [f"{len(alone):,} vectors are the only ones to kill {alone.total():,} mutants", ""]
        for mutant in self.survivors:
            lines += [f"not killed: {mutant.id}, reached by {self.verdicts[mutant].cases:,} cases", mutant.diff(), ""]
        return "\n".join([*lines, *self.stale])


def _table(head: str, rows: Mapping[str, Score]) -> list[str]:
    return [
        f"{head:<20}{'mutants':>9}{'killed':>9}{'equivalent':>12}{'score':>9}",
        *(
            f"{name:<20}{len(row.verdicts):>9,}{len(row.killed):>9,}{len(row.equivalent):>12,}{row.score:>9.1%}"
            for name, row in rows.items()
        ),
    ]


def as_plain(scores: Iterable[Score]) -> dict[str, Any]:
    """Returns the scores of some protocols as JSON data."""
    return {"protocols": {score.protocol: score.plain() for score in scores}}


#: The implementation in which a mutant runs, and the packages that are loaded again with the specification.
IMPLEMENTATION: Final = "peerproof.reference.harness.harness:Harness"
PACKAGES: Final = ("peerproof.reference",)

#: Minimum percentage of non-equivalent mutants that must be killed.
LEAST: Final = 98.0


def select_mutants(protocol: str, words: str = "", *, unlisted: bool = False) -> list[Mutant]:
    """
    Returns the mutants of a protocol's specification with all of these words in their names.

    With `unlisted`, mutants that are listed as equivalent are left out.

    >>> len({mutant.id for mutant in select_mutants("swim", "gossip")}) > 10
    True
    """
    left_out = equivalents(protocol) if unlisted else {}
    found = modules(protocol)
    mixups = find_mixups(protocol, found)
    made = (mutant for module in found for mutant in mutants(module, mixups))
    return [mutant for mutant in made if mutant.id not in left_out and all(word in mutant.id for word in words.split())]


def find_mutant(name: str) -> Mutant:
    """Returns the mutant with this name. Raises KeyError."""
    protocol = name.partition(".")[0]
    for mutant in select_mutants(protocol) if protocol in PROTOCOLS else ():
        if mutant.id == name:
            return mutant
    raise KeyError(name)


def load_mutant(mutant: Mutant) -> None:
    """Replaces the specifications of this process, and the packages that use them, by copies with this mutant."""
    avoid_shortcuts()
    begin_again([*(row.specification.target for row in PROTOCOLS.values()), *PACKAGES], mutant)


def open_record(path: Path, suite: Suite, protocols: Iterable[str], *, is_matrix: bool = False) -> Record:
    """Opens the record of verdicts, or of a matrix, from which a scoring continues. Raises WrongRecord, OSError."""
    chosen = list(protocols)
    files = {suite.path(vector) for vector in suite.vectors if vector.protocol in chosen}
    tried = digest(files, [module for protocol in chosen for module in modules(protocol)])
    return Record(path, f"{tried} matrix" if is_matrix else tried)


@dataclass
class Scoring:
    """A run of the mutants of one protocol until one case kills each; valid also after an interruption."""

    protocol: str
    suite: Suite
    mutants: Sequence[Mutant]
    record: Record | None = None  #: verdicts are taken from it, and added to it
    is_whole: bool = False  #: these are all mutants of the protocol
    is_matrix: bool = False  #: run each mutant on further vectors after the first detection, except those made from state graphs
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)  #: number of processes
    on_progress: Callable[[str], None] = lambda _: None  #: gets a sentence about the progress
    verdicts: dict[Mutant, Verdict] = field(default_factory=dict)
    is_interrupted: bool = False

    def run(self) -> Score:
        """
        Runs the mutants on which the record has no verdict.

        Ctrl-C ends it; the score is then about the mutants that ran. Raises WrongRecord.
        """
        vectors = [vector for vector in self.suite.vectors if vector.protocol == self.protocol]
        chosen = cases(self.suite, vectors)
        killers = MOST_KILLERS if self.is_matrix else 0
        bench = Bench(self.protocol, chosen, IMPLEMENTATION, PACKAGES, self.suite.version, most_killers=killers)
        record, name = self.record, self.protocol
        known = record.found if record else {}
        self.verdicts = {mutant: known[mutant.id] for mutant in self.mutants if mutant.id in known}
        left = [mutant for mutant in self.mutants if mutant not in self.verdicts]
        detected = sum(verdict.killed for verdict in self.verdicts.values())
        try:
            self.on_progress(f"{name}: finding the lines that each of {len(bench.cases):,} cases reaches")
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
    Returns True if each score is at least this percentage, and no list of equivalents is stale.

    >>> is_enough([])
    True
    """
    return not any(100 * score.score < least or score.stale for score in scores)
