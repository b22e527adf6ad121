"""
From logs, captures and simulations of any size to a verdict, on Spark: on this machine, or on a cluster unchanged.

  peerproof pipeline run --examples --out out      everything, on bundled traces; the page is out/report.html
  peerproof pipeline run node*.jsonl --out out
  peerproof pipeline status --in out
  peerproof pipeline simulate --help               each stage explains itself

A stage writes a batch into the folder of --out. It can be killed at any moment: run the same command again, and what was
finished is not done again, nothing is lost and nothing is there twice. A finished batch names the inputs, versions, seeds
and arguments that made it; other arguments for the same folder are refused.

Needs the extra: pip install 'peerproof[pipeline]', and Java 17 or newer, but for --master none, which is one process
without Spark. `peerproof pipeline warm`, once, makes Spark start faster. On a cluster (--master spark://HOST:PORT, or
--remote sc://HOST:PORT) the folders must be ones that all machines see, and pyarrow and msgspec be installed on all.

exit codes of stages: 0 nothing found, 1 violations found, 2 usage or a place that is taken, 3 the job failed
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

from peerproof.cli.command import interruptible, refuse
from peerproof.cli.exits import UNUSABLE, Refusal

#: Stage, which is a module in `peerproof.cli.stages`, and what it does.
STAGES = (
    ("simulate", "seeded runs over a grid of parameters"),
    ("ingest", "logs and captures of any program"),
    ("validate", "hold what was logged, captured or simulated to the specification"),
    ("measure", "times, hops, messages and bytes, and their percentiles"),
    ("report", "one page of HTML about all that a folder holds"),
    ("run", "all of these in order"),
    ("matrix", "the vectors on several implementations at once"),
    ("status", "the batches of a folder, and whether they are complete"),
    ("gc", "remove what killed processes have left behind"),
    ("warm", "make Spark start faster on this machine, once"),
)


def configure(parser: ArgumentParser) -> None:
    """Declares the stages; each declares its options."""
    stages = parser.add_subparsers(dest="stage", metavar="STAGE", required=True)
    for name, about in STAGES:
        stage = import_module(f"peerproof.cli.stages.{name}")
        command = stages.add_parser(
            name, help=about, description=stage.__doc__, epilog=parser.epilog, formatter_class=parser.formatter_class
        )
        stage.configure(command)


def run(args: Namespace) -> int:
    """Runs a stage; what stops it is told in words."""
    prefix = f"peerproof pipeline {args.stage}: "
    try:
        from peerproof.pipeline.spark.spark_errors import SparkUnusable
        from peerproof.pipeline.storage.batches import Refused
        from peerproof.pipeline.storage.tables import WrongSchema
    except ImportError as error:
        raise Refusal(f"{prefix}needs the package {error.name}: pip install 'peerproof[pipeline]'", UNUSABLE) from None
    try:
        with interruptible(), refuse(Refused, WrongSchema, prefix=prefix), refuse(SparkUnusable, prefix=prefix, code=UNUSABLE):
            code: int = import_module(f"peerproof.cli.stages.{args.stage}").run(args)
    except BrokenPipeError:
        raise  # whoever read our output has gone
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        raise Refusal(f"{prefix}{problem.strerror or problem}{where}", UNUSABLE) from None
    return code
