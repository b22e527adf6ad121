"""The native runners agree with the Python runner on decoders that only differ, and on declared readings."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.conformance.runners.test_native_runners import assert_agree
from tests.support import served_reading
from tests.support.catching import suite
from tests.support.javascript import copy_with
from tests.support.native_runners import (
    Verdicts,
    build_go,
    bundle,
    copy_go,
    of_go,
    of_java,
    of_javascript,
    of_python,
    part_of_bundle,
    require_go,
    selected_bundle,
)
from tests.support.rust import of_rust

from peerproof.conformance.vectors.selection import select_vectors

pytestmark = pytest.mark.slow

#: Its decoder rejects legal messages that no other case of the codec than those of this decision has.
DIFFERING = "swim", "SA-12", "as-in-the-samples", "id:*/codec/*,*/exchange/incarnations-in-*,*/exchange/counters-above-*"
#: A node that differs, in scripts and only there.
SORTING = "scuttlebutt", "BA-12", "descending", "id:*/exchange/*"
#: A node whose messages have parts that mean nothing.
EMPTY = "swim", "SA-28", "empty-too", "id:*/codec/*,*/exchange/payload-*"
READINGS = [(DIFFERING, False), (DIFFERING, True), (SORTING, True), (EMPTY, False), (EMPTY, True)]


def in_go(protocol: str, words: str, command: list[str], folder: Path) -> Verdicts:
    program = build_go(copy_go(folder), "./cmd/verdicts")
    return of_go(program, bundle_of(protocol, words), *command)


def in_java(protocol: str, words: str, command: list[str], _: Path) -> Verdicts:
    (native,) = of_java(bundle_of(protocol, words), command)
    return native


def in_rust(protocol: str, words: str, command: list[str], _: Path) -> Verdicts:
    return of_rust(protocol, words, *command)


#: Each runs both readings; Go's stands for the others in `make test`.
RUNNERS = [in_go, *(pytest.param(runner, marks=pytest.mark.minute) for runner in (in_java, in_rust))]


@cache
def bundle_of(protocol: str, words: str) -> Path:
    chosen = {vector.id for vector in select_vectors(suite(), words, protocol)}
    return selected_bundle(protocol, Path(mkdtemp()), chosen.__contains__)


@cache
def python_verdicts(protocol: str, words: str, command: tuple[str, ...]) -> Verdicts:
    return of_python(protocol, shlex.join(command), Path(mkdtemp(), "report.jsonl"), "-k", words)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    ("reading", "is_declared"), READINGS, ids=["differing", "differing, declared", "node, declared", "empty", "empty, declared"]
)
def test_it_agrees_on_an_implementation_with_another_reading(
    reading: tuple[str, str, str, str], is_declared: bool, runner: Callable[..., Verdicts], tmp_path: Path
) -> None:
    """Messages are read by what the bundle has of them, and by the decoder only as far as that can be relied on."""
    protocol, clause, name, words = reading
    command = [sys.executable, str(served_reading.__file__), protocol, clause, name, *["declared"] * is_declared]
    python = python_verdicts(protocol, words, tuple(command))

    native = runner(protocol, words, command, tmp_path)

    assert assert_agree(native, python) - {"tolerated"} == ({"passed"} if is_declared else {"passed", "differs"})
    assert "undetermined" not in {verdict.status for verdict in native.values()}


#: Answers the requests of an op with an error.
FAILING = """
import sys
from peerproof.reference.harness.harness import Harness
from peerproof.reference.harness.request_channel import serve_stdio
class Failing(Harness):
    def _reply(self, request, ops):
        fails = request.get("op") == sys.argv[1]
        return {"error": {"code": sys.argv[2], "message": "no"}} if fails else super()._reply(request, ops)
serve_stdio(Failing())
"""
#: Decisions alone, with calls that are legal, calls that are refused, datagrams, and nothing of it.
ALONE = "id:*/exchange/add-node-of-*,*/alone-*,*/exchange/probe-answered-*,*/restart-counter-of-0,*/codec/reject-ping*"


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    ("op", "code", "differs"),
    [("open", "panic", False), ("open", "internal", False), ("call", "panic", True), ("recv", "panic", True)],
)
def test_it_agrees_on_no_answer_to_a_legal_request(
    op: str, code: str, differs: bool, runner: Callable[..., Verdicts], tmp_path: Path
) -> None:
    """It differs only after bytes of a peer, or at a call that is to be refused."""
    command = [sys.executable, "-c", FAILING, op, code]
    python = python_verdicts("swim", ALONE, tuple(command))

    statuses = assert_agree(runner("swim", ALONE, command, tmp_path), python)

    assert ("differs" in statuses) == differs
    assert statuses & {"crashed", "failed"} or op == "recv"


#: Writes the members of messages in another order, and reads none in another than the usual one.
SHUFFLING = """
from peerproof.conformance.readings.protocols.distkv.wire import _turn_members_around as turn
from peerproof.reference.harness.harness import Harness
from peerproof.reference.harness.request_channel import serve_stdio
from peerproof.spec.distkv import MESSAGE
class Shuffling(Harness):
    def _reply(self, request, ops):
        reply = super()._reply(request, ops)
        if "bytes" in reply:
            return {**reply, "bytes": turn(lambda data: data, bytes.fromhex(reply["bytes"])).hex()}
        is_usual = "value" not in reply or MESSAGE.encode(MESSAGE.value(reply["value"])).hex() == request["bytes"]
        return reply if is_usual else {"rejected": {"class": "bad_value", "message": "an unusual form"}}
serve_stdio(Shuffling())
"""


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_decoder_that_is_wrong_keeps_an_encoder_that_only_differs_from_being_accused(
    runner: Callable[..., Verdicts], tmp_path: Path
) -> None:
    words, command = "id:*/codec/nodes-in-*,*/codec/info-in-*", [sys.executable, "-c", SHUFFLING]
    python = python_verdicts("distkv", words, tuple(command))

    native = runner("distkv", words, command, tmp_path)

    encoded = [case for case in python if case.endswith("#encode")]
    assert {python[case].status for case in encoded} == {"differs"}
    assert {native[case].status for case in encoded} == {"undetermined"}
    assert native["distkv/codec/info-in-another-order#decode"].status == "differs"


def test_javascript_agrees_on_a_declared_reading(tmp_path: Path) -> None:
    right, wrong = "byBytes(one.addr, other.addr)", "byBytes(other.addr, one.addr)"
    copied = copy_with(tmp_path / "port", "scuttlebutt-js", "delta.mjs", right, wrong)
    plug = copied / "plug.mjs"
    text = plug.read_text("utf-8")
    assert text.count('choices: "oracle",') == 1
    plug.write_text(text.replace('choices: "oracle",', 'choices: "oracle", readings: { "BA-12": "descending" },'), "utf-8")

    (native,) = of_javascript(part_of_bundle("scuttlebutt", "exchange"), copied)

    served = f"node '{copied / 'adapter.mjs'}'"
    python = of_python("scuttlebutt", served, tmp_path / "report.jsonl", "-k", "layer:exchange")
    assert_agree(native, python)
    assert native["scuttlebutt/exchange/ties-go-by-address-bytes"].status == "passed"


def test_javascript_reads_what_the_decoder_cannot_have_changed(tmp_path: Path) -> None:
    """It loses the entries of deltas. Digests, which no vector has byte by byte, are read since the encoder writes them again."""
    right, wrong = "const { type, entries } = decode(bytes);", "const { type, entries } = lossy(decode(bytes));"
    copied = copy_with(tmp_path / "port", "scuttlebutt-js", "plug.mjs", right, wrong)
    lossy = "\nconst lossy = (message) => (message.type === 'delta' ? { ...message, entries: [] } : message);\n"
    (copied / "plug.mjs").write_text((copied / "plug.mjs").read_text("utf-8") + lossy, encoding="utf-8")

    (native,) = of_javascript(part_of_bundle("scuttlebutt", "codec", "exchange"), copied)

    served = f"node '{copied / 'adapter.mjs'}'"
    python = of_python("scuttlebutt", served, tmp_path / "report.jsonl", "-k", "layer:codec,layer:exchange")
    assert assert_agree(native, python) >= {"passed", "failed"}
    assert "undetermined" not in {verdict.status for verdict in native.values()}


def test_javascript_leaves_out_what_means_nothing(tmp_path: Path) -> None:
    """A delta with an entry that another reading has, where the bundle does not say that it means nothing, and where it does."""
    right = "size += more;\n    }\n  }\n  return entries;"
    void = "{ addr: 'z:1', key: 'k', value: 'v', version: 1n }"
    copied = copy_with(
        tmp_path / "port", "scuttlebutt-js", "delta.mjs", right, right.replace("entries;", f"[...entries, {void}];")
    )
    case = "scuttlebutt/exchange/digest-behind-gets-all-pairs"
    path = selected_bundle("scuttlebutt", tmp_path, f"{case}".__eq__)
    plain = json.loads(path.read_bytes())
    (vector,) = plain["vectors"]
    vector["basis"] = {f"steps[{at}]": {"BA-12": {"~": "descending"}} for at in range(len(vector["steps"]))}
    nothing = {"addr": "z:1", "key": "k", "value": "v", "version": "1"}
    verdicts = []
    for meaningless in ({}, {"delta": [nothing]}):
        plain["run"]["meaningless"] = meaningless
        path.write_text(json.dumps(plain), encoding="utf-8")
        (native,) = of_javascript(path, copied)
        verdicts.append(native[case].status)

    assert verdicts == ["failed", "differs"]


#: In a test of Go: the error about a declared reading, one that is described and one that is not.
UNDESCRIBED = """
package vectors

import "testing"

func TestReadings(t *testing.T) {
	bundle, err := Load("BUNDLE")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"descending", "by-the-moon"} {
		t.Log(bundle.CheckReadings(map[string]string{"BA-12": name, "SA-99": "of another protocol"}))
	}
}
"""


def test_go_refuses_a_reading_that_is_not_described(tmp_path: Path) -> None:
    folder = copy_go(tmp_path)
    (folder / "readings_test.go").write_text(UNDESCRIBED.replace("BUNDLE", str(bundle("scuttlebutt"))), encoding="utf-8")

    done = subprocess.run([require_go(), "test", "-v", "."], cwd=folder, capture_output=True, text=True, check=True)

    assert done.stdout.count("<nil>") == 1
    assert "the offer declares BA-12 as 'by-the-moon'; described are any-order, descending" in done.stdout
