"""Counts of committed batches of `validate` and `matrix`: nodes, runs and cases by verdict."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.runner.result import STATUSES
from peerproof.conformance.traces.node_check import UNDETERMINED
from peerproof.pipeline.stages.matrix import Matrix
from peerproof.pipeline.stages.validate import Validated
from peerproof.pipeline.storage.batches import Success
from peerproof.pipeline.storage.tables import VECTOR_RESULTS, VERDICTS, VIOLATIONS
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain


class BadConfiguration(ValueError):
    """No protocol allows this configuration; the message says why, for each."""


def check_config(config: Mapping[str, Plain]) -> None:
    """
    Checks that some protocol allows a configuration. Raises BadConfiguration.

    >>> check_config({"max_payload": 512})
    """
    problems: list[str] = []
    for protocol in RUNTIMES.values():
        try:
            protocol.build_config(config, NodeId("127.0.0.1:1"), [])
        except ValueError as error:
            problems.append(f"{protocol.name}: {getattr(error, 'detail', None) or error}")
        else:
            return
    raise BadConfiguration("; ".join(problems))


def count_verdicts(result: Validated) -> dict[str, int]:
    """
    Counts the events, the nodes and runs of each verdict, and the violations of each severity; `violations` are all.

    For each way, `by replay` is the number of nodes, and `events by replay` and `checked by replay` those of their events.
    """
    counts: Counter[str] = Counter(violations=0)
    for file in result.success.files(VERDICTS):
        table = pq.read_table(file, columns=["way", "verdict", "n_events", "judged"], partitioning=None)
        for way, verdict, events, judged in zip(*(column.to_pylist() for column in table.columns), strict=True):
            if way == "cluster":
                counts[f"runs {verdict}"] += 1
                continue
            counts[f"nodes {verdict}"] += 1
            counts["events"] += events
            counts[f"by {way}"] += 1
            counts[f"events by {way}"] += events
            counts[f"checked by {way}"] += judged
    for file in result.success.files(VIOLATIONS):
        table = pq.read_table(file, columns=["severity", "times"], partitioning=None)
        for severity, times in zip(*(column.to_pylist() for column in table.columns), strict=True):
            counts[f"violations {severity}"] += times
            counts["violations"] += times
    return dict(sorted(counts.items()))


def count_unchecked(result: Validated) -> dict[str, int]:
    """Counts the events of nodes that were not checked, by reason, the most frequent first."""
    counts: Counter[str] = Counter()
    for file in result.success.files(VERDICTS):
        for reasons in pq.read_table(file, columns=["unchecked"], partitioning=None).column("unchecked").to_pylist():
            counts.update(json.loads(reasons or "{}"))
    return dict(counts.most_common())


def find_undetermined(result: Validated) -> list[tuple[str, str]]:
    """Returns the nodes without a verdict, and the runs whose nodes together have none, each with the reason."""
    found = []
    for file in result.success.files(VERDICTS):
        table = pq.read_table(file, columns=["run_id", "node", "verdict", "remark"], partitioning=None)
        for row in table.filter(pc.field("verdict") == UNDETERMINED).to_pylist():
            who = f"node {row['node']}" if row["node"] else "all nodes together"
            found.append((f"{who} in run {row['run_id']}", row["remark"] or "no event could be checked"))
    return found


def count_results(todo: Matrix, success: Success) -> dict[str, dict[str, int]]:
    """Counts the cases of each implementation by verdict."""
    counts: dict[str, dict[str, int]] = {implementation: {} for implementation in todo.implementations}
    for file in success.files(VECTOR_RESULTS):
        rows = pq.read_table(file, columns=["impl", "verdict"], partitioning=None).group_by(["impl", "verdict"])
        for row in rows.aggregate([([], "count_all")]).to_pylist():
            of = counts[row["impl"]]
            of[row["verdict"]] = of.get(row["verdict"], 0) + row["count_all"]
    return counts


def has_failure(counts: Mapping[str, Mapping[str, int]]) -> bool:
    """
    Whether a case of any implementation has a verdict that makes a run fail.

    >>> has_failure({"reference": {"passed": 2}}), has_failure({"mine": {"crashed": 1}})
    (False, True)
    """
    return any(STATUSES[verdict] for of in counts.values() for verdict in of)
