"""
How fast logs and captures are read: lines and packets a second of CPU, beside the least that any program must do for them.

    python tests/benchmarks/ingest.py

Everything from the file to the committed tables, in this process and without Spark: reading, decoding by the codec, sorting
by node, Parquet, digests; a packet is two rows. Beside it, reading and decoding alone, without tables. The baselines only
read: `json.loads` of every line, and the headers of every packet by `struct`.
Both sides of a comparison run in turn in this process; the medians of several rounds are printed, and no result fails.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from _ratios import cpu, target
from tests.pipeline.frames import datagram, write_frames

from peerproof.conformance.captures.pcap import frames
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.captures.traffic import Traffic
from peerproof.conformance.suite.source import Source
from peerproof.pipeline.ingest.inputs import Format, inputs
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages.ingest import Reading, execute
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation.campaign import run as simulated
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.scuttlebutt import MESSAGE

ROUNDS = 3
LINES, PACKETS = 100_000, 200_000
LINES_TARGET, PACKETS_TARGET = 60_000, 100_000

#: A log as a program in Go might write it, with datagrams in Base64.
MAPPING = """\
format: 1
protocol: scuttlebutt
impl: gossipd
node: {field: node.addr}
time: {field: ts, format: iso8601}
ignore:
- {field: level, is: debug}
events:
- when: {field: msg, is: datagram received}
  kind: recv
  peer: {field: peer}
  bytes: {field: datagram, encoding: base64}
- when: {field: msg, is: datagram sent}
  kind: send
  peer: {field: peer}
  bytes: {field: datagram, encoding: base64}
- when: {field: msg, is: round}
  kind: timer
  args: {type: round}
"""

_HEADERS = struct.Struct(">12xHBxHxxHxBxx4s4sHHHxx").unpack_from


def simulated_lines() -> list[dict[str, Any]]:
    """What five nodes do in some hundred rounds."""
    lines: list[str] = []
    plan = Campaign(RUNTIMES["scuttlebutt"], {"interval": 1000, "max_payload": 1400, "detector": None}, 5, 300, "benchmark")
    simulated(plan, lines.append)
    return [json.loads(line) for line in lines]


def write_trace(path: Path, events: list[dict[str, Any]]) -> None:
    """Trace lines: the run again and again, each time under another name."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(LINES):
            event = events[number % len(events)]
            line = json.dumps({**event, "run": f"r{number // len(events)}"}, separators=(",", ":"))
            file.write(f"{line}\n")


def write_log(path: Path, events: list[dict[str, Any]]) -> None:
    """The same in other words."""
    random = Random(0)
    lines: list[dict[str, Any]] = []
    while len(lines) < LINES:
        for event in events:
            shown = f"2024-05-01T{len(lines) // 36_000 % 24:02}:{random.randrange(60):02}:{random.randrange(60):02}.123456Z"
            line: dict[str, Any] = {"level": "info", "ts": shown, "node": {"addr": event["node"], "zone": "a"}}
            if event["kind"] == "recv":
                data = base64.b64encode(MESSAGE.encode(MESSAGE.value(event["args"]))).decode()
                lines.append({**line, "msg": "datagram received", "peer": event["peer"], "datagram": data, "caller": "udp.go:88"})
            elif event["kind"] == "timer":
                lines.append({**line, "msg": "round", "caller": "gossip.go:41"})
            else:
                lines.append({**line, "level": "debug", "msg": "something else", "caller": "main.go:12"})
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines[:LINES]), "utf-8")


def write_capture(path: Path, events: list[dict[str, Any]]) -> None:
    """The datagrams that the nodes received, on Ethernet."""
    messages: list[bytes] = []
    for event in events:
        if event["kind"] == "recv":
            source, target = ((f"10.0.0.{event[end][1]}", 8119) for end in ("peer", "node"))
            messages.append(datagram(source, target, MESSAGE.encode(MESSAGE.value(event["args"]))))
    write_frames(path, ((number / 1000, messages[number % len(messages)]) for number in range(PACKETS)))


def loads_lines(path: Path) -> int:
    """The least for lines: each is read and parsed."""
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def unpack_packets(path: Path) -> int:
    """The least for packets: each is read, its headers are unpacked, its payload is cut out."""
    count = 0
    record = struct.Struct("<IIII").unpack
    with path.open("rb", buffering=2**20) as file:
        file.read(24)
        while header := file.read(16):
            _, _, size, _ = record(header)
            frame = file.read(size)
            _HEADERS(frame)
            count += bool(frame[42:])
    return count


def ingested(files: list[str], form: Format, mapping: str | None) -> int:
    """How many records were read into tables."""
    protocol = None if form == "jsonl" else "scuttlebutt"
    reading = Reading(inputs(files, form), form, protocol=protocol, mapping=("mapping.yaml", mapping) if mapping else None)
    with tempfile.TemporaryDirectory() as folder, Engine(Settings(master="none")) as engine:
        counts = execute(engine, Path(folder), reading, lambda _: None).counts
    assert counts["quarantine"] == 0
    return counts["records"]


def decoded(path: Path) -> int:
    """How many messages of a capture the codec has decoded."""
    specification = RUNTIMES["scuttlebutt"].specification()
    refused: list[Refusal] = []
    with Source(path) as source:
        count = sum(1 for _ in Traffic(specification, (), refused.append).messages(frames(source, refused.append)))
    assert not refused
    return count


def compare(what: str, wanted: int, baseline: str, ours: Callable[[], int], theirs: Callable[[], int]) -> None:
    """Prints a line."""
    count = ours()  # imports, and pools of memory
    rounds = [(count / cpu(ours), count / cpu(theirs)) for _ in range(ROUNDS)]
    found, bare = (median(values) for values in zip(*rounds, strict=True))
    print(f"{what:32} {found:9,.0f}/CPU-s {target(found, least=wanted)}; {baseline} {bare:11,.0f}; ratio {found / bare:.2f}")


def main() -> None:
    """Prints a line per comparison."""
    with tempfile.TemporaryDirectory() as folder:
        trace, log, capture = (Path(folder, name) for name in ("trace.jsonl", "gossipd.jsonl", "capture.pcap"))
        events = simulated_lines()
        for write, path in ((write_trace, trace), (write_log, log), (write_capture, capture)):
            write(path, events)
            print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)
        for what, path, mapping in (("trace lines", trace, None), ("a foreign log, by a mapping", log, MAPPING)):
            read = partial(ingested, [str(path)], "jsonl", mapping)
            compare(what, LINES_TARGET, "json.loads", read, partial(loads_lines, path))
        for what, ours in (
            ("packets, decoded by our codec", partial(decoded, capture)),
            ("packets, decoded, as two rows", partial(ingested, [str(capture)], "pcap", None)),
        ):
            compare(what, PACKETS_TARGET, "struct    ", ours, partial(unpack_packets, capture))


if __name__ == "__main__":
    main()
