"""The verdicts on the mutants of a protocol: how many were killed, by which vectors, and which survived."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from peerproof.conformance.mutation.equivalents import Equivalent
from peerproof.conformance.mutation.sites import Mutant
from peerproof.conformance.mutation.trials import Verdict

#: Vectors that are listed of those that kill most.
LISTED: Final = 10


@dataclass(frozen=True)
class Score:
    """Of a protocol, or of some mutants of it."""

    protocol: str
    verdicts: Mapping[Mutant, Verdict]
    equivalents: Mapping[str, Equivalent]
    vectors: frozenset[str]  #: the ids of those that were there
    whole: bool = True  #: all mutants were tried

    @cached_property
    def killed(self) -> list[Mutant]:
        """Those that a vector detected."""
        return [mutant for mutant, verdict in self.verdicts.items() if verdict.killed]

    @cached_property
    def equivalent(self) -> list[Mutant]:
        """Those that are listed as equivalent and were not killed."""
        return [mutant for mutant, verdict in self.verdicts.items() if not verdict.killed and mutant.id in self.equivalents]

    @cached_property
    def survivors(self) -> list[Mutant]:
        """Those that are not listed as equivalent and were not killed."""
        return [mutant for mutant, verdict in self.verdicts.items() if not verdict.killed and mutant.id not in self.equivalents]

    @property
    def score(self) -> float:
        """Killed ÷ non-equivalent, from 0 to 1."""
        return _part(len(self.killed), len(self.killed) + len(self.survivors))

    @cached_property
    def stale(self) -> list[str]:
        """What is wrong with the list of equivalent mutants."""
        made = {mutant.id: mutant for mutant in self.verdicts}
        killers = {mutant.id: self.verdicts[mutant] for mutant in self.killed}
        wrong = []
        for name, entry in self.equivalents.items():
            if name in killers:
                wrong.append(f"{entry.where}: {name} is no equivalent: {killers[name].killer or killers[name].how} kills it")
            elif name in made and made[name].change != entry.change:
                wrong.append(f"{entry.where}: {name} changes {made[name].change!r}, not {entry.change!r}")
            elif name not in made and self.whole:
                wrong.append(f"{entry.where}: there is no mutant {name} any more")
        return wrong

    def kills(self) -> Counter[str]:
        """By vector, how many mutants it was the first to kill."""
        killers = (verdict.killer for verdict in self.verdicts.values())
        return Counter(killer.partition("#")[0] for killer in killers if killer is not None)

    def plain(self) -> dict[str, Any]:
        """For programs."""
        kills = self.kills()
        return {
            "mutants": len(self.verdicts),
            "killed": len(self.killed),
            "equivalent": len(self.equivalent),
            "score": round(self.score, 4),
            "whole": self.whole,
            "modules": {
                name: {"mutants": len(part.verdicts), "killed": len(part.killed), "equivalent": len(part.equivalent)}
                | {"score": round(part.score, 4)}
                for name, part in self.modules().items()
            },
            "survivors": [
                {"mutant": one.id, "kind": one.kind, "change": one.change, "cases": self.verdicts[one].cases, "diff": one.diff()}
                for one in self.survivors
            ],
            "stale": self.stale,
            "kills": dict(kills.most_common()),
            "kill nothing": sorted(self.vectors - kills.keys()),
        }

    def modules(self) -> dict[str, Score]:
        """The same of each module alone."""
        parts: defaultdict[str, dict[Mutant, Verdict]] = defaultdict(dict)
        for mutant, verdict in self.verdicts.items():
            parts[mutant.module.name.rpartition(".")[2]][mutant] = verdict
        return {name: Score(self.protocol, part, self.equivalents, self.vectors, whole=False) for name, part in parts.items()}

    def text(self) -> str:
        """For people."""
        lines = [f"{'module':<14}{'mutants':>9}{'killed':>9}{'equivalent':>12}{'score':>9}"]
        rows = {**self.modules(), self.protocol: self}
        lines += [
            f"{name:<14}{len(row.verdicts):>9,}{len(row.killed):>9,}{len(row.equivalent):>12,}{row.score:>9.1%}"
            for name, row in rows.items()
        ]
        kills = self.kills()
        lines += ["", "vectors that were the first to kill most:"]
        lines += [f"{count:>7,}  {name}" for name, count in kills.most_common(LISTED)]
        lines += [f"{len(self.vectors) - len(kills):,} of {len(self.vectors):,} vectors were the first to kill none", ""]
        for mutant in self.survivors:
            lines += [f"not killed: {mutant.id}, by which {self.verdicts[mutant].cases:,} cases come", mutant.diff(), ""]
        return "\n".join([*lines, *self.stale])


def as_plain(scores: Iterable[Score]) -> dict[str, Any]:
    """Of some protocols, for programs."""
    return {"protocols": {score.protocol: score.plain() for score in scores}}


def _part(some: int, whole: int) -> float:
    return some / whole if whole else 1.0
