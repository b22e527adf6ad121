"""Execution of a stage from its plan to its commit: finished units are not run again, and Spark starts only if any are left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from peerproof.pipeline.spark.session import Settings, session, ui_address
from peerproof.pipeline.spark.work import Done, Show, Stage, work
from peerproof.pipeline.storage.batches import Batch, Plan, Success, Unit
from peerproof.pipeline.storage.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Engine:
    """
    A Spark session that starts at first use and is shared by several stages. As a context, it stops the session.

    `spark`: a session that is already running and is not stopped.
    """

    def __init__(
        self, settings: Settings, notify: Callable[[str], None] = lambda _: None, spark: SparkSession | None = None
    ) -> None:
        self.start_s = 0.0  #: seconds that the start of Spark took
        self._settings = settings
        self._notify = notify
        self._begun = spark is not None
        self._spark = spark
        self._stack = ExitStack()

    @property
    def spark(self) -> SparkSession | None:
        """The session; None for `--master none`. Raises SparkUnusable."""
        if not self._begun:
            begun = time.monotonic()
            self._spark = self._stack.enter_context(session(self._settings))
            self._begun = True
            if self._spark is not None:
                self.start_s = time.monotonic() - begun
                if address := ui_address(self._spark):
                    self._notify(f"Spark's pages: {address}")
        return self._spark

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return self._stack.__exit__(kind, error, trace)


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a stage: its plan, its units, the function that runs a unit, and the tables that it writes."""

    plan: Plan
    units: Sequence[Unit]
    stage: Stage
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """A committed batch, and the resources used; None if it was already committed."""

    success: Success
    done: Done | None


def finish_units(engine: Engine, batch: Batch, units: Sequence[Unit], stage: Stage, show: Show | None) -> Done:
    """Runs the unfinished units. Spark starts only if there are any."""
    left = {unit.name for unit in units} - batch.find_finished()
    return work(engine.spark if left else None, batch, units, stage, show)


def execute(engine: Engine, place: Path, todo: Work, show: Show | None = None) -> Executed:
    """Runs the unfinished units of a stage and commits it. Raises Refused, SparkUnusable, and exceptions of the stage."""
    with Batch.open(place, todo.plan) as batch:
        if batch.is_committed:
            return Executed(Success.read(batch.folder), None)
        done = finish_units(engine, batch, todo.units, todo.stage, show)
        success = batch.commit(todo.units, todo.tables, peak_mib=done.peak_mib)
        return Executed(success, done)
