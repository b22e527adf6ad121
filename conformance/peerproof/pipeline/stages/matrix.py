"""
The stage `matrix`: vectors on several implementations, or on many variants of one, into `vector_results`.

A unit is some cases on one implementation, tried as `peerproof run` tries them: the same seed gives the same verdicts, however
cases are divided into units. The cases travel as a file in the batch's folder; an implementation has to be on every machine.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types

from peerproof.conformance.adapter.adapter import Adapter, AdapterUnavailable
from peerproof.conformance.adapter.implementation import create_adapter, program
from peerproof.conformance.runner import runner
from peerproof.conformance.runner.result import Result
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite.timeouts import Timeouts
from peerproof.conformance.traces.events import canonical_json
from peerproof.conformance.vectors.suite import Suite
from peerproof.pipeline.spark.execution import Engine, Executed
from peerproof.pipeline.spark.work import Show, work
from peerproof.pipeline.storage.batches import Batch, Output, Plan, Success, Unit, atomic_write
from peerproof.pipeline.storage.tables import VECTOR_RESULTS
from peerproof.pipeline.storage.versions import code_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What `--impl` calls the reference.
REFERENCE: Final = "reference"

#: A mutant of the specification is called this and its name.
MUTANT: Final = "mutant:"

#: Cases that one unit tries: seconds for most implementations.
CASES: Final = 500

#: The columns of a DataFrame of what to try: an implementation, and a JSON list of ids of cases.
TRIALS_DDL: Final = "impl STRING, cases STRING"
TRIALS: Final = pa.schema([("impl", pa.string()), ("cases", pa.string())])

_SUITE: Final = "cases.pickle"


@dataclass(frozen=True, slots=True)
class Matrix:
    """What to try, and how."""

    suite: Suite
    cases: Sequence[Case]
    implementations: Sequence[str]  #: as `--impl` of `peerproof run` says it, or `REFERENCE`, or `MUTANT` and a name
    reference: Sequence[str]  #: the command that is the reference
    mutant: Sequence[str] = ()  #: the command that is a mutant, if its name is added
    seed: str = "0"
    strict: bool = False
    patience: Timeouts = field(default_factory=Timeouts)

    def options(self) -> dict[str, Any]:
        """What a unit must know beside its cases."""
        patience = [self.patience.hello, self.patience.op, self.patience.bye]
        return {
            "version": self.suite.version,
            "seed": self.seed,
            "strict": self.strict,
            "patience": patience,
            "reference": list(self.reference),
            "mutant": list(self.mutant),
        }

    def plan(self) -> Plan:
        """What the batch is made from. Of an implementation, this is its name only: who changes one takes another place."""
        return Plan(
            "matrix",
            inputs=({"vectors": self.suite.version, "sha256": self.suite.digest},),
            arguments={
                "implementations": list(self.implementations),
                "cases": code_of(case.id for case in self.cases),
                "strict": self.strict,
                "patience": self.options()["patience"],
            },
            seeds=(self.seed,),
            versions={name: code_digest(f"peerproof.{name}") for name in ("conformance", "reference", "spec")},
        )

    def units(self) -> list[Unit]:
        """Cases in their order, for one implementation after the other."""
        ids = [case.id for case in self.cases]
        pieces = [ids[start : start + CASES] for start in range(0, len(ids), CASES)]
        tasks = [{"impl": impl, "cases": piece, **self.options()} for impl in self.implementations for piece in pieces]
        return [Unit(number, task, float(len(task["cases"]))) for number, task in enumerate(tasks)]


def code_of(ids: Iterable[str]) -> str:
    """A short name of a selection of cases."""
    return sha256("\n".join(ids).encode()).hexdigest()[:16]


def check(todo: Matrix) -> None:
    """Start each implementation once, here, except mutants. Raises AdapterUnavailable, which names the one that fails."""
    for implementation in todo.implementations:
        if implementation.startswith(MUTANT):
            continue
        try:
            adapter = _reach_adapter(implementation, todo.options())
            adapter.start()
        except AdapterUnavailable as error:
            raise AdapterUnavailable(f"{implementation}: {error}", error.errors) from None
        adapter.stop()


def execute(engine: Engine, place: Path, todo: Matrix, show: Show | None = None) -> Executed:
    """Try everything, or what is left of it, and commit it. Raises Refused, SparkUnusable, AdapterUnavailable."""
    with Batch.open(place, todo.plan()) as batch:
        if batch.is_committed:
            return Executed(Success.read(batch.folder), None)
        units = todo.units()
        left = {unit.name for unit in units} - batch.find_finished()
        file = batch.folder / _SUITE
        if left:
            keep(file, todo.cases)
        done = work(engine.spark if left else None, batch, units, partial(_try_unit, file), show)
        success = batch.commit(units, (VECTOR_RESULTS,), peak_mib=done.peak_mib)
        file.unlink(missing_ok=True)
        return Executed(success, done)


def keep(file: Path, cases: Sequence[Case]) -> None:
    """Write cases to a file that the workers read; it is for them alone, and trusted as code is."""
    with atomic_write(file) as unfinished:
        unfinished.write_bytes(pickle.dumps({case.id: case for case in cases}))


@lru_cache(1)
def _load_cases(file: Path, _changed: int) -> dict[str, Case]:
    cases: dict[str, Case] = pickle.loads(file.read_bytes())
    return cases


def _try_unit(file: Path, unit: Unit, output: Output) -> None:
    rows = run_cases(file, unit.task["impl"], unit.task["cases"], unit.task)
    output.write(VECTOR_RESULTS, VECTOR_RESULTS.batch(rows))


def run_cases(file: Path, implementation: str, ids: Sequence[str], options: Any) -> list[tuple[Any, ...]]:
    """
    Rows of `vector_results`: each of these cases on one implementation.

    Raises AdapterUnavailable, except of a mutant: one that cannot even be loaded has crashed in every case.
    """
    known = _load_cases(file, file.stat().st_mtime_ns)
    try:
        results = _results(implementation, [known[name] for name in ids], options)
    except AdapterUnavailable:
        if not implementation.startswith(MUTANT):
            raise
        return [(options["version"], name, implementation, "crashed", None, None, 0) for name in ids]
    return [_row(options["version"], implementation, results[name]) for name in ids]


def _results(implementation: str, cases: Sequence[Case], options: Any) -> dict[str, Result]:
    results: dict[str, Result] = {}

    def take(result: Result) -> bool:
        results[result.id] = result
        return False

    first = _reach_adapter(implementation, options)
    hello = first.start()
    # However often it has to be started again: no case is left out because of others in its unit.
    decisions = "strict" if implementation.startswith(MUTANT) else "report"  # whatever notices a mutant has killed it
    restarts = 10 * len(cases) + 20
    settings = runner.Settings(options["seed"], most_restarts=restarts, strict=options["strict"], decisions=decisions)
    end = runner.run(lambda: _reach_adapter(implementation, options), first, hello, cases, settings, take)
    if end.because is not None:
        raise AdapterUnavailable(f"{implementation}: {end.because}")
    return results


def _reach_adapter(implementation: str, options: Any) -> Adapter:
    patience = Timeouts(*options["patience"])
    if implementation == REFERENCE:
        return program(options["reference"], patience, options["version"])
    if implementation.startswith(MUTANT):
        return program([*options["mutant"], implementation.removeprefix(MUTANT)], patience, options["version"])
    return create_adapter(implementation, options["version"], patience)


def _row(version: str, implementation: str, result: Result) -> tuple[Any, ...]:
    difference = result.difference
    return (
        version,
        result.id,
        implementation,
        result.status,
        None if difference is None else canonical_json({"where": difference.where, "value": difference.expected}),
        None if difference is None else canonical_json({"where": difference.where, "value": difference.actual}),
        round((result.milliseconds or 0) * 1000),
    )


def matrix(trials: DataFrame, file: Path, options: Any) -> DataFrame:
    """A DataFrame of `vector_results` from one with the columns of `TRIALS`; `file` is what `keep` has written."""
    return trials.mapInArrow(trying(file, options), VECTOR_RESULTS.ddl)


def trying(file: Path, options: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A generator from batches of trials to those of `vector_results`."""

    def results(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for row in batch.to_pylist():
                yield VECTOR_RESULTS.batch(run_cases(file, row["impl"], json.loads(row["cases"]), options))

    return results
