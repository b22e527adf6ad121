"""The native runners reach the verdicts of the Python runner, case by case, on the same implementations."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conformance.adapters.test_adapter_js import MISTAKES as OF_SCUTTLEBUTT
from tests.conformance.adapters.test_adapter_swim_js import MISTAKES as OF_SWIM
from tests.support.go_faults import OF_CODEC, OF_DETECTOR, OF_LIMITS, OF_NODE, UNSUPPORTED
from tests.support.javascript import ADAPTERS, Mistakes, copy_with
from tests.support.native_runners import (
    RUNNERS,
    Verdicts,
    build_go,
    build_go_with,
    bundle,
    copy_go,
    of_go,
    of_java,
    of_javascript,
    of_python,
    of_reference,
    part_of_bundle,
    require_go,
)
from tests.support.rust import verdicts_program
from tests.support.tools import require

from peerproof.cli.main import main

pytestmark = pytest.mark.slow

#: Name -> layer whose vectors detect it, module of the port in JavaScript, what stands there, what is wrong. Together with the
#: mistakes in the ports' own tests there are faults of every kind that a runner tells apart.
OF_SCUTTLEBUTT_BESIDES: Mistakes = {
    "a cut text is accepted": (
        "codec",
        "codec.mjs",
        "if (at + size > datagram.length) {",
        "if (size === VERSION_SIZE && at > 99) {",
    ),
    "an unknown type ends the program": ("codec", "codec.mjs", "if (layout === undefined) {", "if (layout === null) {"),
    "encode is not supported": ("codec", "plug.mjs", "return { bytes: encode(message) };", 'throw new Unsupported("not yet");'),
    "malformed messages move the timer": (
        "codec",
        "plug.mjs",
        "return this.reaction([{ event",
        "this.node.roundDue += 1; return this.reaction([{ event",
    ),
    "after a malformed message the node is deaf": (
        "codec",
        "plug.mjs",
        "return this.reaction([{ event",
        "this.node.receive = () => []; return this.reaction([{ event",
    ),
    "a query is not supported": ("exchange", "plug.mjs", "!Object.hasOwn(QUERIES, what)", 'what === "status"'),
    "nodes are not supported": (
        "exchange",
        "plug.mjs",
        "const pick = (site, kind, options) => {",
        'throw new Unsupported("no"); const pick = (site, kind, options) => {',
    ),
    "timers lie in the past": (
        "exchange",
        "plug.mjs",
        "nextTimer: this.node.roundDue, ...more",
        "nextTimer: effects.length > 1 ? -1 : this.node.roundDue, ...more",
    ),
    "a node chooses itself": (
        "exchange",
        "node.mjs",
        '"round.partner", "one", others',
        '"round.partner", "one", this.store.addresses()',
    ),
    "the messages of a round flood the network": (
        "exchange",
        "node.mjs",
        "return [...requests, ...turned];",
        "return [...Array.from({ length: 1001 }, () => requests).flat(), ...turned];",
    ),
    "an empty digest ends the program": (
        "exchange",
        "node.mjs",
        "const joined = this.#learned(now, entries);",
        "const joined = entries[0].addr && this.#learned(now, entries);",
    ),
    "calls are refused for another reason": ("exchange", "node.mjs", 'new Refused("overflow"', 'new Refused("too_large"'),
}
OF_SWIM_CODEC: Mistakes = {
    **{mistake: ("codec", module, right, wrong) for mistake, (_, module, right, wrong) in OF_SWIM.items()},
    "surplus bytes are accepted": ("codec", "transit.mjs", "if (this.#at < this.#bytes.length) {", "if (false) {"),
    "a long vector ends the program": ("codec", "messages.mjs", 'refuse("bad_length"', 'undefined.refuse("bad_length"'),
}


def variants(layer: str, *listed: Mistakes) -> list[tuple[str, str, str]]:
    """The faults that vectors of a layer detect: module, what stands there, what is wrong."""
    found = [wrong for mistakes in listed for wrong in mistakes.values()]
    return [(module, right, wrong) for vector, module, right, wrong in found if vector.split("/")[0] == layer]


#: Protocol, layer whose vectors are run, its port in JavaScript, and what is wrong with each variant.
WRONG_PORTS = [
    ("scuttlebutt", "codec", "scuttlebutt-js", variants("codec", OF_SCUTTLEBUTT, OF_SCUTTLEBUTT_BESIDES)),
    ("scuttlebutt", "exchange", "scuttlebutt-js", variants("exchange", OF_SCUTTLEBUTT, OF_SCUTTLEBUTT_BESIDES)),
    ("swim", "codec", "swim-js", variants("codec", OF_SWIM_CODEC)),
]

OF_GO = {**OF_CODEC, **OF_NODE, **OF_DETECTOR, **OF_LIMITS}

#: Faults of the implementation in Go that are tried with the vectors of models too, which takes longer.
WITH_MODELS = ("an empty digest response is sent", "rounds are twice as far apart")


def assert_agree(native: Verdicts, python: Verdicts) -> set[str]:
    """
    Both have the same verdict on every case; the statuses that occur.

    With a decoder that fails cases of its own, a native runner has no verdict on cases for which it would have to read messages
    that are neither in the bundle nor written again by the encoder.
    """
    assert native.keys() == python.keys()
    open_ones = [case for case, verdict in native.items() if verdict.status == "undetermined"]
    decoding = {verdict.failure for case, verdict in python.items() if case.endswith(("#decode", "#rejects"))}
    assert not open_ones or decoding != {None}
    different = {case: (native[case], verdict) for case, verdict in python.items() if native[case] != verdict}
    assert different.keys() == set(open_ones), different
    return {verdict.status for verdict in python.values()}


@pytest.mark.parametrize(("protocol", "port"), [("scuttlebutt", "scuttlebutt-js"), ("swim", "swim-js")])
def test_javascript_agrees_on_a_right_port(protocol: str, port: str, tmp_path: Path) -> None:
    (native,) = of_javascript(bundle(protocol), ADAPTERS / port)

    statuses = assert_agree(native, of_python(protocol, f"node '{ADAPTERS / port / 'adapter.mjs'}'", tmp_path / "report.jsonl"))
    assert statuses <= {"passed", "skipped"}


@pytest.mark.minute
@pytest.mark.parametrize(("protocol", "layer", "port", "wrong"), WRONG_PORTS, ids=["codec", "node", "codec of swim"])
def test_javascript_agrees_on_wrong_ports(
    protocol: str, layer: str, port: str, wrong: list[tuple[str, str, str]], tmp_path: Path
) -> None:
    """All variants of a port run in one process of Node."""
    copies = [copy_with(tmp_path / str(number), port, *variant) for number, variant in enumerate(wrong)]

    natives = of_javascript(part_of_bundle(protocol, layer), *copies)

    for copied, native, variant in zip(copies, natives, wrong, strict=True):
        served = f"node '{copied / 'adapter.mjs'}'"
        statuses = assert_agree(native, of_python(protocol, served, copied / "report.jsonl", "-k", f"layer:{layer}"))
        assert statuses & {"failed", "crashed", "flooded", "differs", "tolerated"}, variant


def test_go_agrees_on_an_implementation_in_go(tmp_path: Path) -> None:
    """The runner in Go calls it; the Python runner reaches the same program as an adapter."""
    program = build_go(copy_go(tmp_path), "./scuttlebutt/cmd")

    native = of_go(program, "verdicts", bundle("scuttlebutt"))

    assert assert_agree(native, of_python("scuttlebutt", f"'{program}' serve", tmp_path / "report.jsonl")) == {"passed"}


def statuses_in_go(folder: Path, fault: tuple[str, str, str], *, models: bool = False) -> set[str]:
    """The statuses that occur if the implementation in Go has this fault; both runners agree on each case."""
    program = build_go_with(folder, *fault)
    served, report = f"'{program}' serve", folder / "report.jsonl"
    if models:
        return assert_agree(of_go(program, "verdicts", bundle("scuttlebutt")), of_python("scuttlebutt", served, report))
    native = of_go(program, "verdicts", part_of_bundle("scuttlebutt", "codec", "exchange", "cluster"))
    return assert_agree(native, of_python("scuttlebutt", served, report, "-k", "!layer:model"))


@pytest.mark.minute
@pytest.mark.parametrize("fault", OF_GO)
def test_go_agrees_on_a_wrong_implementation_in_go(fault: str, tmp_path: Path) -> None:
    statuses = statuses_in_go(tmp_path, OF_GO[fault], models=fault in WITH_MODELS)

    assert statuses & {"failed", "crashed", "flooded", "differs", "tolerated"}


@pytest.mark.minute
@pytest.mark.parametrize("unsupported", UNSUPPORTED)
def test_go_agrees_on_what_is_offered_and_unsupported(unsupported: str, tmp_path: Path) -> None:
    """It contradicts the offer, except for states and for configurations other than the defaults: those cases are skipped."""
    statuses = statuses_in_go(tmp_path, UNSUPPORTED[unsupported])

    is_allowed = unsupported in ("a state", "a configuration")
    assert ("skipped" in statuses, "failed" in statuses) == (is_allowed, not is_allowed)


@pytest.mark.parametrize("protocol", ["peter", "wendy"])
def test_go_agrees_through_an_adapter(protocol: str, tmp_path: Path) -> None:
    """Over connections, with clusters, and with several forms of one message."""
    harness = [sys.executable, "-m", "peerproof.cli.main", "node", "harness"]

    program = build_go(copy_go(tmp_path), "./cmd/verdicts")

    native = of_go(program, bundle(protocol), *harness)

    assert assert_agree(native, of_reference(protocol)) == {"passed"}


#: Clusters in which it matters what a network does: at one instant, timers come first; the outcome of a message of a node that
#: has crashed is not reported to it.
NETWORKS = {
    "swim": """
- id: swim/cluster/answers-come-when-the-next-ping-is-due
  rev: 1
  title: a node whose pings are answered too late does not join
  level: must
  clauses: [S-25]
  nodes:
    a: {addr: "127.0.0.1:5001", config: {uuid: "11111111-1111-4111-8111-111111111111", interval: 1000}}
    b:
      addr: "127.0.0.1:5002"
      config:
        uuid: "22222222-2222-4222-8222-222222222222"
        seeds: [{uuid: "11111111-1111-4111-8111-111111111111", host: "127.0.0.1", port: 5001}]
        interval: 1000
  network: {delay: 500}
  steps:
  - {at: 3000, advance: all}
  - {observe: {node: b, query: own, equals: {contains: {joined: false}}}}
""",
    "wendy": """
- id: wendy/cluster/the-sender-crashes
  rev: 1
  title: a node crashes before its message arrives
  level: must
  clauses: [W-45]
  nodes:
    n40: {addr: "n40:4000", config: {id: "40000000000000000000000000000000", network_timeout: 1000, heartbeat: 20000}}
    n75: {addr: "n75:4000", config: {id: "75000000000000000000000000000000", network_timeout: 1000, heartbeat: 20000}}
  network: {delay: 5}
  steps:
  - {at: 0, call: {node: n75, op: join, args: {contact: "n40:4000"}}}
  - {at: 1, crash: n75}
  - {at: 10, advance: all}
  - {observe: {node: n40, query: leaf_set, equals: {left: [], right: []}}}
""",
}


@pytest.mark.parametrize("protocol", NETWORKS)
@pytest.mark.parametrize("language", ["go", "java", "rust"])
def test_networks_are_those_of_the_python_runner(language: str, protocol: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"format: 1\nprotocol: {protocol}\nabout: A network.\nvectors:{NETWORKS[protocol]}", encoding="utf-8")
    harness = [sys.executable, "-m", "peerproof.cli.main", "node", "harness"]
    assert main(["run", protocol, "--vectors", str(file)]) == 0
    assert main(["vectors", "export", protocol, "--vectors", str(file), "--output", str(tmp_path)]) == 0
    path = tmp_path / f"{protocol}.json"

    if language == "java":
        (verdicts,) = of_java(path, harness)
    else:
        program = verdicts_program() if language == "rust" else build_go(copy_go(tmp_path), "./cmd/verdicts")
        verdicts = of_go(program, path, *harness)

    assert [verdict.status for verdict in verdicts.values()] == ["passed"]


def test_node_test_runs_the_vectors_and_says_what_failed(tmp_path: Path) -> None:
    _, module, right, wrong = OF_SCUTTLEBUTT["versions are numbers"]
    copy_with(tmp_path, "scuttlebutt-js", module, right, wrong)
    write_codec_only(tmp_path / "runners/javascript/testdata")

    command = [require("node"), "--test", "--test-reporter=tap", "."]
    done = subprocess.run(command, cwd=tmp_path / "runners/javascript", capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert re.search(r"^not ok \d+ - scuttlebutt/codec/delta-largest-version\\#decode$", done.stdout, re.MULTILINE)
    assert "input: decode 03" in done.stdout
    assert "first difference (value): entries[0].version" in done.stdout
    assert "read on: peerproof explain" in done.stdout


def write_codec_only(folder: Path, should: str = "") -> None:
    """A bundle of the vectors of the codec, which takes less time; the one named `should` is of that level."""
    found = json.loads(bundle("scuttlebutt").read_bytes())
    codec = [vector for vector in found["vectors"] if "/codec/" in vector["id"]]
    for vector in codec:
        vector["level"] = "should" if vector["id"] == should else vector["level"]
    folder.mkdir()
    (folder / "scuttlebutt.json").write_text(json.dumps({**found, "vectors": codec, "tables": []}), encoding="utf-8")


def test_go_test_runs_the_vectors_and_says_what_failed(tmp_path: Path) -> None:
    folder = copy_go(tmp_path)
    write_codec_only(folder / "scuttlebutt/testdata")
    source = folder / "scuttlebutt/codec.go"
    source.write_text(
        source.read_text("utf-8").replace("entry.Version = binary.BigEndian", "entry.Version = binary.LittleEndian")
    )

    command = [require_go(), "test", "./scuttlebutt"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "--- FAIL: TestVectors/scuttlebutt/codec/digest-request-of-one#decode" in done.stdout
    assert "input: decode 03" in done.stdout
    assert "first difference (value): entries[0].version" in done.stdout
    assert re.search(r"^ +B-\d+ must: ", done.stdout, re.MULTILINE)
    assert "read on: peerproof explain" in done.stdout
    assert done.stdout.count("first difference (value): entries[0].version\n") == 3
    short = re.findall(r"^ +\S+ failed: (scuttlebutt/\S+): value: entries\[\]\.version, as (\S+)\n", done.stdout, re.MULTILINE)
    first = re.search(r"--- FAIL: (\S+/\S+)", done.stdout)
    assert first is not None
    assert {named for _, named in short} == {first[1]}
    end = done.stdout[done.stdout.rindex("violate the document:") :]
    assert re.search(r"\n +\d+  value: entries\[\]\.version \[.*\], such as scuttlebutt/codec/\S+#decode\n", end)
    assert "peerproof run --impl ADAPTER --record run.jsonl; peerproof report groups run.jsonl\n" in end


def test_go_says_why_a_case_is_undetermined(tmp_path: Path) -> None:
    """Messages outside of the bundle are not read by a decoder with faults; messages of the bundle are shown whole."""
    folder = copy_go(tmp_path)
    source = folder / "scuttlebutt/codec.go"
    source.write_text(
        source.read_text("utf-8").replace("entry.Version = binary.BigEndian", "entry.Version = binary.LittleEndian")
    )
    (folder / "scuttlebutt/testdata").mkdir()
    (folder / "scuttlebutt/testdata/scuttlebutt.json").write_bytes(bundle("scuttlebutt").read_bytes())

    done = subprocess.run([require_go(), "test", "./scuttlebutt"], cwd=folder, capture_output=True, text=True, check=False)

    why = "undetermined: it depends on how the decoder reads a message, and the decoder fails scuttlebutt/codec/"
    seen = r"to see it, whatever its verdict: go test -v -run 'TestVectors/scuttlebutt/codec/\1\$'"
    instead = "peerproof reads messages without your decoder: "
    assert re.search(rf"\n +\d+ {why}(\S+): see that case first\n +{seen}\n +{instead}", done.stdout)
    assert re.search(r'\n +\d+ ms  \S+ -> \S+  \{"type": "d\w+", "entries": \[', done.stdout)
    assert re.search(r"vectors show (\S+); with messages .*: peerproof vectors replay \1 --impl ADAPTER\n", done.stdout)


@pytest.mark.parametrize(
    ("right", "wrong", "case", "entries"),
    [
        ("entry := &message.Entries[at]", "entry := &message.Entries[len(message.Entries)-1-at]", "#encode", "message.entries"),
        ("append(message.Entries, entry)", "append([]Entry{entry}, message.Entries...)", "#decode", "entries"),
    ],
)
def test_go_names_a_list_that_differs_only_in_its_order(right: str, wrong: str, case: str, entries: str, tmp_path: Path) -> None:
    folder = copy_go(tmp_path)
    write_codec_only(folder / "scuttlebutt/testdata")
    source = folder / "scuttlebutt/codec.go"
    source.write_text(source.read_text("utf-8").replace(right, wrong), encoding="utf-8")

    command = [require_go(), "test", "-run", f"TestVectors/scuttlebutt/codec/delta-of-two{case}", "./scuttlebutt"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"            {entries}: the same items in another order\n" in done.stdout


#: Known, passing, failing otherwise, expired, none, and known although it is tolerated.
KNOWN_IN_GO = """\
# id-or-pattern failure-class expiry-or-dash link reason
scuttlebutt/codec/digest-request-of-?ne#d[!x]* value TODAY - little-endian
scuttlebutt/codec/digest-request-of-one#encode bytes - - none
scuttlebutt/codec/delta-of-two#decode bytes - - none
scuttlebutt/codec/delta-of-cyrillic#decode value YESTERDAY - late
scuttlebutt/codec/none* value - - none
scuttlebutt/codec/delta-of-a-byte-order-mark#decode value - - should
"""


def test_go_checks_known_failures_and_ends_what_hangs(tmp_path: Path) -> None:
    """
    A listed failure is known; one that passes, fails otherwise, has expired, or is none says so, with its line.

    It expires by the calendar of this place, where another day has begun than in UTC.
    """
    now = datetime.now(UTC)
    zone, ahead = ("Etc/GMT+12", -12) if now.hour < 12 else ("Etc/GMT-14", 14)
    today = (now + timedelta(hours=ahead)).date()
    yesterday = today - timedelta(days=1)
    known = KNOWN_IN_GO.replace("TODAY", str(today)).replace("YESTERDAY", str(yesterday))
    folder = copy_go(tmp_path)
    write_codec_only(folder / "scuttlebutt/testdata", should="scuttlebutt/codec/delta-of-a-byte-order-mark")
    (folder / "scuttlebutt/known.txt").write_text(known, encoding="utf-8")
    for name, right, wrong in (
        ("codec.go", "entry.Version = binary.BigEndian", "entry.Version = binary.LittleEndian"),
        (
            "codec.go",
            "\tif len(datagram) == 0 {",
            '\tif string(datagram) == "\\x03" {\n\t\tselect {}\n\t}\n\tif len(datagram) == 0 {',
        ),
        ("scuttlebutt_test.go", "Settings{}", 'Settings{KnownFailing: "known.txt", Limit: 2e9}'),
    ):
        source = folder / "scuttlebutt" / name
        text = source.read_text("utf-8")
        assert text.count(right) == 1
        source.write_text(text.replace(right, wrong), encoding="utf-8")

    environment = {**os.environ, "TZ": zone}
    command = [require_go(), "test", "./scuttlebutt"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    pattern = r"^    --- FAIL: TestVectors/scuttlebutt/codec/(\S+) .*\n((?:        .*\n)*)"
    failed = dict(re.findall(pattern, done.stdout, re.MULTILINE))
    assert not {"digest-request-of-one#decode", "digest-request-of-one#encode", "delta-empty#encode"} & failed.keys()
    stale = "stale: scuttlebutt/codec/digest-request-of-one#encode: it passes, though known.txt:3 lists it\n"
    remedy = "to remove all such lines: peerproof run --impl ADAPTER --known-failing known.txt --update-known-failing\n"
    assert re.search(rf"{re.escape(stale)} +{remedy}", done.stdout)
    assert "listed as bytes in known.txt:4, but it fails as value" in failed["delta-of-two#decode"]
    assert f"known.txt:5: scuttlebutt/codec/delta-of-cyrillic#decode expired on {yesterday}" in done.stdout
    assert done.stdout.count(" expired on ") == 1
    assert "known.txt:6: no case matches 'scuttlebutt/codec/none*'" in done.stdout
    assert "first difference (hung): reply to decode\n" in failed["delta-empty#decode"]
    assert re.search(r"^ +\S+ scuttlebutt: \d+ cases: .*\b3 known, .*\b1 hung\b.*\b1 stale\b", done.stdout, re.MULTILINE)


def test_go_reads_no_list_that_is_none(tmp_path: Path) -> None:
    """The line that cannot be read is named."""
    folder = copy_go(tmp_path)
    write_codec_only(folder / "scuttlebutt/testdata")
    (folder / "scuttlebutt/known.txt").write_text(
        "# one\nscuttlebutt/codec/delta-empty#decode broken - - none\n", encoding="utf-8"
    )
    source = folder / "scuttlebutt/scuttlebutt_test.go"
    source.write_text(source.read_text("utf-8").replace("Settings{}", 'Settings{KnownFailing: "known.txt"}'), encoding="utf-8")

    done = subprocess.run([require_go(), "test", "./scuttlebutt"], cwd=folder, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "known.txt:2: expected one of crashed, hung, " in done.stdout


def test_go_is_in_the_form_of_gofmt_and_has_no_complaints() -> None:
    listed = subprocess.run([require("gofmt"), "-l", "."], cwd=RUNNERS / "go", capture_output=True, text=True, check=True)
    vetted = subprocess.run([require_go(), "vet", "./..."], cwd=RUNNERS / "go", capture_output=True, text=True, check=False)

    assert listed.stdout == ""
    assert vetted.returncode == 0, vetted.stderr
