"""
Reads logs and captures of any program into the tables `traces` and `runs`, and unreadable records into `quarantine`.

  peerproof pipeline ingest node*.jsonl --output out                               trace lines of reference nodes
  peerproof pipeline ingest node*.log.gz --mapping mapping.yaml --output out       JSON lines of any other program
  peerproof pipeline ingest cluster.pcap --input-format pcap --protocol scuttlebutt --port 8119 --output out

A mapping gives the meaning of each field of a foreign log; the page "Read the logs and captures of a cluster" shows one, and how
to capture. A message of a capture becomes two rows, one of its sender and one of its receiver. Files may be compressed with gzip.

Nothing is lost: the command prints the number of lines or packets, and how many of them became rows; if the numbers do not add
up it exits with 5. Unreadable records are in `quarantine`, with their place, the reason and their first bytes.
Exits with 4 if there was nothing to read, or nothing readable.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from peerproof.cli.command import refuse
from peerproof.cli.console import warn
from peerproof.cli.exits import NOTHING, OK, OWN_FAULT, UNUSABLE, Refusal
from peerproof.cli.options import check_protocol
from peerproof.cli.pipeline.options import (
    CANNOT_RUN,
    add_input,
    add_out,
    add_spark,
    engine,
    first_rows,
    last_lines,
    progress_of,
    stage,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from peerproof.pipeline.stages.ingest import Ingested, Reading

#: Rows of quarantine that are shown as examples.
EXAMPLES = 3

#: Names without an entry that are shown.
NAMES = 5


EXITS: Final = {
    OK: "every record is in the tables, or in quarantine",
    UNUSABLE: CANNOT_RUN,
    NOTHING: "nothing to read, or nothing readable",
    OWN_FAULT: "internal error, or the numbers of records do not add up",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="logs or captures")
    add_input(parser)
    add("--impl", metavar="NAME", help="of a capture: the implementation (default unknown)")
    add("--run", metavar="NAME", help="name of the run, of a capture or a log without one (default log or capture)")
    add_out(parser)
    add_spark(parser)


@stage
def run(args: Namespace) -> int:
    """Reads the files."""
    from peerproof.conformance.captures.byte_source import InputChanged
    from peerproof.conformance.suite.strict_yaml import VectorError
    from peerproof.pipeline.ingest.inputs import BadInput
    from peerproof.pipeline.stages.ingest import WrongSum, execute

    args.input_format = args.input_format or "jsonl"
    if problem := _contradiction(args):
        raise Refusal(problem)
    with refuse(BadInput, VectorError):
        reading = _reading(args)
    empty = [file.name for file in reading.files if not file.size]
    for name in empty:
        warn(f"{name} is empty")
    if len(empty) == len(reading.files):
        raise Refusal("nothing to read: every file is empty", NOTHING)
    try:
        with refuse(InputChanged), engine(args) as spark:
            result = execute(spark, args.out, reading, progress_of("ingest"))
    except WrongSum as error:
        message = f"internal error: {error}; nothing was committed"
        raise Refusal(message, OWN_FAULT) from None
    for remark in _remarks_on_names(result):
        warn(remark)
    print(json.dumps(_plain(result)) if args.format == "json" else _text(result, reading), flush=True)
    if not result.counts["traces"]:
        raise _nothing_read(args)
    return OK


def _nothing_read(args: Namespace) -> Refusal:
    if args.input_format != "jsonl":
        return Refusal(f"no message of {args.protocol} was found", NOTHING, tip="are --protocol and --port right?")
    if args.mapping:
        return Refusal("no event could be read", NOTHING, tip=f"is the mapping {args.mapping} right?")
    tip = 'for a log of another program write a mapping: --mapping FILE; see the page "Read the logs and captures of a cluster"'
    return Refusal("no event could be read: these are no traces of peerproof", NOTHING, tip=tip)


def _contradiction(args: Namespace) -> str | None:
    from peerproof.reference.protocols.registry import RUNTIMES

    if args.input_format == "jsonl":
        for option in ("protocol", "port", "impl"):
            if getattr(args, option):
                return f"--{option} is for captures; a log or its mapping has its own"
    else:
        if args.mapping:
            return "--mapping is for logs; a capture is described by --protocol and --port"
        if args.protocol is None:
            return f"a capture needs --protocol, one of {', '.join(RUNTIMES)}"
        check_protocol(args.protocol, RUNTIMES)
    return None


def _reading(args: Namespace) -> Reading:
    from peerproof.pipeline.ingest.inputs import BadInput, inputs
    from peerproof.pipeline.ingest.mapping import load
    from peerproof.pipeline.stages.ingest import Reading

    mapping = None
    if args.mapping:
        try:
            source = args.mapping.read_bytes()
        except OSError as error:
            raise BadInput(f"cannot read the mapping {args.mapping}: {error.strerror}") from None
        load(source, str(args.mapping))
        mapping = str(args.mapping), source.decode()
    return Reading(
        inputs(args.files, args.input_format),
        args.input_format,
        protocol=args.protocol,
        impl=args.impl or "unknown",
        run=args.run,
        ports=tuple(sorted(set(args.port or ()))),
        mapping=mapping,
    )


def _remarks_on_names(result: Ingested) -> Iterator[str]:
    """Yields what does not fit in `names` of the mapping: the names of the log, and the entries."""
    unused, unlisted = result.names["unused"], result.names["unlisted"]
    parts = [f"{', '.join(unused)} {_verb(unused, 'occurs', 'occur')} in no line"] if unused else []
    if unlisted:
        counted = [f"{name} ({'once' if count == 1 else f'{count:,} times'})" for name, count in unlisted.items()]
        shown = ", ".join([*counted[:NAMES], *([f"{len(counted) - NAMES:,} more"] if len(counted) > NAMES else [])])
        parts.append(f"{shown} {_verb(unlisted, 'is', 'are')} named by no entry")
    if parts:
        yield f"names: {'; '.join(parts)}"


def _verb(names: Collection[str], one: str, several: str) -> str:
    return one if len(names) == 1 else several


def _plain(result: Ingested) -> dict[str, object]:
    return {"folder": str(result.success.folder), **result.success.told, "already_committed": not result.done}


def _text(result: Ingested, reading: Reading) -> str:
    counts = result.counts
    whats = ("lines", "events") if reading.form == "jsonl" else ("packets", "messages")
    events = counts["traces"] if reading.form == "jsonl" else counts["messages"]
    left_out = counts.get("left_out", 0)
    aside = f"{counts['quarantine']:,} quarantined + {left_out:,} left out"
    lines = [f"{counts['records']:,} {whats[0]} in = {events:,} {whats[1]} + {aside}"]
    if counts.get("segments"):
        lines[0] += f"; a TCP stream counts by its messages, in {counts['segments']:,} packets"
        lines += [f"{counts['acknowledgements']:,} acknowledgements"] if "acknowledgements" in counts else []
    parts = [f"{count:,} {name.partition(': ')[2]}" for name, count in counts.items() if name.startswith("left out: ")]
    if parts:
        lines.append(f"left out: {', '.join(parts)}")
    if counts["quarantine"]:
        reasons = [f"{count:,} {name.partition(': ')[2]}" for name, count in counts.items() if name.startswith("quarantined: ")]
        lines += [f"quarantined: {', '.join(reasons)}; for example", *_examples(result)]
    return "\n".join([*lines, *last_lines(result.success, result.done)])


def _examples(result: Ingested) -> list[str]:
    from peerproof.pipeline.storage.tables import QUARANTINE

    shown: list[str] = []
    for row in first_rows(result.success, QUARANTINE, EXAMPLES):
        place = f":{row['line_no']}" if row["line_no"] else f", byte {row['src_off']}"
        shown.append(f"  {row['src_file']}{place}: {row['reason_code']}: {row['detail']}")
    return shown
