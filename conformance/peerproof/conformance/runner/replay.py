"""Cases tried exactly once each, on one process: what `peerproof replay` shows."""

from __future__ import annotations

from collections.abc import Sequence

from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.runner import missing
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.runner.worker import Control, Worker, skip_result


def replay_cases(chosen: Sequence[Case], adapter: Adapter, seed: str = "0") -> list[Result]:
    """
    Tries each case exactly once on an adapter, which is started before and stopped after; a result for each case, in their order.

    With the seed of a run, everything that is chosen at random is as in that run. What the implementation does not offer is
    skipped, and so is what follows after it has ended. Raises AdapterUnavailable if it cannot be started.
    """
    try:
        hello = adapter.start()
        lane = Worker(adapter, hello, seed, Control(most_restarts=1))
        results: list[Result] = []
        usable = True
        for case in chosen:
            if lacking := missing(case, hello):
                results.append(skip_result(case, lacking))
            elif not usable:
                results.append(skip_result(case, "the implementation has ended"))
            else:
                result, usable = lane.once(case)
                results.append(result)
    finally:
        adapter.stop()
    return results
