"""
Runs all stages in order: simulate or ingest, validate, measure, report.

  peerproof pipeline run --examples --output out             the bundled example traces; one of them is wrong
  peerproof pipeline run node*.jsonl --output out            logs
  peerproof pipeline run cluster.pcap --input-format pcap --protocol scuttlebutt --output out
  peerproof pipeline run --simulate scuttlebutt --runs 100 --output out

After a kill at any moment, the same command continues. The page is out/report.html. `peerproof pipeline STAGE --help` describes
each stage and its further options; the stages can also run one by one in the same folder.
Exits with 1 if validate has findings; the other stages still run.
"""

from __future__ import annotations

import io
import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import count
from peerproof.cli.exits import FAILED, NOTHING, OK, OWN_FAULT, UNUSABLE, Refusal
from peerproof.cli.parser import Parser
from peerproof.cli.pipeline.measure import add_shared_clock
from peerproof.cli.pipeline.options import CANNOT_RUN, add_complete, add_input, add_out, add_spark, engine, stage
from peerproof.conformance.suite.locations import examples, path_text

if TYPE_CHECKING:
    from peerproof.pipeline.spark.execution import Engine


EXITS: Final = {
    OK: "all stages ran, and validate found nothing",
    FAILED: "validate found a violation, or a fault of a log",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "nothing to read, or nothing readable",
    OWN_FAULT: "internal error, such as records that are missing from the sum of ingest",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="logs or captures")
    add_input(parser)
    add_shared_clock(parser)
    add_complete(parser)
    add("--examples", action="store_true", help="use the bundled example traces instead of files")
    add("--simulate", metavar="PROTOCOL", help="simulate this protocol instead of reading files")
    add("--runs", type=count, metavar="N", help="with --simulate: number of runs")
    add("--grid", metavar="FILE", help="with --simulate: configurations in YAML")
    add("--seed", metavar="SEED", help="with --simulate: random seed (default 0)")
    add_out(parser)
    add_spark(parser)


@stage
def run(args: Namespace) -> int:
    """Runs the stages."""
    if problem := _contradiction(args):
        raise Refusal(problem)
    if args.examples:
        args.files = [path_text(path) for path in examples()]
        args.shared_clock = True
    begun = time.monotonic()
    facts: dict[str, Any] = {}
    worst = OK
    with engine(args) as spark:
        for stage, arguments in _stages(args):
            code, facts[stage] = _run_stage(args, spark, stage, arguments)
            if code not in (OK, FAILED):
                return code
            worst = max(worst, code)
        facts |= {"wall_s": round(time.monotonic() - begun, 3), "spark_start_s": round(spark.start_s, 3)}
    if args.format == "json":
        print(json.dumps(facts))
    else:
        start = f", of which the start of Spark {spark.start_s:.1f} s" if spark.start_s else ""
        print(f"all stages: {facts['wall_s']:.1f} s{start}")
        if worst == FAILED:
            print("exit 1: a node violates the protocol, or a log has faults; see validate above")
    return worst


def _contradiction(args: Namespace) -> str | None:
    if args.simulate or args.examples:
        kind = "--simulate" if args.simulate else "--examples"
        for option in ("files", "input_format", "mapping", "protocol", "port", "shared_clock"):
            if getattr(args, option):
                name = "the files" if option == "files" else f"--{option.replace('_', '-')}"
                return f"{kind} cannot be combined with {name}"
    if args.simulate:
        if args.examples:
            return "either --simulate or --examples"
        return None if args.runs else "--simulate needs --runs N"
    for option in ("runs", "grid", "seed"):
        if getattr(args, option):
            return f"--{option} is for --simulate"
    return None if args.files or args.examples else "no input: give files, --examples, or --simulate PROTOCOL --runs N"


def _stages(args: Namespace) -> list[tuple[str, list[str]]]:
    """Each stage and its arguments."""
    place, out = [f"--in={args.out}"], [f"--output={args.out}"]
    how = ["--format", args.format]
    if args.simulate:
        given = [("--runs", args.runs), ("--grid", args.grid), ("--seed", args.seed)]
        first = ("simulate", [args.simulate, *_option_args(given), *out, *how])
    else:
        ports = [("--port", port) for port in args.port or ()]
        given = [("--input-format", args.input_format), ("--mapping", args.mapping), ("--protocol", args.protocol), *ports]
        files = [f"./{name}" if name.startswith("-") else name for name in args.files]
        first = ("ingest", [*files, *_option_args(given), *out, *how])
    return [
        first,
        ("validate", [*place, *out, *how, *(["--complete"] if args.complete else [])]),
        ("measure", [*place, *how, *(["--shared-clock"] if args.shared_clock else [])]),
        ("report", [*place, *how]),
    ]


def _option_args(options: Sequence[tuple[str, object]]) -> list[str]:
    return [f"{name}={value}" for name, value in options if value is not None]


def _run_stage(args: Namespace, spark: Engine, stage: str, arguments: Sequence[str]) -> tuple[int, Any]:
    """Runs a stage with the shared Spark; returns its exit code, and its JSON output if there is any."""
    module = import_module(f"peerproof.cli.pipeline.{stage}")
    parser = Parser(prog=f"peerproof pipeline {stage}")
    module.configure(parser)
    given = parser.parse(arguments)
    given.engine = spark
    if args.format == "text":
        print(f"== {stage}", flush=True)
        return module.run(given), None
    with redirect_stdout(io.StringIO()) as printed:
        code = module.run(given)
    return code, json.loads(printed.getvalue()) if printed.getvalue() else None
