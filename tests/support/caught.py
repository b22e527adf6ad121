"""
What catches what, looked for and written down in caught.json: `python -m tests.support.caught [PROTOCOL...]` (minutes).

The tests hold each line of it to what it says. It is to be made anew when they ask for it: after vectors were added that were
made for no mistake, after vectors were made from other state graphs, and when more mistakes should be found out by those.
"""

from __future__ import annotations

import json
import sys

from tests.conformance.vectors.test_model_vectors import judged, score
from tests.support.catching import KNOWN, Mistakes, failed, path_of

from peerproof.conformance.runner.result import STATUSES
from peerproof.spec.protocols import PROTOCOLS


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


def caught(mistakes: Mistakes) -> dict[str, str]:
    """By vector: the first mistake that it catches, also without the vectors that it does not catch."""
    left = {vector.id: vector for vector in mistakes.made_for_none() if "anchor" not in vector.flags}
    first = dict[str, str]()
    for variant in mistakes.variants:
        failures = failed(path_of(variant), list(left.values()))
        for vector in failed(path_of(variant), [left[vector] for vector in sorted(failures)]):
            first[vector] = variant.__name__
            del left[vector]
    print(*(f"catches nothing: {vector}" for vector in left), sep="\n", file=sys.stderr)
    return first


def main(chosen: list[str]) -> None:
    """Both, of the chosen protocols or of all."""
    found = json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {"vector of a model": {}, "mistake": {}}
    for protocol in chosen or PROTOCOLS:
        found["vector of a model"][protocol] = found_out(protocol)
        found["mistake"][protocol] = caught(Mistakes(protocol))
    KNOWN.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
