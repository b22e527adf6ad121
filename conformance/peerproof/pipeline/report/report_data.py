"""The data of a report: a summary of the committed batches of a place. Memory is proportional to the size of the page."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from peerproof.conformance.traces.findings import SEVERITIES
from peerproof.pipeline.storage.batches import Success, find_uncommitted, successes
from peerproof.pipeline.storage.tables import (
    METRICS,
    QUARANTINE,
    RUNS,
    SUMMARIES,
    TRACES,
    VERDICTS,
    VIOLATIONS,
    Table,
)
from peerproof.spec.forms.form import Plain

#: Maximum rows of a table.
SHOWN: Final = 20

#: Severity of a finding -> verdict, worst first; faults of the log have no verdict.
VERDICT_OF: Final = {"violates": "rejected", "undetermined": "undetermined", "differs": "differs"}

#: Maximum points of a curve over rounds.
POINTS: Final = 400

#: The metrics with a curve over rounds.
BY_ROUND: Final = ("messages_sent", "bytes_sent", "delivered", "misdelivered", "events_delivered")

Row = Mapping[str, Any]


class NothingToReport(Exception):
    """There is no committed batch; the message says what to do."""


@dataclass
class Gathered:
    """The data of a report."""

    batches: Sequence[Success]
    unfinished: Sequence[str]  #: batches that are not committed
    runs: int = 0
    events: int = 0
    protocols: Sequence[str] = ()
    #: Protocol, way, verdict -> nodes, events, checked events.
    ways: Mapping[tuple[str, str, str], tuple[int, int, int]] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    severities: Mapping[tuple[str, str], int] = field(default_factory=dict)  #: severity, property -> times
    violations: Sequence[Row] = ()
    sums: Sequence[Mapping[str, int]] = ()  #: of each ingest, the counts of its records
    reasons: Mapping[str, int] = field(default_factory=dict)
    quarantined: Sequence[Row] = ()
    summaries: Sequence[Row] = ()
    #: protocol, metric -> round, mean
    curves: Mapping[tuple[str, str], Sequence[tuple[int, float]]] = field(default_factory=dict)

    @property
    def is_validated(self) -> bool:
        """Whether the place has been validated."""
        return any(batch.told["stage"] == "validate" for batch in self.batches)

    def count(self, verdict: str) -> int:
        """Returns the number of nodes, and of runs as a whole, with this verdict."""
        return sum(nodes for (_, _, found), (nodes, _, _) in self.ways.items() if found == verdict)

    @property
    def verdict(self) -> str:
        """The worst verdict; undetermined is worse than accepted."""
        if not self.is_validated:
            return "not validated"
        for severity, verdict in VERDICT_OF.items():
            if self.count(verdict) or any(found == severity for found, _ in self.severities):
                return verdict
        return "accepted" if self.count("accepted") else "nothing judged"

    @property
    def shown_verdict(self) -> str:
        """The verdict, and whether the log has faults, which no verdict on a node counts."""
        has_faults = any(found == "log" for found, _ in self.severities)
        return f"{self.verdict}, but the log has faults" if has_faults and self.verdict != "rejected" else self.verdict


def gather(place: Path) -> Gathered:
    """Collects the data of the committed batches of a place. Raises NothingToReport, WrongSchema."""
    batches = successes(place)
    if not batches:
        raise NothingToReport(f"no committed batch in {place}: run simulate or ingest with --output {place} first, to its end")
    found = Gathered(batches, [folder.name for folder in find_uncommitted(place)])
    found.runs = sum(batch.rows(RUNS) for batch in batches)
    found.events = sum(batch.rows(TRACES) for batch in batches)
    _verdicts(found)
    _violations(found)
    _quarantine(found)
    found.summaries = [row for batch in _read(batches, SUMMARIES) for row in batch.to_pylist()]
    _curves(found)
    found.protocols = sorted({name for name, _, _ in found.ways} | {row["protocol"] for row in found.summaries})
    return found


def _read(batches: Iterable[Success], table: Table, columns: Sequence[str] | None = None) -> Iterator[Any]:
    for success in batches:
        for file in success.files(table):
            yield from pq.ParquetFile(file).iter_batches(columns=columns)


def _count_rows(batch: Any, by: Sequence[str], summed: Sequence[str] = ()) -> Iterator[Row]:
    aggregates = [(name, "sum") for name in summed]
    yield from pa.Table.from_batches([batch]).group_by(list(by)).aggregate([*aggregates, ([], "count_all")]).to_pylist()


def _verdicts(found: Gathered) -> None:
    ways: dict[tuple[str, str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    remarks: Counter[str] = Counter()
    for batch in _read(found.batches, VERDICTS, ["protocol", "way", "verdict", "n_events", "judged", "remark"]):
        for row in _count_rows(batch, ("protocol", "way", "verdict"), ("n_events", "judged")):
            key = row["protocol"], row["way"], row["verdict"]
            nodes, events, judged = ways[key]
            ways[key] = nodes + row["count_all"], events + row["n_events_sum"], judged + row["judged_sum"]
        for row in _count_rows(batch, ("remark",)):
            if row["remark"] and (row["remark"] in remarks or len(remarks) < SHOWN):
                remarks[row["remark"]] += row["count_all"]
    found.ways, found.remarks = dict(sorted(ways.items())), dict(remarks)


def _violations(found: Gathered) -> None:
    """Selects the first violation of each kind, then more of the worst, up to `SHOWN`."""
    severities: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Row] = {}
    further: dict[str, list[Row]] = defaultdict(list)
    for batch in _read(found.batches, VIOLATIONS):
        for row in _count_rows(batch, ("severity", "property"), ("times",)):
            severities[row["severity"], row["property"] or ""] += row["times_sum"]
        for row in batch.to_pylist():
            if row["property"] is None:  # only a count of violations of further rules
                continue
            kind = row["severity"], row["property"]
            if kind not in first and len(first) < SHOWN:
                first[kind] = row
            elif len(further[row["severity"]]) < SHOWN:
                further[row["severity"]].append(row)
    rank: dict[str, int] = {severity: number for number, severity in enumerate(SEVERITIES)}
    found.severities = dict(sorted(severities.items(), key=lambda kind: (rank.get(kind[0][0], len(rank)), kind[0][1])))
    room = SHOWN - len(first)
    more = [row for severity in SEVERITIES for row in further[severity]][:room]
    found.violations = sorted([*first.values(), *more], key=lambda row: rank.get(row["severity"], len(rank)))


def _quarantine(found: Gathered) -> None:
    found.sums = [batch.told["counts"] for batch in found.batches if "counts" in batch.told and batch.told["stage"] == "ingest"]
    reasons: Counter[str] = Counter()
    shown: list[Row] = []
    for batch in _read(found.batches, QUARANTINE):
        for row in _count_rows(batch, ("reason_code",)):
            reasons[row["reason_code"]] += row["count_all"]
        shown += batch.slice(0, SHOWN - len(shown)).to_pylist()
    found.reasons, found.quarantined = dict(reasons.most_common()), shown


def _curves(found: Gathered) -> None:
    """Computes the mean over nodes, or messages, by round; if there are many rounds, consecutive rounds are combined."""
    last = max(
        (batch.column("round").drop_null().to_numpy().max(initial=0) for batch in _read(found.batches, METRICS, ["round"])),
        default=0,
    )
    step = int(last) // POINTS + 1
    totals: dict[tuple[str, str, int], tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for batch in _read(found.batches, METRICS, ["protocol", "metric", "round", "value"]):
        for row in _count_rows(batch, ("protocol", "metric", "round"), ("value",)):
            if row["metric"] in BY_ROUND and row["round"] is not None:
                key = row["protocol"], row["metric"], row["round"] // step * step
                total, count = totals[key]
                totals[key] = total + row["value_sum"], count + row["count_all"]
    curves: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for (protocol, metric, number), (total, count) in sorted(totals.items()):
        curves[protocol, metric].append((number, total / count))
    found.curves = dict(curves)


def configuration_names(configs: Iterable[str]) -> dict[str, str]:
    """Names each configuration by the members in which they differ."""
    plain: dict[str, Plain] = {}
    for config in configs:
        flat = _flat(json.loads(config)) if config else {}
        plain[config] = flat
    names = sorted({name for flat in plain.values() for name in flat})
    differing = [name for name in names if len({repr(flat.get(name)) for flat in plain.values()}) > 1]
    return {
        config: ", ".join(f"{name} {_value_text(flat[name])}" for name in differing if name in flat)
        or ("all runs" if config else "unknown")
        for config, flat in plain.items()
    }


def _flat(plain: Plain, where: str = "") -> dict[str, Plain]:
    if not isinstance(plain, dict):
        return {where: plain}
    return {name: part for key, value in plain.items() for name, part in _flat(value, f"{where}.{key}" if where else key).items()}


def _value_text(value: Plain) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
