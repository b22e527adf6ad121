"""Wendy and DistKV's codec in Go: their verdicts, natively and through the adapter, and those of copies with a fault."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.conformance.runners.test_native_runners import assert_agree
from tests.support.javascript import ADAPTERS
from tests.support.native_runners import Verdicts, build_go, bundle, copy_go, of_go, of_python, require_go
from tests.support.tools import require

from peerproof.cli.main import main

pytestmark = pytest.mark.slow

MODULE = "peerproof.example/adapters"

#: Protocol -> the statuses of its cases. DistKV has no nodes.
STATUSES = {"wendy": {"passed"}, "distkv": {"passed", "skipped"}}


class Fault(NamedTuple):
    """A vector that detects it, the file that has it, what stands there, and what is wrong."""

    vector: str
    file: str
    right: str
    wrong: str


#: Protocol -> name -> fault.
FAULTS = {
    "wendy": {
        "numbers are floats": Fault(
            "codec/largest-numbers-with-blanks",
            "wendy/decode.go",
            "value, err := strconv.ParseUint(string(number), 10, 64)",
            "float, err := strconv.ParseFloat(string(number), 64)\n\tvalue := uint64(float)",
        ),
        "a port is not checked": Fault(
            "codec/reject-port-too-large",
            "wendy/decode.go",
            "math.MaxUint16",
            "math.MaxInt32",
        ),
        "names are read in any case": Fault(
            "codec/unknown-members", "strictjson/strictjson.go", "o[at].Name == name", "strings.EqualFold(o[at].Name, name)"
        ),
        "the first of equal names counts": Fault(
            "codec/the-last-of-equal-names",
            "strictjson/strictjson.go",
            "for at := len(o) - 1; at >= 0; at-- {",
            "for at := range o {",
        ),
        "half of a character is replaced": Fault(
            "codec/reject-a-lone-surrogate",
            "strictjson/strictjson.go",
            "if !utf16.IsSurrogate(first) {",
            "if first != 0 {",
        ),
        "base64 may have line ends": Fault(
            "codec/reject-value-a-line-end",
            "wendy/decode.go",
            'err != nil || strings.ContainsAny(text, "\\r\\n")',
            'err != nil && strings.Trim(text, "=") != ""',
        ),
        "a mask is a list": Fault("codec/rows-in-any-order", "wendy/decode.go", "return ascending(numbers)", "return numbers"),
        "row 32 is asked for": Fault("codec/reject-row-32", "wendy/decode.go", '"Rows", Rows-1)', '"Rows", Rows)'),
        "what exceeds a table is read": Fault("codec/long-arrays", "wendy/decode.go", "items[:min(len(items), most)]", "items"),
        "65 levels are read": Fault(
            "codec/reject-sixty-five-levels", "wendy/decode.go", "MaxDepth       = 64", "MaxDepth       = 65"
        ),
        "nothing is null": Fault("codec/sample-exit", "wendy/encode.go", "return Bytes{}", "return nil"),
        "a join has no value": Fault(
            "codec/sample-join-with-credentials", "wendy/encode.go", "return message.Header.Credentials", "return Bytes{}"
        ),
        "the greater ids come first": Fault(
            "codec/sample-race",
            "wendy/encode.go",
            "{tables.LeafSet.Left, tables.LeafSet.Right}",
            "{tables.LeafSet.Right, tables.LeafSet.Left}",
        ),
        "empty places are left out": Fault(
            "codec/sample-race", "wendy/encode.go", "w.list(name, some, ", "w.list(name, len(nodes), "
        ),
        "a mark is not needed": Fault(
            "exchange/a-leaf-set-without-the-mark", "wendy/joining.go", "if message.Destination && n.stage", "if n.stage"
        ),
        "an announcer is warned and taken in": Fault(
            "exchange/announcement-with-an-old-leaf-set",
            "wendy/joining.go",
            "n.shown(true, true, true) })\n\t\treturn",
            "n.shown(true, true, true) })",
        ),
        "a tie goes to the upper node": Fault(
            "exchange/route-a-tie-of-leaves",
            "wendy/ring.go",
            "r.clockwise(one, key) == distance",
            "r.clockwise(key, one) == distance",
        ),
        "the nearest leaf is asked": Fault(
            "exchange/leaf-82-is-lost", "wendy/repair.go", "n.ask((*side)[some-1]", "n.ask((*side)[0]"
        ),
        "an unknown score is the best": Fault(
            "exchange/an-unknown-score-gives-way", "wendy/tables.go", "return math.MaxInt64", "return -1"
        ),
        "hops are not counted": Fault("exchange/purpose-16-is-delivered", "wendy/node.go", "header.Hop++", "header.Hop += 0"),
        "the last brace is not looked for": Fault(
            "exchange/braces-in-strings", "wendy/stream.go", "s.inText = true", "s.inText = false"
        ),
    },
    "distkv": {
        "numbers are floats": Fault(
            "codec/tick-of-beyond-53-bits",
            "distkv/msgpack.go",
            "return number\n}\n\n// signed",
            "return uint64(float64(number))\n}\n\n// signed",
        ),
        "a cut chain ends": Fault("codec/chain-of-one-cut", "distkv/messages.go", "chain.IsCut = true\n", ""),
        "the end belongs to a range": Fault(
            "codec/ranges-one-two-three",
            "distkv/ranges.go",
            "return Range{readTick(pair[0]), end}",
            "return Range{readTick(pair[0]), end + 1}",
        ),
        "ranges that touch are two": Fault(
            "codec/ranges-that-touch", "distkv/ranges.go", "ranges[last].End == next.Begin", "ranges[last].End > next.Begin"
        ),
        "the tick 0 is kept": Fault("codec/tick-zero-in-a-list", "distkv/ranges.go", "max(next.Begin, 1)", "max(next.Begin, 0)"),
        "nodes are in any order": Fault(
            "codec/nodes-in-order-whatever-they-look-like",
            "distkv/messages.go",
            "slices.Sort(all)",
            "slices.SortFunc(all, func(one, other string) int { return len(one) - len(other) })",
        ),
        "names may be longer": Fault("codec/reject-node-long", "distkv/messages.go", "MaxName = 64", "MaxName = 65"),
        "a node changes twice": Fault(
            "codec/reject-update-with-a-node-twice", "distkv/messages.go", "if seen[element.Node] {", "if false {"
        ),
        "the sender made the change": Fault(
            "codec/update-sent-again-by-another",
            "distkv/messages.go",
            "message.Chain = readChain(chain)\n",
            "message.Chain = readChain(append(chain[:0:0], members...))\n",
        ),
        "Null is none": Fault(
            "codec/reject-known-of-null",
            "distkv/messages.go",
            "case absent:\n\tcase Map:\n\t\tcheckNames",
            "case absent, nil:\n\tcase Map:\n\t\tcheckNames",
        ),
        "the empty names are two": Fault(
            "codec/path-with-the-empty-byte-string", "distkv/messages.go", "if len(name) == 0 {", "if false {"
        ),
        "bytes are strings": Fault(
            "codec/path-of-a-byte-string",
            "distkv/msgpack.go",
            "w.sized(uint64(len(value)), 0xc4, 0xc5, 0xc6)",
            "w.header(len(value), 0xa0, 32, 0xd9, 0xda, 0xdb)",
        ),
        "strings have the old headers": Fault(
            "codec/name-of-32-bytes", "distkv/msgpack.go", "0xa0, 32, 0xd9, 0xda", "0xa0, 32, 0, 0xda"
        ),
        "keys of values are in any order": Fault(
            "codec/value-map-of-others",
            "distkv/msgpack.go",
            "return bytes.Compare(one.key, other.key)",
            "return bytes.Compare(other.key, one.key)",
        ),
    },
}

#: A program with all copies: it prints the verdicts of the one with a number.
MAIN = """package main

import (
	"log"
	"os"
	"strconv"
	"time"

	vectors "peerproof.example/vectors"
%s
)

func main() {
	implementations := []vectors.Implementation{%s}
	bundle, err := vectors.Load(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := vectors.Verdicts(bundle, implementations[number], os.Stdout, 10*time.Second); err != nil {
		log.Fatal(err)
	}
}
"""


def copy_adapters(folder: Path) -> Path:
    """A copy of the codecs in Go, with the runner where they look for it."""
    copy_go(folder / "runners")
    return Path(shutil.copytree(ADAPTERS / "go", folder / "adapters/go", ignore=shutil.ignore_patterns("testdata")))


def build_copies(folder: Path, protocol: str) -> Path:
    """A program with a copy of the codec for each fault, since one program takes less time to build than many."""
    adapters = copy_adapters(folder)
    imports = []
    for number, (_, file, right, wrong) in enumerate(FAULTS[protocol].values()):
        package = f"copies/copy{number}"
        for source in [*adapters.glob(f"{protocol}/*.go"), *adapters.glob("strictjson/*.go")]:
            text = source.read_text("utf-8").replace(f'"{MODULE}/strictjson"', f'"{MODULE}/{package}/strictjson"')
            name = source.relative_to(adapters)
            if name.as_posix() == file:
                assert text.count(right) == 1, f"{right!r} is no longer in {file}"
                text = text.replace(right, wrong)
            target = adapters / package / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        imports.append(f'\tcopy{number} "{MODULE}/{package}/{protocol}"')
    implementations = ", ".join(f"copy{number}.Implementation{{}}" for number in range(len(imports)))
    (adapters / "copies/main.go").write_text(MAIN % ("\n".join(imports), implementations), encoding="utf-8")
    return build_go(adapters, "./copies")


def write_part(protocol: str, folder: Path) -> Path:
    """A bundle of the vectors that detect the faults, which takes less time."""
    names = {f"{protocol}/{fault.vector}" for fault in FAULTS[protocol].values()}
    whole = json.loads(bundle(protocol).read_bytes())
    part = [vector for vector in whole["vectors"] if vector["id"] in names]
    path = folder / "part.json"
    path.write_text(json.dumps({**whole, "vectors": part, "tables": []}), encoding="utf-8")
    return path


def is_caught(vector: str, verdicts: Verdicts) -> bool:
    """Whether a case of a vector does not pass."""
    cases = {case: verdict.status for case, verdict in verdicts.items() if case.split("#")[0] == vector}
    assert cases, f"there is no vector {vector}"
    return not set(cases.values()) <= {"passed", "skipped"}


@pytest.mark.parametrize("protocol", STATUSES)
def test_all_vectors_of_the_codec_pass_natively_and_through_the_adapter(protocol: str, tmp_path: Path) -> None:
    program = build_go(copy_adapters(tmp_path), f"./cmd/{protocol}")
    adapter = shlex.join([str(program), "serve"])

    native = of_go(program, "verdicts", bundle(protocol))

    assert main(["doctor", "--impl", adapter]) == 0
    assert assert_agree(native, of_python(protocol, adapter, tmp_path / "report.jsonl")) == STATUSES[protocol]
    for check in ("decode", "encode", "reencode", "rejects"):
        assert {verdict.status for case, verdict in native.items() if case.endswith(f"#{check}")} == {"passed"}, check


@pytest.mark.minute
@pytest.mark.parametrize("protocol", STATUSES)
def test_each_fault_fails_the_vector_that_detects_it(protocol: str, tmp_path: Path) -> None:
    program = build_copies(tmp_path, protocol)

    part = write_part(protocol, tmp_path)
    verdicts = {fault: of_go(program, str(number), part) for number, fault in enumerate(FAULTS[protocol])}

    caught = {fault: is_caught(f"{protocol}/{FAULTS[protocol][fault].vector}", verdicts[fault]) for fault in verdicts}
    assert all(caught.values()), [fault for fault in caught if not caught[fault]]


def test_go_is_formatted_and_its_own_tests_pass(tmp_path: Path) -> None:
    """The seeds of the fuzzers are the messages of the bundle."""
    adapters = copy_adapters(tmp_path)

    formatted = subprocess.run([require("gofmt"), "-l", "."], cwd=adapters, capture_output=True, text=True, check=True)
    subprocess.run([require_go(), "vet", "./..."], cwd=adapters, check=True)

    assert formatted.stdout == ""
    for protocol in STATUSES:
        environment = {**os.environ, "PEERPROOF_BUNDLE": str(bundle(protocol))}
        subprocess.run([require_go(), "test", f"./{protocol}"], cwd=adapters, env=environment, check=True)
