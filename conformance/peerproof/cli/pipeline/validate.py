"""
Checks logs, captures and simulations against the specification, into the tables `violations` and `verdicts`.

  peerproof pipeline ingest node*.jsonl --output out && peerproof pipeline validate --in out --output out
  peerproof pipeline validate --in out --run r1 --node a:1        show one node again
  peerproof pipeline validate --in out --run r1 --node a:1 --event 7     show one finding: the command that each names
  peerproof pipeline validate --follow logs                       watch the traces that running nodes write there

How a node is checked depends on its log. Replay: if all random choices and effects are logged, the specification must do the
same, step by step, up to the state's digest. Relation: if the start and the events are logged, some outcome of the specification
must explain each step; all possible states are tracked, up to --states. Monitor: if only messages are known, as in a capture,
they are checked against the protocol's rules for messages; some of those need every message (--complete). For a run whose nodes
are replayed, the protocol's properties are also checked at every instant of the cluster.

A verdict is accepted, rejected (a violation of the protocol's document), differs (only from this project's decisions, where the
document is silent) or undetermined (some events could not be checked). Faults of the log (lost, duplicated, swapped or unreadable
lines, clocks that jump) are reported separately from those of the protocol.

Exits with 1 on any violation or fault of a log; neither a difference from decisions nor what is undetermined is one. --follow
runs until Ctrl-C, then exits with 1 if it has printed one.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli.command import count, json_object, refuse
from peerproof.cli.exits import FAILED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.pipeline.options import (
    CANNOT_RUN,
    add_complete,
    add_out,
    add_spark,
    engine,
    first_rows,
    last_lines,
    progress_of,
    stage,
)
from peerproof.cli.readings import add_readings, check_readings
from peerproof.cli.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from peerproof.pipeline.stages.validate import Validated, Validation

#: Way to check a node -> how it is called in the report.
WAYS: Final = {"replay": "replay", "relation": "relation", "monitor": "messages alone"}

#: Violations that are shown as examples, and as JSON.
EXAMPLES = 3
MOST_PLAIN = 1000


EXITS: Final = {
    OK: "no violation, and no fault of a log",
    FAILED: "a violation, or a fault of a log",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "no such run or node",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("--in", type=Path, metavar="DIR", dest="place", help="folder with batches of ingest or simulate")
    add("--follow", type=Path, metavar="DIR", help="watch the traces (*.jsonl) in a folder; needs no other folder")
    add("--run", metavar="NAME", help="with --in only: show what is found of this run's nodes together, or with --node of one")
    add("--node", metavar="NAME", help="with --run: only this node")
    add("--event", type=partial(count, least=0), metavar="N", help="with --node: only what is found at its event N")
    add("--config", type=json_object, default={}, metavar="JSON", help='of nodes whose log has no start, as {"max_payload": 512}')
    add_readings(parser)
    add_complete(parser)
    add("--states", type=count, default=256, metavar="N", help="possible states of one node that are carried (default 256)")
    add("--tries", type=count, default=20_000, metavar="N", help="random choices tried for one event (default 20000)")
    add(
        "--every",
        type=partial(count, least=0),
        default=1,
        metavar="N",
        help="check the whole cluster at every N-th instant; 0: never (default 1)",
    )
    add_out(parser, "none, with --run or --follow")
    add_spark(parser)


@stage
def run(args: Namespace) -> int:
    """Checks the nodes, and prints the verdicts."""
    if problem := _contradiction(args):
        raise Refusal(problem)
    from peerproof.pipeline.stages.verdict_counts import BadConfiguration, check_config, count_unchecked, count_verdicts

    with refuse(BadConfiguration, prefix="--config: "):
        check_config(args.config)
    check_readings(args.reading)
    if args.follow is not None:
        from peerproof.pipeline.judging.follow import follow

        if not args.follow.is_dir():
            raise Refusal(f"no folder {str(args.follow)!r}", tip="--follow takes the folder in which nodes write *.jsonl traces")
        return follow(args.follow, _validation(args).options, sys.stdout)
    if args.run is not None:
        return _print_findings(args)
    from peerproof.conformance.traces.findings import FAILING
    from peerproof.pipeline.stages.validate import execute

    with engine(args) as spark:
        result = execute(spark, args.out, _validation(args), progress_of("validate"))
    counts, unchecked = count_verdicts(result), count_unchecked(result)
    print(
        json.dumps(_plain(result, counts, unchecked)) if args.format == "json" else _text(result, counts, unchecked), flush=True
    )
    return FAILED if any(counts.get(f"violations {severity}") for severity in FAILING) else OK


def _contradiction(args: Namespace) -> str | None:
    if args.follow is not None:
        others = args.place or args.out or args.run or args.node or args.event is not None
        return "--follow takes no other folder, and no --run, --node or --event" if others else None
    if args.place is None:
        return "--in or --follow is missing: --in DIR is a folder that ingest or simulate have written"
    if args.node is not None and args.run is None:
        return "--node needs --run: nodes of different runs may have the same name"
    if args.event is not None and args.node is None:
        return "--event needs --node: every node counts its events"
    if (args.run is None) == (args.out is None):
        return "--output is missing, or --run NAME to show the findings of one run again"
    return None


def _validation(args: Namespace) -> Validation:
    from peerproof.pipeline.stages.validate import Validation

    place = args.follow if args.place is None else args.place
    return Validation(
        place, args.config, args.states, args.tries, args.every, complete=args.complete, readings=tuple(args.reading)
    )


def _print_findings(args: Namespace) -> int:
    from peerproof.conformance.traces.findings import FAILING
    from peerproof.pipeline.judging.again import findings
    from peerproof.pipeline.storage.tables import VIOLATIONS

    names = VIOLATIONS.schema.names
    with Ticker():  # it clears the line of any of them
        found = findings(_validation(args), args.run, args.node, _show_step)
    if not found:
        chosen = f"node {args.node} of run {args.run}" if args.node else f"run {args.run}"
        raise Refusal(f"there is no {chosen} in {args.place}", NOTHING)
    wrong = False
    for verdict, rows in found:
        violations = [dict(zip(names, row, strict=True)) for row in rows]
        if args.event is not None:
            violations = [violation | {"replay": ""} for violation in violations if violation["seq"] == args.event]
            if not violations:
                raise Refusal(f"nothing is found at event {args.event} of node {args.node}", NOTHING)
        wrong = wrong or any(violation["severity"] in FAILING for violation in violations)
        if args.format == "json":
            said = verdict._asdict() | {"unchecked": json.loads(verdict.unchecked or "{}")}
            print(json.dumps({"verdict": said, "violations": _plain_violations(violations, whole=True)}))
            continue
        who = f"node {verdict.node}" if verdict.node else "the cluster"
        judged = f"{verdict.judged:,} of {verdict.n_events:,} events"
        print(f"{who} in run {verdict.run_id}: {verdict.verdict}, by {verdict.way}: {judged}")
        if verdict.remark:
            print(f"  {verdict.remark}")
        for line in _unchecked(json.loads(verdict.unchecked or "{}")):
            print(f"  {line}")
        for violation in violations:
            print(_violation(violation, whole=True))
    return FAILED if wrong else OK


def _show_step(step: str) -> Callable[[int, int], None]:
    ticker = Ticker()
    return lambda done, total: ticker(step, done, total, "events")


def _plain(result: Validated, counts: dict[str, int], unchecked: dict[str, int]) -> dict[str, object]:
    from peerproof.pipeline.storage.tables import VIOLATIONS

    rows = first_rows(result.success, VIOLATIONS, MOST_PLAIN)
    return {
        "folder": str(result.success.folder),
        **result.success.told,
        "counts": counts,
        "unchecked": unchecked,
        "violations": _plain_violations(rows),
        "further_violations": result.success.rows(VIOLATIONS) - len(rows),
        "already_committed": not result.done,
    }


def _plain_violations(rows: Sequence[dict[str, Any]], *, whole: bool = False) -> list[dict[str, Any]]:
    from peerproof.conformance.traces.findings import plain_violation
    from peerproof.pipeline.ingest.inputs import find_line_numbers

    offsets: dict[str, list[int]] = {}
    for row in rows:
        if row["src_file"] is not None and row["src_off"] is not None:
            offsets.setdefault(row["src_file"], []).append(row["src_off"])
    lines = {name: find_line_numbers(name, each) for name, each in offsets.items()}
    return [plain_violation(row, lines.get(row["src_file"], {}).get(row["src_off"]), whole=whole) for row in rows]


def _text(result: Validated, counts: dict[str, int], unchecked: dict[str, int]) -> str:
    from peerproof.conformance.traces.findings import SEVERITIES
    from peerproof.conformance.traces.node_check import DIFFERS, VERDICTS
    from peerproof.pipeline.stages.verdict_counts import find_undetermined
    from peerproof.pipeline.storage.tables import VIOLATIONS

    lines = [f"{counts.get('events', 0):,} events"]
    for what, title in (("nodes", "nodes"), ("runs", "runs, all nodes of each together")):
        numbers = {verdict: counts.get(f"{what} {verdict}", 0) for verdict in VERDICTS}
        if what == "nodes" or any(numbers.values()):
            lines.append(f"{title}: {', '.join(f'{n:,} {verdict}' for verdict, n in numbers.items() if n or verdict != DIFFERS)}")
    if ways := ", ".join(_ways(counts)):
        lines[2:2] = [f"checked: {ways}", *_unchecked(unchecked)]
    parts = [f"{counts[f'violations {name}']:,} {name}" for name in SEVERITIES if f"violations {name}" in counts]
    lines.append(f"violations: {', '.join(parts) or 'none'}")
    lines += map(_violation, first_rows(result.success, VIOLATIONS, EXAMPLES))
    undetermined = find_undetermined(result)
    lines += [f"UNDETERMINED {who}: {why}" for who, why in undetermined[:EXAMPLES]]
    if len(undetermined) > EXAMPLES:
        lines.append(f"and {len(undetermined) - EXAMPLES:,} more undetermined ones, in the table verdicts")
    return "\n".join([*lines, *last_lines(result.success, result.done)])


def _ways(counts: dict[str, int]) -> Iterator[str]:
    """Yields how many nodes were checked in each way, and how many of their events, if not all."""
    for way, text in WAYS.items():
        if nodes := counts.get(f"by {way}"):
            checked, events = counts[f"checked by {way}"], counts[f"events by {way}"]
            of_all = f" ({checked:,} of {events:,} events)" if checked < events else ""
            yield f"{nodes:,} node{'s' if nodes > 1 else ''} by {text}{of_all}"


def _unchecked(reasons: dict[str, int]) -> Iterator[str]:
    """Yields how many events were not checked, for each reason."""
    for reason, events in reasons.items():
        yield f"not checked: {events:,} event{'s' if events > 1 else ''} {reason}"


def _violation(row: dict[str, Any], *, whole: bool = False) -> str:
    from peerproof.conformance.traces.findings import violation_text
    from peerproof.pipeline.ingest.inputs import find_line_number

    line = find_line_number(row["src_file"], row["src_off"])
    return violation_text({**row, "src_line": line}, whole=whole)
