"""The stage ingest: every record is an event, set aside or left out, once, however the work is cut, ordered and interrupted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline import clusters
from tests.pipeline.clusters import ingested
from tests.pipeline.frames import datagram, write_frames
from tests.support.captures import EMPTY, REQUEST, udp

from peerproof.cli.main import main
from peerproof.cli.pipeline.ingest import EXAMPLES
from peerproof.conformance.traces.events import Event, line_of
from peerproof.pipeline.ingest.inputs import inputs
from peerproof.pipeline.ingest.reading import read_part
from peerproof.pipeline.spark.work import work
from peerproof.pipeline.stages import ingest
from peerproof.pipeline.stages.ingest import Reading, WrongSum
from peerproof.pipeline.storage import chunks
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.batches import Batch, Success
from peerproof.pipeline.storage.tables import QUARANTINE, RUNS, TRACES, Table
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.scuttlebutt import MESSAGE
from peerproof.spec.traces.trace import parse, replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAPPING = """\
format: 1
protocol: scuttlebutt
node: {field: node}
time: {field: t, unit: us}
ignore:
- {field: kind, is: noise}
events:
- when: {field: kind, is: round}
  kind: timer
  args: {type: round}
- when: {field: kind, is: recv}
  kind: recv
  peer: {field: peer}
  bytes: {field: raw, encoding: hex}
"""


def simulated(nodes: int = 3, rounds: int = 12, seed: str = "x") -> list[str]:
    """Trace lines of a cluster."""
    return [line.json() for line in clusters.simulated(nodes, rounds, seed, config={"detector": None})]


def written(path: Path, lines: Iterable[str]) -> str:
    """A file of these lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept in small chunks."""
    for name, count in (("WINDOW", 40), ("CHUNK", 8), ("SHORT_CHUNK", 2), ("GIVEN", 16)):
        monkeypatch.setattr(chunks, name, count)


def rows(success: Success, table: Table) -> list[dict[str, Any]]:
    """All rows of a table, in the order of its files."""
    return [row for file in success.files(table) for row in pq.read_table(file).to_pylist()]


def read_events(success: Success) -> list[Event]:
    """All rows of traces, sorted over all files."""
    batches = (batch for file in success.files(TRACES) for batch in pq.ParquetFile(file).iter_batches())
    found = (event for batch in batches for event in events(batch))
    return sorted(found, key=lambda event: (event.run_id, event.node, event.seq))


def test_trace_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    """And replay: what the nodes did is what the table says."""
    lines = simulated()

    result = ingested(tmp_path / "out", [written(tmp_path / "cluster.jsonl", lines)])
    found = read_events(result.success)

    assert [line_of(event) for event in found] == sorted(map(parse, lines), key=lambda line: (line.node, line.seq))
    assert list(replay(RUNTIMES["scuttlebutt"].specification(), map(line_of, found))) == []
    assert result.counts["records"] == result.counts["traces"] == len(lines)


def test_runs_are_counted(tmp_path: Path) -> None:
    """Nodes, events, and the digest of the run's rows, however they are spread over buckets."""
    files = [written(tmp_path / f"{seed}.jsonl", simulated(seed=seed, nodes=nodes)) for seed, nodes in (("a", 3), ("b", 5))]

    together = rows(ingested(tmp_path / "both", files).success, RUNS)
    alone = [row for number, file in enumerate(files) for row in rows(ingested(tmp_path / str(number), [file]).success, RUNS)]

    assert [(row["run_id"], row["kind"], row["n_nodes"], row["status"]) for row in together] == [
        ("seed-a", "log", 3, "complete"),
        ("seed-b", "log", 5, "complete"),
    ]
    assert [{**row, "digest": ""} for row in together] == [{**row, "digest": ""} for row in alone]
    assert len({row["digest"] for row in together}) == 2


def test_names_that_the_mapping_and_the_log_do_not_share_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An address needs no entry."""
    nodes = ("web-1", "web-2", "web-2", "10.0.0.7:8119", "10.0.0.3:8119")
    lines = [json.dumps({"node": node, "t": number, "kind": "round"}) for number, node in enumerate(nodes)]
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(f'{MAPPING}names: {{web-1: "10.0.0.1:8119", web-3: "10.0.0.3:8119"}}\n', encoding="utf-8")
    options = ["--mapping", str(mapping), "--output", str(tmp_path / "out"), "--master", "none", "--format", "json"]

    assert main(["pipeline", "ingest", written(tmp_path / "a.log", lines), *options]) == 0

    out, err = capsys.readouterr()
    assert "names: web-3 occurs in no line; web-2 (2 times) is named by no entry" in err
    assert json.loads(out)["names"] == {"unused": ["web-3"], "unlisted": {"web-2": 2}}


@pytest.mark.slow
def test_each_file_of_traces_is_sorted_and_has_whole_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From lines in any order, in small parts and chunks."""
    cut_small(monkeypatch)
    monkeypatch.setattr(ingest, "BUCKET", (20_000, 2**30))
    lines = simulated(nodes=5, rounds=20)
    Random(1).shuffle(lines)

    success = ingested(tmp_path / "out", [written(tmp_path / "a.jsonl", lines)], part=10_000).success
    files = [
        [(row["run_id"], row["node"], row["seq"]) for row in pq.read_table(file).to_pylist()] for file in success.files(TRACES)
    ]

    assert len(files) > 2
    assert all(keys == sorted(keys) for keys in files)
    assert sum(len({key[:2] for key in keys}) for keys in files) == 5
    assert sum(map(len, files)) == len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("part", [1000, 20_000, 2**26])
def test_rows_are_the_same_however_files_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """The digest of traces and of quarantine says so; a line's place is in both."""
    monkeypatch.chdir(tmp_path)
    lines = simulated()
    lines[7:7] = ["{", "[]", "\x00"]
    whole = ingested(tmp_path / "whole", [written(tmp_path / "a.jsonl", lines)])

    cut = ingested(tmp_path / "cut", [str(tmp_path / "a.jsonl")], part=part)

    assert cut.success.digest(TRACES) == whole.success.digest(TRACES)
    assert cut.success.digest(QUARANTINE) == whole.success.digest(QUARANTINE)
    assert [row["line_no"] for row in rows(cut.success, QUARANTINE)] == [8, 9, 10]


@pytest.mark.slow
def test_events_without_a_number_are_numbered_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all files; what happened at the same time stays in the order of the files."""
    cut_small(monkeypatch)
    random = Random(3)
    moments = [(random.randrange(100), node) for node in "ab" for _ in range(150)]
    random.shuffle(moments)
    lines = [json.dumps({"node": node, "t": moment, "kind": "round"}) for moment, node in moments]
    files = [written(tmp_path / f"{number}.log", lines[number * 100 : number * 100 + 100]) for number in range(3)]

    result = ingested(tmp_path / "out", files, mapping=("m.yaml", MAPPING), part=900)
    found = read_events(result.success)

    for node in "ab":
        own = [event for event in found if event.node == node]
        assert [event.seq for event in own] == list(range(150))
        keys = [(event.t_us, event.src_file, event.src_off) for event in own]
        assert keys == sorted(keys)
    assert {event.run_id for event in found} == {"log"}


def test_order_of_the_file_can_be_asked_for(tmp_path: Path) -> None:
    """A clock that jumps does not change it."""
    lines = [json.dumps({"node": "a", "t": moment, "kind": "round"}) for moment in (5, 3, 9)]
    mapping = MAPPING.replace("ignore:", "order: file\nignore:")

    result = ingested(tmp_path / "out", [written(tmp_path / "a", lines)], mapping=("m.yaml", mapping), run="r")

    assert [(event.seq, event.t_us, event.run_id) for event in read_events(result.success)] == [
        (0, 5, "r"),
        (1, 3, "r"),
        (2, 9, "r"),
    ]


def test_every_line_is_an_event_set_aside_or_left_out(tmp_path: Path) -> None:
    """And the reason is the right one, whatever the line is."""
    good = b'{"node":"a","t":1,"kind":"round"}'
    content = {
        good: None,
        b"": None,
        b"  \t": None,
        b'{"kind":"noise"}': None,
        good + b"\r": None,
        b'{"node":"a","t":1,"kind":"recv","peer":"b","raw":"09"}': "not_a_message",
        b'{"node":"a","t":1,"kind":"other"}': "unmatched",
        b'{"node":"a","kind":"round"}': "missing_field",
        b'{"node":"a","t":[],"kind":"round"}': "bad_field",
        b"[1]": "not_json",
        b"{'a': 1}": "not_json",
        b'{"a":"\xff"}': "not_utf8",
        b'{"a":"\\ud800"}': "not_json",
        b'{"a":1e999}': "not_json",
        b"[" * 100_000: "not_json",
        b"\x00" * 5000: "nul_bytes",
        b'{"node":"a","t"': "truncated_line",
    }
    path = tmp_path / "a.log"
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(content))

    result = ingested(tmp_path / "out", [str(path)], mapping=("m.yaml", MAPPING))

    found = rows(result.success, QUARANTINE)
    assert [row["reason_code"] for row in found] == [reason for reason in content.values() if reason]
    assert [row["raw"] for row in found] == [line[:4096] for line, reason in content.items() if reason]
    assert {row["batch"] for row in found} == {result.success.batch_id}
    assert (
        result.counts["records"]
        == len(content)
        == result.counts["traces"] + result.counts["quarantine"] + result.counts["left_out"]
    )
    assert (result.counts["left out: blank"], result.counts["left out: ignored by the mapping"]) == (2, 1)


def test_compressed_log_is_read_as_the_plain_one(tmp_path: Path) -> None:
    """And one that ends early gives what it has, and one row more."""
    lines = simulated()
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    (tmp_path / "a.gz").write_bytes(packed)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])

    whole = ingested(tmp_path / "whole", [str(tmp_path / "a.gz")])
    cut = ingested(tmp_path / "cut", [str(tmp_path / "cut.gz")])

    assert whole.counts["traces"] == len(lines)
    assert 0 < cut.counts["traces"] < len(lines)
    assert {row["reason_code"] for row in rows(cut.success, QUARANTINE)} <= {"truncated_file", "truncated_line"}
    assert cut.counts["records"] == cut.counts["traces"] + cut.counts["quarantine"]


def test_message_of_a_capture_is_an_event_of_both_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbered by node in the order of the capture, also where the clock is set back before the rows of a window are written."""
    monkeypatch.setattr("peerproof.pipeline.ingest.reading.WINDOW", 4)
    file = write_frames(tmp_path / "a.pcap", [(5, udp(REQUEST)), (2, udp(EMPTY)), (6, udp(b"\x09")), (4, udp(REQUEST))])

    result = ingested(tmp_path / "out", [file], form="pcap", protocol="scuttlebutt", impl="x")
    found = read_events(result.success)

    a, b = "10.0.0.1:8119", "10.0.0.2:8119"
    assert [(e.node, e.seq, e.t_us, e.kind, e.peer, e.msg_type, e.payload) for e in found] == [
        (a, 0, 5_000_000, "send", b, "digest_request", REQUEST),
        (a, 1, 2_000_000, "send", b, "delta", EMPTY),
        (a, 2, 4_000_000, "send", b, "digest_request", REQUEST),
        (b, 0, 5_000_000, "recv", a, "digest_request", REQUEST),
        (b, 1, 2_000_000, "recv", a, "delta", EMPTY),
        (b, 2, 4_000_000, "recv", a, "digest_request", REQUEST),
    ]
    assert {(e.run_id, e.impl, e.bytes == len(e.payload or b""), e.args) for e in found} == {("capture", "x", True, None)}
    assert (result.counts["records"], result.counts["messages"], result.counts["quarantine"]) == (4, 3, 1)
    assert rows(result.success, RUNS)[0]["kind"] == "capture"


def test_traffic_of_simulated_nodes_is_read_from_a_capture(tmp_path: Path) -> None:
    """What a cluster sent is what the table says it sent: every message, in its order."""
    messages = [MESSAGE.encode(MESSAGE.value(line.args)) for line in map(parse, simulated(rounds=30)) if line.kind == "recv"]
    frames = [(number, udp(message)) for number, message in enumerate(messages)]
    files = [write_frames(tmp_path / f"{part}.pcap", frames[part::2]) for part in (0, 1)]

    result = ingested(tmp_path / "out", files, form="pcap", protocol="scuttlebutt")

    sent = [event for event in read_events(result.success) if event.kind == "send"]
    assert [event.payload for event in sent] == messages


def test_packets_of_other_ports_are_left_out_and_counted(tmp_path: Path) -> None:
    """They are part of the sum."""
    dns, arp = datagram(("10.0.0.1", 53), ("10.0.0.2", 53), b"dns"), bytes(12) + b"\x08\x06" + bytes(28)
    file = write_frames(tmp_path / "a.pcap", enumerate([udp(EMPTY), dns, arp, udp(b"?")]))

    counts = ingested(tmp_path / "out", [file], form="pcap", protocol="scuttlebutt", ports=(8119,)).counts

    expected = {"records": 4, "messages": 1, "quarantine": 1, "left_out": 2, "left out: ARP": 1, "left out: UDP": 1}
    assert expected.items() <= counts.items()


def test_packets_that_are_no_messages_are_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither of the nodes nor of the capture, in one process and in the pipeline."""
    capture = str(write_frames(tmp_path / "a.pcap", enumerate([udp(EMPTY), udp(b"?")])))
    out = ["--output", str(tmp_path / "out"), "--master", "none"]

    assert main(["run", "scuttlebutt", "--pcap", capture]) == 0
    assert main(["pipeline", "run", capture, "--input-format", "pcap", "--protocol", "scuttlebutt", *out]) == 0
    shown = capsys.readouterr().out
    assert "checked: 2 nodes by messages alone\n" in shown
    assert "\nruns" not in shown
    assert "accepted; the report: " in shown


def test_another_mapping_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "a.log", ['{"node": "a", "t": 1, "kind": "round"}'])
    for name, impl in (("one", "x"), ("two", "z")):
        (tmp_path / f"{name}.yaml").write_text(f"{MAPPING}impl: {impl}\n", encoding="utf-8")
    out = ["--output", str(tmp_path / "out"), "--master", "none"]

    codes = [main(["pipeline", "ingest", log, "--mapping", str(tmp_path / f"{name}.yaml"), *out]) for name in ("one", "two")]

    assert codes == [0, 2]
    assert f"out has another ingest: {tmp_path}/one.yaml differs from {tmp_path}/two.yaml; use another" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupted_work_goes_on_where_it_was(tmp_path: Path) -> None:
    """Finished parts are not read again, and the result is the same."""
    files = [written(tmp_path / f"{seed}.jsonl", simulated(seed=seed)) for seed in "abc"]
    whole = ingested(tmp_path / "whole", files)
    reading = Reading(inputs(files, "jsonl"), "jsonl")
    parts, _, _ = ingest._units(reading)
    with Batch.open(tmp_path / "again", reading.plan()) as batch:
        work(None, batch, parts[:2], read_part)

    again = ingested(tmp_path / "again", files)

    assert [done.found_finished for done in again.done] == [2, 0, 0]
    assert again.success.told["tables"] == whole.success.told["tables"]


def test_committed_batch_keeps_no_work_files(tmp_path: Path) -> None:
    """Chunks, their index, counts and lots are gone; asked again, nothing is done and the counts are the same."""
    file = written(tmp_path / "a.jsonl", simulated())
    first = ingested(tmp_path / "out", [file])

    again = ingested(tmp_path / "out", [file])

    assert {path.name for path in first.success.folder.iterdir()} == {
        "_SUCCESS", "manifest", "plan.json", "runs", "traces", "units",
    }  # fmt: skip
    assert again.done == ()
    assert again.counts == first.counts


def test_wrong_sum_is_not_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that got lost between reading and writing, say."""
    lose = chunks.merge
    monkeypatch.setattr(ingest, "merge", lambda *args: (table.slice(1) for table in lose(*args)))

    with pytest.raises(WrongSum, match="do not add up"):
        ingested(tmp_path / "out", [written(tmp_path / "a.jsonl", simulated())])

    assert list((tmp_path / "out").glob("*/_SUCCESS")) == []


@pytest.mark.slow
def test_spark_makes_the_same_rows(tmp_path: Path, spark: SparkSession) -> None:
    """As one process: the same digests, of many parts and buckets."""
    files = [written(tmp_path / f"{seed}.jsonl", simulated(seed=seed)) for seed in "ab"]
    alone = ingested(tmp_path / "alone", files, part=20_000)

    spread = ingested(tmp_path / "spread", files, part=20_000, spark=spark)

    assert spread.success.told["tables"] == alone.success.told["tables"]
    assert spread.counts == alone.counts


def test_command_prints_the_sum_and_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what was set aside; again, it says that there is nothing to do."""
    files = [written(tmp_path / "a.jsonl", [*simulated(), "{"]), written(tmp_path / "b.jsonl", "{{{")]
    arguments = ["pipeline", "ingest", *files, "--output", str(tmp_path / "out"), "--master", "none"]
    count = len(simulated())

    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert main(arguments) == 0

    assert first.startswith(f"{count + 4:,} lines in = {count:,} events + 4 quarantined + 0 left out\n")
    assert f"a.jsonl:{count + 1}: " in first
    assert first.count(".jsonl:") == EXAMPLES
    assert "committed before, nothing to do" in capsys.readouterr().out


def test_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is read, in a line, with the right exit code."""
    empty, log = written(tmp_path / "empty", []), written(tmp_path / "log", ["{}"])
    mapping = written(tmp_path / "m.yaml", ["format: 2"])
    for arguments, code, message in (
        ([empty], 4, "nothing to read: every file is empty"),
        ([log], 4, "these are no traces of peerproof\ntip: for a log of another program write a mapping: --mapping FILE"),
        ([str(tmp_path)], 2, "is a directory"),
        ([log, "--mapping", mapping], 2, "m.yaml:1:1: missing field 'protocol'"),
        ([log, "--mapping", str(tmp_path / "none")], 2, "cannot read the mapping"),
        ([log, "--port", "53"], 2, "--port is for captures"),
        ([log, "--input-format", "pcap"], 2, "a capture needs --protocol, one of scuttlebutt"),
        ([log, "--input-format", "pcap", "--protocol", "scuttlebutt"], 2, "is not a capture"),
    ):
        assert main(["pipeline", "ingest", *arguments, "--output", str(tmp_path / "out"), "--master", "none"]) == code
        assert message in capsys.readouterr().err
