"""The runner in Java reaches the verdicts of the Python runner, and says what the other runners say."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.conformance.adapters.test_adapter_js import MISTAKES as OF_SCUTTLEBUTT
from tests.conformance.adapters.test_adapter_swim_js import MISTAKES as OF_SWIM
from tests.conformance.runners.test_native_runners import assert_agree
from tests.support.catching import Mistakes, path_of
from tests.support.javascript import copy_with
from tests.support.native_runners import begin_java, bundle, java, maven, of_java, of_python, of_reference, selected_bundle
from tests.support.tools import require
from tests.support.waiting import PATIENCE

from peerproof.cli.main import main
from peerproof.conformance.runner.expected_failures import load_expected_failures
from peerproof.spec.protocols import PROTOCOLS

pytestmark = pytest.mark.slow

HARNESS = [sys.executable, "-m", "peerproof.cli.main", "node", "harness"]

#: Serves a wrong variant of the reference over the adapter protocol.
SERVE = """
import sys
from pkgutil import resolve_name
from peerproof.reference.harness.request_channel import serve_stdio
serve_stdio(resolve_name(sys.argv[1])())
"""

#: Port in JavaScript -> its protocol, a layer, and mistakes that its vectors find.
PORTS = {
    "scuttlebutt-js codec": [name for name, (vector, *_) in OF_SCUTTLEBUTT.items() if vector.startswith("codec/")],
    "scuttlebutt-js exchange": [name for name, (vector, *_) in OF_SCUTTLEBUTT.items() if vector.startswith("exchange/")],
    "swim-js codec": list(OF_SWIM),
}

SOME = 5  #: variants of the reference of a protocol


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_agrees_on_the_reference(protocol: str) -> None:
    (native,) = of_java(bundle(protocol), HARNESS)

    assert assert_agree(native, of_reference(protocol)) == {"passed"}


@pytest.mark.minute
@pytest.mark.parametrize("port", PORTS)
def test_it_agrees_on_wrong_ports(port: str, tmp_path: Path) -> None:
    """Each has one of the mistakes that are made in JavaScript."""
    name, _, layer = port.partition(" ")
    protocol, mistakes = name.partition("-")[0], OF_SWIM if name == "swim-js" else OF_SCUTTLEBUTT
    adapters = []
    for number, mistake in enumerate(PORTS[port]):
        _, module, right, wrong = mistakes[mistake]
        (tmp_path / str(number)).mkdir()
        adapters.append(copy_with(tmp_path / str(number), name, module, right, wrong) / "adapter.mjs")

    native = of_java(
        selected_bundle(protocol, tmp_path, lambda vector: f"/{layer}/" in vector),
        *((require("node"), adapter) for adapter in adapters),
    )

    assert len(native) == len(adapters) > 3
    for verdicts, adapter in zip(native, adapters, strict=True):
        python = of_python(protocol, f"node '{adapter}'", tmp_path / "report.jsonl", "-k", f"layer:{layer}")
        assert assert_agree(verdicts, python) & {"failed", "crashed", "differs", "tolerated"}


@pytest.mark.minute
@pytest.mark.parametrize("protocol", ["wendy", "peter", "distkv"])
def test_it_agrees_on_wrong_variants_of_the_reference(protocol: str, tmp_path: Path) -> None:
    """Over connections, and with decisions behind what differs."""
    variants: Sequence[type] = Mistakes(protocol).variants
    some = variants[:: len(variants) // SOME][:SOME]
    made_for = {vector.id for variant in some for vector in Mistakes(protocol).made_for(variant)}

    native = of_java(
        selected_bundle(protocol, tmp_path, made_for.__contains__),
        *((sys.executable, "-c", SERVE, path_of(variant)) for variant in some),
    )

    assert len(native) == SOME
    for verdicts, variant in zip(native, some, strict=True):
        selection = ("-k", f"id:{','.join(made_for)}")
        python = of_python(protocol, f"py:{path_of(variant)}", tmp_path / "report.jsonl", *selection)
        assert assert_agree(verdicts, python) & {"failed", "crashed", "differs", "tolerated"}


#: For what the runner does by itself.
FEW = {
    "scuttlebutt/codec/delta-empty",
    "scuttlebutt/codec/delta-of-two",
    "scuttlebutt/codec/delta-key-not-utf-8",
    "scuttlebutt/exchange/delta-applied-pair-by-pair",  # with the defaults
    "scuttlebutt/exchange/pair-above-the-own-limit-is-stored",  # with another payload
}

LIST = """\
# a comment
scuttlebutt/codec/delta-empty#decode  error  -  -  passes
scuttlebutt/codec/delta-[!e]*#?encode  bytes  -  -  fits nothing
scuttlebutt/codec/delta-[!e]*#*encode  error  -  -  there is no encoder
scuttlebutt/codec/delta-empty#encode  value  -  -  fails otherwise
scuttlebutt/codec/delta-empty#encode  hung  2025-12-31  -  has expired
scuttlebutt/codec/delta-empty#encode  bytes  2026-01-01  -  expires after today
two words
a/b  unheard-of  -  -  reason
a/b  hung  soon  -  reason
"""

SAID = """\
codec and exchange are claimed, and unsupported
  3 decode: failed error, reply to decode, {error={code=unsupported, message=no decoder}}
  3 encode: failed error, reply to encode, {error={code=unsupported, message=no encoder}}
  1 exchange: failed error, reply to open, {error={code=unsupported, message=no nodes}}
  1 exchange: skipped null, the implementation does not support this open: no nodes
  1 reencode: failed error, reply to decode, {error={code=unsupported, message=no decoder}}
nothing is claimed
  3 decode: skipped null, the implementation does not offer codec
  3 encode: skipped null, the implementation does not offer codec
  2 exchange: skipped null, the implementation does not offer exchange
  1 reencode: skipped null, the implementation does not offer codec
decode never ends
  3 decode: hung hung, reply to decode, no answer within 1 s
  3 encode: failed error, reply to encode, {error={code=unsupported, message=no encoder}}
  2 exchange: skipped null, the implementation does not offer exchange
  1 reencode: hung hung, reply to decode, no answer within 1 s
decode calls itself for ever
  3 decode: crashed crashed, reply to decode, java.lang.StackOverflowError
  3 encode: failed error, reply to encode, {error={code=unsupported, message=no encoder}}
  2 exchange: skipped null, the implementation does not offer exchange
  1 reencode: crashed crashed, reply to decode, java.lang.StackOverflowError
known failures
  scuttlebutt/codec/delta-empty#decode stale: it passes, though known.txt:2 lists it
  scuttlebutt/codec/delta-empty#encode failed: listed as value in known.txt:5, but it fails as error
  scuttlebutt/codec/delta-of-two#decode passed: null
  scuttlebutt/codec/delta-of-two#encode known: there is no encoder
  scuttlebutt/codec/delta-key-not-utf-8#decode passed: null
  scuttlebutt/codec/delta-key-not-utf-8#encode known: there is no encoder
  scuttlebutt/codec/delta-key-not-utf-8#reencode known: there is no encoder
  known.txt:8: expected id-or-pattern failure-class expiry-or-dash link reason; missing: expiry-or-dash, link, reason
  known.txt:9: expected one of accepted, bytes, changed, choice, class, clock, crashed, error, events, flooded, garbled, hung, \
messages, misshapen, observed, refused, rejected, streams, unserving, value, found unheard-of
  known.txt:10: expected a date such as 2027-06-30, or -, found soon
  known.txt:3: no case matches 'scuttlebutt/codec/delta-[!e]*#?encode': remove the entry
  known.txt:6: scuttlebutt/codec/delta-empty#encode expired on 2025-12-31: fix the bug, or set a new date
broken.json has format 2; this runner reads 1; write it with: peerproof vectors export --output FOLDER PROTOCOL --gzip
known.txt is not a bundle of vectors of format 1; write it with: peerproof vectors export --output FOLDER PROTOCOL --gzip
none.json does not exist; write it with: peerproof vectors export --output FOLDER PROTOCOL --gzip
"""


def in_java(program: str, folder: Path, *arguments: str | Path) -> str:
    """What a program beside this module prints, with the runner at hand."""
    command = java(program, *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_the_runner_does_by_itself(tmp_path: Path) -> None:
    """Against implementations that do not keep what they offer, or do not end, and with lists of known failures."""
    (tmp_path / "known.txt").write_text(LIST)
    (tmp_path / "broken.json").write_text('{"format": 2}')
    path = selected_bundle("scuttlebutt", tmp_path, FEW.__contains__)

    assert in_java("Claims", tmp_path, path, "known.txt", "broken.json") == SAID


def test_the_text_of_a_failure_says_what_happened(tmp_path: Path) -> None:
    vector, module, right, wrong = OF_SCUTTLEBUTT["versions are sorted as text"]
    adapter = copy_with(tmp_path, "scuttlebutt-js", module, right, wrong) / "adapter.mjs"
    path = selected_bundle("scuttlebutt", tmp_path, f"scuttlebutt/{vector}".__eq__)

    lines = in_java("Texts", tmp_path, path, require("node"), adapter).splitlines()

    assert lines[:3] == [
        f"scuttlebutt/{vector}",
        "failed: with max_payload 100 a delta of twenty pairs of 18 bytes is cut after the fifth",
        "  B-26 must: A delta keeps to the same payload limit.",
    ]
    assert "  first difference (messages): steps[1].messages[0].bytes, from byte 25" in lines
    assert "  what happened (the last 20 of 24 events)" in lines
    assert lines[-5:-1] == [
        '         0 ms  b:1  call update_local {"key": "k20", "value": "v"}',
        "        10 ms  b:1 <- a:1  0103613a31000000000000000003623a310000000000000000  (digest_request)",
        '        10 ms  b:1  reports {"name": "join", "peer": "a:1"}',
        "        10 ms  b:1 -> a:1  0303623a31036b30310176000000000000000103623a31036b3130017600…  (delta)",
    ]
    assert lines[-1] == f"  read on: peerproof explain B-26; peerproof vectors show scuttlebutt/{vector}"


@pytest.mark.parametrize(
    ("case", "entries"),
    [
        ("codec/delta-of-two", "message.entries"),
        ("exchange/digest-behind-gets-all-pairs", "steps[1].messages[0].message.entries"),
    ],
)
def test_a_list_that_differs_only_in_its_order_is_named(case: str, entries: str, tmp_path: Path) -> None:
    turned = ("for (const entry of entries) {", "for (const entry of entries.toReversed()) {")
    adapter = copy_with(tmp_path, "scuttlebutt-js", "codec.mjs", *turned) / "adapter.mjs"
    path = selected_bundle("scuttlebutt", tmp_path, f"scuttlebutt/{case}".__eq__)

    lines = in_java("Texts", tmp_path, path, require("node"), adapter).splitlines()

    actual = next(at for at, line in enumerate(lines) if line.startswith("    actual "))
    assert lines[actual + 1] == f"    {entries}: the same items in another order"


@pytest.mark.parametrize(("protocol", "transport"), [("scuttlebutt", "udp"), ("wendy", "tcp")])
def test_it_serves_what_adapters_must(protocol: str, transport: str, tmp_path: Path) -> None:
    """With random choices, and over connections: `Proxy.java` serves the reference."""
    path = selected_bundle(protocol, tmp_path, lambda _: False)
    served = shlex.join(java("Proxy", path, transport, *HARNESS))
    patience = ("--hello-timeout", "60", "--op-timeout", "60", "--bye-timeout", "10")

    assert main(["doctor", "--impl", served, *patience]) == 0
    assert main(["run", protocol, "--impl", served, "-k", "layer:exchange", *patience]) == 0


@pytest.mark.minute
def test_each_case_is_a_test_of_junit(tmp_path: Path) -> None:
    """All pass at first; with another list, those fail that it had named, unless they only differ, and the faulty line itself."""
    folder = begin_java(tmp_path, "peter")
    listed = {entry.pattern for entry in load_expected_failures(folder / "known-failing.txt").entries}

    right = maven(folder, "test")
    (folder / "known-failing.txt").write_text("nothing/fits  error  -  -  this\n")
    wrong = maven(folder, "test")

    assert right.returncode == 0, right.stdout
    assert wrong.returncode == 1
    (report,) = (folder / "target/surefire-reports").glob("TEST-*.xml")
    cases = {case.get("name", "").removeprefix("vectors() "): case for case in ElementTree.parse(report).iter("testcase")}
    failing = {name: case.findtext("failure", "") for name, case in cases.items() if case.find("failure") is not None}
    assert listed | {"known-failing.txt"} > failing.keys()
    assert len(failing) > len(listed) / 3
    assert "known-failing.txt:1: no case matches 'nothing/fits': remove the entry" in failing["known-failing.txt"]
    encoded = [text for name, text in failing.items() if name.endswith("#encode")]
    whole = [text for text in encoded if "first difference (error): reply to encode" in text]
    assert ['  input: encode {"type": ' in text for text in whole] == [True] * 3
    alike = [": error: reply to encode: encode is not written yet, as peter/codec/" in text for text in encoded]
    assert sum(alike) == len(encoded) - len(whole) > 0
    assert "  input: decode 7b22" in failing["peter/codec/subscribe-with-unknown-members#decode"]
    assert len(cases) == 1 + len(case_ids("peter"))


@pytest.mark.minute
def test_a_property_selects_cases_by_a_part_of_their_ids(tmp_path: Path) -> None:
    """Maven itself cannot select tests that are made when the test class runs."""
    folder = begin_java(tmp_path, "peter")

    some = maven(folder, "test", "-Dpeerproof.cases=/codec/sample-publish#")
    none = maven(folder, "test", "-Dpeerproof.cases=/nothing/")

    assert some.returncode == 0, some.stdout
    parts = sum("/codec/sample-publish#" in case for case in case_ids("peter"))
    assert f"Tests run: {1 + parts}," in some.stdout  # the list of known failures is a test, too
    assert none.returncode == 1
    assert re.search(r" no id contains /nothing/$", none.stdout, re.MULTILINE)


def case_ids(protocol: str) -> list[str]:
    """The ids of all cases in a bundle."""
    found = json.loads(bundle(protocol).read_bytes())
    rows = [*found["vectors"], *(row for table in found["tables"] for row in table["vectors"])]
    return [case["id"] for row in rows for case in row["cases"]]
