"""The native runners reach the verdicts of the Python runner, case by case, on the same implementations."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.adapters.test_adapter_js import MISTAKES as OF_SCUTTLEBUTT
from tests.conformance.adapters.test_adapter_swim_js import MISTAKES as OF_SWIM
from tests.support.javascript import ADAPTERS, copy_with
from tests.support.native_runners import (
    RUNNERS,
    Verdicts,
    build_go,
    bundle,
    copy_go,
    of_go,
    of_javascript,
    of_python,
    require_go,
)
from tests.support.tools import require

pytestmark = pytest.mark.slow

#: Port in JavaScript -> its protocol, and faults that it is given.
PORTS = {"scuttlebutt-js": ("scuttlebutt", OF_SCUTTLEBUTT), "swim-js": ("swim", OF_SWIM)}

#: Name -> module of the implementation in Go, what stands there, what is wrong.
OF_GO = {
    "versions are little-endian": ("codec.go", "entry.Version = binary.BigEndian", "entry.Version = binary.LittleEndian"),
    "the newest pairs come first": (
        "node.go",
        "cmp.Compare(one.Version, other.Version)",
        "cmp.Compare(other.Version, one.Version)",
    ),
    "what does not fit is left out": (
        "node.go",
        "if size += needs; size > n.config.MaxPayload {\n\t\t\t\treturn packed\n\t\t\t}",
        "if size+needs > n.config.MaxPayload {\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tsize += needs",
    ),
    "an empty digest response is sent": ("node.go", " && len(lacking) > 0 {", " {"),
    "a peer is down too early": ("detector.go", "oneByLn10, 1000)", "unit, 1000)"),
}

REFERENCE = "py:peerproof.reference.harness.harness:Harness"


def assert_agree(native: Verdicts, python: Verdicts) -> set[str]:
    """
    Both have the same verdict on every case; the statuses that occur.

    With a decoder that violates its own cases, a native runner has no verdict on cases for which it would have to read messages.
    """
    assert native.keys() == python.keys()
    open_ones = [case for case, verdict in native.items() if verdict.status == "undetermined"]
    decoding = {verdict.status for case, verdict in python.items() if case.endswith("#decode")}
    assert not open_ones or decoding & {"failed", "crashed"}
    different = {case: (native[case], verdict) for case, verdict in python.items() if native[case] != verdict}
    assert different.keys() == set(open_ones), different
    return {verdict.status for verdict in python.values()}


@pytest.mark.parametrize("port", PORTS)
def test_javascript_agrees_on_a_right_port(port: str, tmp_path: Path) -> None:
    protocol, _ = PORTS[port]

    native = of_javascript(protocol, ADAPTERS / port)

    statuses = assert_agree(native, of_python(protocol, f"node '{ADAPTERS / port / 'adapter.mjs'}'", tmp_path / "report.jsonl"))
    assert statuses <= {"passed", "skipped"}


@pytest.mark.parametrize(
    ("port", "mistake"), [(port, mistake) for port, (_, mistakes) in PORTS.items() for mistake in list(mistakes)[:5]]
)
def test_javascript_agrees_on_a_wrong_port(port: str, mistake: str, tmp_path: Path) -> None:
    protocol, mistakes = PORTS[port]
    _, module, right, wrong = mistakes[mistake]
    adapter = copy_with(tmp_path, port, module, right, wrong)

    native = of_javascript(protocol, adapter)

    statuses = assert_agree(native, of_python(protocol, f"node '{adapter / 'adapter.mjs'}'", tmp_path / "report.jsonl"))
    assert statuses & {"failed", "crashed", "differs", "tolerated"}


@pytest.mark.parametrize("mistake", [None, *OF_GO])
def test_go_agrees_on_an_implementation_in_go(mistake: str | None, tmp_path: Path) -> None:
    """The runner in Go calls it; the Python runner reaches the same program as an adapter."""
    folder = copy_go(tmp_path)
    if mistake:
        module, right, wrong = OF_GO[mistake]
        source = folder / "scuttlebutt" / module
        text = source.read_text("utf-8")
        assert text.count(right) == 1, f"{right!r} is no longer in {module}"
        source.write_text(text.replace(right, wrong), encoding="utf-8")
    program = build_go(folder, "./scuttlebutt/cmd")

    native = of_go(program, "verdicts", bundle("scuttlebutt"))

    served = shlex.join([str(program), "serve", str(bundle("scuttlebutt"))])
    statuses = assert_agree(native, of_python("scuttlebutt", served, tmp_path / "report.jsonl"))
    assert statuses == {"passed"} if mistake is None else statuses & {"failed", "differs", "tolerated"}


@pytest.mark.parametrize("protocol", ["peter", "wendy"])
def test_go_agrees_through_an_adapter(protocol: str, tmp_path: Path) -> None:
    """Over connections, with clusters, and with several forms of one message."""
    harness = [sys.executable, "-m", "peerproof.cli.main", "node", "harness"]

    program = build_go(copy_go(tmp_path), "./cmd/verdicts")

    native = of_go(program, bundle(protocol), *harness)

    assert assert_agree(native, of_python(protocol, REFERENCE, tmp_path / "report.jsonl")) == {"passed"}


def test_node_test_runs_the_vectors_and_says_what_failed(tmp_path: Path) -> None:
    shutil.copytree(RUNNERS / "javascript", tmp_path / "runners/javascript", ignore=shutil.ignore_patterns("testdata"))
    _, module, right, wrong = OF_SCUTTLEBUTT["versions are numbers"]
    copy_with(tmp_path / "adapters", "scuttlebutt-js", module, right, wrong)
    write_codec_only(tmp_path / "runners/javascript/testdata")

    command = [require("node"), "--test", "--test-reporter=tap", "."]
    done = subprocess.run(command, cwd=tmp_path / "runners/javascript", capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert re.search(r"^not ok \d+ - scuttlebutt/codec/delta-largest-version\\#decode$", done.stdout, re.MULTILINE)
    assert "first difference (value): entries[0].version" in done.stdout
    assert "read on: peerproof explain" in done.stdout


def write_codec_only(folder: Path) -> None:
    """A bundle of the vectors of the codec, which takes less time."""
    found = json.loads(bundle("scuttlebutt").read_bytes())
    codec = [vector for vector in found["vectors"] if "/codec/" in vector["id"]]
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
    assert "first difference (value): entries[0].version" in done.stdout
    assert "BA-01 must:" in done.stdout
    assert "read on: peerproof explain" in done.stdout


def test_go_is_in_the_form_of_gofmt_and_has_no_complaints() -> None:
    listed = subprocess.run([require("gofmt"), "-l", "."], cwd=RUNNERS / "go", capture_output=True, text=True, check=True)
    vetted = subprocess.run([require_go(), "vet", "./..."], cwd=RUNNERS / "go", capture_output=True, text=True, check=False)

    assert listed.stdout == ""
    assert vetted.returncode == 0, vetted.stderr
