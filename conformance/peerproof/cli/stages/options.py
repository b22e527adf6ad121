"""Options that several stages have, and how a stage says what it has done."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from peerproof.pipeline.spark.execution import Engine, Executed, Work
    from peerproof.pipeline.spark.work import Done, Show
    from peerproof.pipeline.storage.batches import Success
    from peerproof.pipeline.storage.tables import Table

LOCAL = "local[*,4]"  # as conformance.pipeline.session has it, which --help need not import


def add_out(parser: ArgumentParser) -> None:
    """`--out DIR`."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder that the batch goes to")


def add_in(parser: ArgumentParser) -> None:
    """`--in DIR`."""
    parser.add_argument("--in", type=Path, required=True, metavar="DIR", dest="place", help="a folder with batches")


def add_format(parser: ArgumentParser) -> None:
    """`--format text|json`."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed (default text)")


def add_spark(parser: ArgumentParser, *, printed: bool = True) -> None:
    """What says where and how Spark runs, and `--quiet`; and `--format` of what is `printed`, unless that word is taken."""
    group = parser.add_argument_group("Spark")
    add = group.add_argument
    add("--master", default=LOCAL, metavar="URL", help=f"local[2,4], spark://…, or none: no Spark, one process ({LOCAL})")
    add("--remote", metavar="URL", help="a Spark Connect server, sc://HOST:PORT, instead of a master")
    add("--conf", action="append", default=[], type=_pair, metavar="NAME=VALUE", help="Spark's own; may be repeated")
    add("--log", type=Path, metavar="FILE", help="keep what Java and Spark say; else it is not shown")
    add("--full-java", action="store_true", help="a Java that compiles to the full: slower to start, for long shuffles")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    if printed:
        add_format(parser)


def engine(args: Namespace) -> AbstractContextManager[Engine]:
    """The Spark that the options ask for; it starts when a stage needs it. One that is shared with other stages goes on."""
    if hasattr(args, "engine"):
        return nullcontext(args.engine)
    from peerproof.pipeline.spark.execution import Engine
    from peerproof.pipeline.spark.session import Settings

    settings = Settings(args.master, args.remote, tuple(args.conf), quick=not args.full_java, log=args.log)
    return Engine(settings, told=lambda text: print(text, file=sys.stderr))


def progress_of(stage: str, args: Namespace) -> Callable[[str], Show]:
    """Gives each step of a stage its line of progress."""
    from peerproof.pipeline.spark.progress import Progress

    return lambda step: Progress(f"{stage}, {step}", quiet=args.quiet)


def last_lines(success: Success, done: Sequence[Done]) -> list[str]:
    """What a stage in steps took, and where its batch is."""
    if not done:
        return [f"committed before, nothing to do: {success.folder}"]
    took, peak = sum(each.wall_s for each in done), max(each.peak_mib for each in done)
    return [f"{took:.1f} s; a worker took at most {peak:.0f} MiB", f"committed: {success.folder}"]


def first_rows(success: Success, table: Table, most: int) -> list[dict[str, Any]]:
    """Some rows of a table of a committed batch."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types

    rows: list[dict[str, Any]] = []
    for file in success.files(table):
        rows += pq.ParquetFile(file).read_row_group(0).slice(0, most - len(rows)).to_pylist()
    return rows


def execute_stage(args: Namespace, spark: Engine, todo: Work) -> Executed:
    """Do a stage, showing how far it is, and print what came of it."""
    from peerproof.pipeline.spark.execution import execute
    from peerproof.pipeline.spark.progress import Progress

    progress = Progress(todo.plan.stage, quiet=args.quiet)
    try:
        result = execute(spark, args.out, todo, progress)
    finally:
        progress.clear()
    print_outcome(args, spark, result)
    return result


def print_outcome(args: Namespace, spark: Engine, result: Executed) -> None:
    """Print what came of a stage."""
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
    told, done = result.success.told, result.done
    width = max(len(name) for name in told["tables"])
    lines = [f"{name:{width}}  {total['rows']:>12,} rows  digest {total['digest']}" for name, total in told["tables"].items()]
    if done is None:
        return "\n".join((*lines, f"committed before, nothing to do: {result.success.folder}"))
    before = f", {done.found_finished:,} of them finished before" if done.found_finished else ""
    start = f", and {spark.start_s:.1f} s the start of Spark" if spark.start_s else ""
    lines += [
        f"{done.units:,} units{before}: {done.wall_s:.1f} s{start}; a worker took at most {done.peak_mib:.0f} MiB",
        f"committed: {result.success.folder}",
    ]
    return "\n".join(lines)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArgumentTypeError(f"{text!r}: expected NAME=VALUE, as in spark.driver.memory=4g")
    return name, value
