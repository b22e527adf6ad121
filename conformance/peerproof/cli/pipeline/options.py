"""Options that several stages share, errors that end a stage, and the report of a finished stage."""

from __future__ import annotations

import errno
import json
import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from peerproof.cli.command import interruptible, refuse
from peerproof.cli.console import is_verbose, note, shows_progress
from peerproof.cli.exits import UNUSABLE, Refusal
from peerproof.cli.options import add_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from peerproof.pipeline.spark.execution import Engine, Executed, Work
    from peerproof.pipeline.spark.work import Done, Show
    from peerproof.pipeline.storage.batches import Success
    from peerproof.pipeline.storage.tables import Table

CANNOT_RUN: Final = "Spark, a package or a file cannot be used"  #: exit code 3 of every stage
EXTRA: Final = "pip install 'peerproof[pipeline]'"
PACKAGES: Final = ("numpy", "pandas", "pyarrow", "pyspark", "scapy")  #: of the extra
MAX_PORT: Final = 65_535
LOCAL = "local[*,4]"  # as in conformance.pipeline.session, which --help need not import


class Stage(Protocol):
    """A module of this folder."""

    def __call__(self, args: Namespace) -> int:
        """Runs the stage."""


def stage(run: Stage) -> Stage:
    """Turns the errors that stop a stage (Spark, the disk, a locked folder) into errors of the command."""

    @wraps(run)
    def wrapped(args: Namespace) -> int:
        try:
            from peerproof.pipeline.spark.spark_errors import SparkUnusable
            from peerproof.pipeline.storage.batches import Refused
            from peerproof.pipeline.storage.tables import WrongSchema

            with interruptible(), refuse(Refused, WrongSchema), refuse(SparkUnusable, code=UNUSABLE):
                return run(args)
        except ModuleNotFoundError as error:  # of one of them, also where others of the extra are there
            package = (error.name or "").partition(".")[0]
            if package not in PACKAGES:
                raise
            missing = [name for name in PACKAGES if find_spec(name) is None] or [package]
            raise Refusal(f"not installed: {', '.join(missing)}", UNUSABLE, tip=EXTRA) from None
        except BrokenPipeError:
            raise  # the reader of the output has exited
        except OSError as problem:
            raise _refusal_of(problem, args) from None

    return wrapped


def _refusal_of(problem: OSError, args: Namespace) -> Refusal:
    """Returns the error for a file that cannot be read or written. One without a name is of a table below --output."""
    path = problem.filename or getattr(args, "out", None) or getattr(args, "place", None)
    text = os.strerror(problem.errno) if problem.errno else str(problem)
    has_output = hasattr(args, "out") or hasattr(args, "output")
    tip = None
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        tip = "make room, then run the same command again: finished work is kept"
    elif problem.errno in (errno.EACCES, errno.EPERM):
        tip = f"give this user access{', or name another folder with --output' if has_output else ''}"
    elif problem.errno == errno.EROFS and has_output:
        tip = "name another folder with --output"
    return Refusal(f"{path}: {text}" if path else text, UNUSABLE, tip=tip)


def add_complete(parser: ArgumentParser) -> None:
    """Adds `--complete`."""
    parser.add_argument(
        "--complete",
        action="store_true",
        help="captures, and logs of messages alone, have every message in the order of sending; otherwise what a missing message "
        "would explain is undetermined",
    )


def add_out(parser: ArgumentParser, otherwise: str | None = None) -> None:
    """Adds `-o DIR`, `--output DIR`; required unless there is a default folder."""
    text = "folder that the batch is written to" + (f" (default: {otherwise})" if otherwise else "")
    parser.add_argument("-o", "--output", dest="out", type=Path, required=otherwise is None, metavar="DIR", help=text)


def add_input(parser: ArgumentParser) -> None:
    """What the input files are: `--input-format`, `--mapping` of logs, `--protocol` and `--port` of captures."""
    add = parser.add_argument
    add("--input-format", choices=("jsonl", "pcap", "pcapng"), help="format of the files (default jsonl)")
    add("--mapping", type=Path, metavar="FILE", help="which field of a log is what (default: trace lines of our nodes)")
    add("--protocol", metavar="NAME", help="protocol of a capture")
    add("--port", type=_port, action="append", metavar="N", help="of a capture: only packets of this port (repeatable)")


def add_in(parser: ArgumentParser) -> None:
    """Adds `--in DIR`."""
    parser.add_argument("--in", type=Path, required=True, metavar="DIR", dest="place", help="folder with batches")


def add_spark(parser: ArgumentParser) -> None:
    """Adds `--format`, and the options for Spark."""
    group = parser.add_argument_group("Spark")
    add = group.add_argument
    add(
        "--master",
        default=LOCAL,
        metavar="URL",
        help=f"local[2,4], spark://HOST:PORT, or none: one process without Spark (default {LOCAL})",
    )
    add("--remote", metavar="URL", help="Spark Connect server, sc://HOST:PORT, instead of a master")
    add("--conf", action="append", default=[], type=_pair, metavar="NAME=VALUE", help="setting of Spark (repeatable)")
    add("--log", type=Path, metavar="FILE", help="write the log of Java and Spark to this file (default: discarded)")
    add("--full-java", action="store_true", help="let Java compile fully: slower to start, faster in long shuffles")
    add_format(parser)


@contextmanager
def engine(args: Namespace) -> Iterator[Engine]:
    """A context with the Spark engine of the options; it starts when a stage needs it. A shared engine keeps running."""
    if hasattr(args, "engine"):
        yield args.engine
        return
    from peerproof.pipeline.spark.execution import Engine
    from peerproof.pipeline.spark.session import Settings

    settings = Settings(args.master, args.remote, tuple(args.conf), quick=not args.full_java, log=args.log)
    try:
        with Engine(settings, notify=note) as running:
            yield running
    except KeyboardInterrupt:
        note("finished work is kept: the same command goes on from there")
        raise


def progress_of(stage: str) -> Callable[[str], Show]:
    """Returns a function that makes the progress line of each step of a stage."""
    from peerproof.pipeline.spark.progress import Progress

    return lambda step: Progress(f"{stage}, {step}", quiet=not shows_progress())


def last_lines(success: Success, done: Sequence[Done]) -> list[str]:
    """Returns the lines about time, memory and batch of a stage in steps."""
    if not done:
        return [f"committed before, nothing to do: {success.folder}"]
    took, peak = sum(each.wall_s for each in done), max(each.peak_mib for each in done)
    return [f"{took:.1f} s{_memory(peak)}", f"committed: {success.folder}"]


def _memory(peak_mib: float) -> str:
    return f"; a worker took at most {peak_mib:.0f} MiB" if is_verbose() else ""


def first_rows(success: Success, table: Table, most: int) -> list[dict[str, Any]]:
    """Returns the first rows of a table of a committed batch."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

    rows: list[dict[str, Any]] = []
    for file in success.files(table):
        rows += pq.ParquetFile(file).read_row_group(0).slice(0, most - len(rows)).to_pylist()
    return rows


def execute_stage(args: Namespace, spark: Engine, todo: Work) -> Executed:
    """Runs a stage with a progress line, and prints the outcome."""
    from peerproof.pipeline.spark.execution import execute
    from peerproof.pipeline.spark.progress import Progress

    progress = Progress(todo.plan.stage, quiet=not shows_progress())
    try:
        result = execute(spark, args.out, todo, progress)
    finally:
        progress.clear()
    print_outcome(args, spark, result)
    return result


def print_outcome(args: Namespace, spark: Engine, result: Executed) -> None:
    """Prints the outcome of a stage."""
    print(json.dumps(_plain(spark, result)) if args.format == "json" else _text(spark, result), flush=True)


def _plain(spark: Engine, result: Executed) -> dict[str, object]:
    done = result.done
    return {
        "folder": str(result.success.folder),
        **result.success.told,
        "already_committed": done is None,
        "units_found_finished": done.found_finished if done else result.success.told["units"],
        "spark_start_s": round(spark.start_s, 3),
    }


def _text(spark: Engine, result: Executed) -> str:
    facts, done = result.success.told, result.done
    width = max(len(name) for name in facts["tables"])
    tables = facts["tables"].items() if is_verbose() else ()
    lines = [f"{name:{width}}  {total['rows']:>12,} rows  digest {total['digest']}" for name, total in tables]
    if done is None:
        return "\n".join((*lines, f"committed before, nothing to do: {result.success.folder}"))
    before = f", {done.found_finished:,} of them finished before" if done.found_finished else ""
    start = f", and {spark.start_s:.1f} s the start of Spark" if spark.start_s else ""
    lines += [
        f"{done.units:,} units{before}: {done.wall_s:.1f} s{start}{_memory(done.peak_mib)}",
        f"committed: {result.success.folder}",
    ]
    return "\n".join(lines)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"{text!r}: expected NAME=VALUE, as in spark.driver.memory=4g")
    return name, value


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:6]) <= MAX_PORT:
        raise ArgumentTypeError(f"{text!r}: expected a port, from 1 to {MAX_PORT}")
    return int(text)
