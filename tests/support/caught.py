"""
What catches what, looked for and written down in caught.json: `python -m tests.support.caught [PROTOCOL...]` (an hour).

The tests hold each line of it to what it says. It is to be made anew when they ask for it: after vectors were added that were
made for no mistake, after vectors were made from other state graphs, when a mutant that a vector detects is gone, and when more
mistakes should be found out by vectors of state graphs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import Final

from tests.support.catching import KNOWN, Mistakes, detecting, failed, path_of
from tests.support.model_scores import judged, score

from peerproof.conformance.mutation.scoring import select_mutants
from peerproof.conformance.mutation.sites import Mutant
from peerproof.conformance.mutation.trials import MOST_KILLERS
from peerproof.conformance.runner.result import STATUSES
from peerproof.conformance.vectors.suite import Vector
from peerproof.spec.protocols import PROTOCOLS

#: Mutants that are tried before vectors that have detected one are put aside.
FEW: Final = 100


def found_out(protocol: str) -> dict[str, str]:
    """By mistake: the first vector made from a state graph that it fails, also alone."""
    mistakes, vectors, _ = score(protocol)
    by_id = {vector.id: vector for vector in vectors}
    first = dict[str, str]()
    for variant in mistakes.variants:
        results = judged(f"py:{path_of(variant)}", vectors, fail_fast=True)
        for by in (result.vector for result in results if STATUSES[result.status]):
            if failed(path_of(variant), [by_id[by]]):
                first[variant.__name__] = by
    return first


def _batches(mutants: Sequence[Mutant]) -> Iterator[Sequence[Mutant]]:
    rest = iter(mutants)
    while some := list(islice(rest, FEW)):
        yield some


def detected(protocol: str, vectors: Sequence[Vector], before: Mapping[str, str]) -> dict[str, str]:
    """
    By vector: a mutant that it detects, and few others do, as one that all detect says nothing about any.

    What was found before is tried first, then all, few at a time, on what is left.
    """
    left = {vector.id: vector for vector in vectors}
    found = dict[str, str]()
    mutants = select_mutants(protocol, unlisted=True)
    Random(len(mutants)).shuffle(mutants)
    mutants.sort(key=lambda mutant: mutant.id not in before.values())
    for some in _batches(mutants):
        if not left:
            break
        for mutant, by in detecting(some, vectors).items():
            for vector in by & left.keys() if len(by) <= MOST_KILLERS else ():
                found[vector] = mutant
                del left[vector]
        print(f"{protocol}: {len(left):,} of {len(vectors):,} vectors have detected no mutant yet", file=sys.stderr)
    return found


def caught(mistakes: Mistakes, vectors: Sequence[Vector]) -> dict[str, str]:
    """By vector: the first mistake that it catches, also without the vectors that it does not catch."""
    left = {vector.id: vector for vector in vectors}
    first = dict[str, str]()
    for variant in mistakes.variants:
        failures = failed(path_of(variant), list(left.values()))
        for vector in failed(path_of(variant), [left[vector] for vector in sorted(failures)]):
            first[vector] = variant.__name__
            del left[vector]
    return first


def main(chosen: list[str]) -> None:
    """Both, of the chosen protocols or of all."""
    found = (
        json.loads(KNOWN.read_text(encoding="utf-8"))
        if KNOWN.exists()
        else {"vector of a model": {}, "mistake": {}, "mutant": {}}
    )
    for protocol in chosen or PROTOCOLS:
        found["vector of a model"][protocol] = found_out(protocol)
        left = [vector for vector in Mistakes(protocol).made_for_none() if "anchor" not in vector.flags]
        found["mistake"][protocol] = mistakes = caught(Mistakes(protocol), left)
        left = [vector for vector in left if vector.id not in mistakes]
        found["mutant"][protocol] = mutants = detected(protocol, left, found["mutant"].get(protocol, {}))
        print(*(f"catches nothing: {vector.id}" for vector in left if vector.id not in mutants), sep="\n", file=sys.stderr)
    KNOWN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
