"""The native runner in Rust reaches the verdicts of the Python runner, case by case, on right and wrong implementations."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import pytest
from tests.conformance.adapters.test_adapter_js import MISTAKES as OF_SCUTTLEBUTT
from tests.conformance.adapters.test_adapter_swim_js import MISTAKES as OF_SWIM
from tests.conformance.runners.test_native_runners import assert_agree
from tests.support.javascript import Mistakes, copy_with
from tests.support.rust import ENVIRONMENT, RUNNER, of_python, of_rust, own_target, require_rust, share_target
from tests.support.tools import require

from peerproof.cli.main import main
from peerproof.spec.protocols import PROTOCOLS

pytestmark = pytest.mark.slow

HARNESS = sys.executable, "-m", "peerproof.cli.main", "node", "harness"

#: A part of the vectors, with some of each layer: models are sampled by a digit of the digest in their ids.
SAMPLE = "id:*/codec/*s,*/exchange/*rs,*/cluster/*ns,*/model/*00"

WRONG = {"failed", "crashed", "differs", "tolerated"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_reference_passes(protocol: str) -> None:
    """As it does with the Python runner (tests of the suite), over the adapter protocol."""
    verdicts = of_rust(protocol, SAMPLE, *HARNESS)

    assert {verdict.status for verdict in verdicts.values()} == {"passed"}


def assert_agree_on_ports(port: str, protocol: str, mistakes: Mistakes, words: str, folder: Path) -> None:
    for number, (_, module, right, wrong) in enumerate(mistakes.values()):
        adapter = copy_with(folder / str(number), port, module, right, wrong) / "adapter.mjs"
        python = of_python(protocol, words, f"node '{adapter}'", folder / "report.jsonl")

        assert assert_agree(of_rust(protocol, words, require("node"), str(adapter)), python) & WRONG


def of_layer(mistakes: Mistakes, layer: str) -> Mistakes:
    """The faults that vectors of a layer detect."""
    return {name: mistake for name, mistake in mistakes.items() if mistake[0].startswith(layer)}


@pytest.mark.minute
def test_the_verdicts_on_wrong_codecs_agree(tmp_path: Path) -> None:
    assert_agree_on_ports("scuttlebutt-js", "scuttlebutt", of_layer(OF_SCUTTLEBUTT, "codec"), "layer:codec", tmp_path)


@pytest.mark.minute
def test_the_verdicts_on_wrong_nodes_agree(tmp_path: Path) -> None:
    words = "id:*/codec/*,*/exchange/*"
    assert_agree_on_ports("scuttlebutt-js", "scuttlebutt", of_layer(OF_SCUTTLEBUTT, "exchange"), words, tmp_path)


@pytest.mark.minute
def test_the_verdicts_on_a_wrong_codec_of_exact_numbers_agree(tmp_path: Path) -> None:
    """Its messages have large integers and fractions, and their order of members counts."""
    assert_agree_on_ports("swim-js", "swim", OF_SWIM, "layer:codec", tmp_path)


#: Serves the divergence of the first argument, or the reference without support for an op.
DIVERGENCE = """
import sys
from peerproof.conformance.adapter.implementation import divergences
from peerproof.reference.harness.request_channel import serve_stdio
serve_stdio(divergences()[sys.argv[1]]())
"""
UNSUPPORTED = """
import sys
from peerproof.reference.harness.harness import Harness
from peerproof.reference.harness.request_channel import serve_stdio
class Partial(Harness):
    def _reply(self, request, ops):
        refuses = request.get("op") == sys.argv[1]
        return {"error": {"code": "unsupported", "message": "no"}} if refuses else super()._reply(request, ops)
serve_stdio(Partial())
"""


@pytest.mark.minute
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_verdicts_on_divergences_agree(protocol: str, tmp_path: Path) -> None:
    """Those of real implementations, on the vectors that detect them."""
    found = PROTOCOLS[protocol].divergences
    assert found is not None
    known: Mapping[str, object] = found.load()
    for name in islice(known, 1, None, len(known) // 3):
        words = f"clause:{name},id:*/codec/*s"
        python = of_python(protocol, words, f"divergence:{name}", tmp_path / "report.jsonl")

        assert assert_agree(of_rust(protocol, words, sys.executable, "-c", DIVERGENCE, name), python) & WRONG


@pytest.mark.minute
@pytest.mark.parametrize("op", ["encode", "load", "advance", "call", "query", "restart"])
def test_the_verdicts_on_what_is_offered_and_unsupported_agree(op: str, tmp_path: Path) -> None:
    """It is a failure, but for a given state."""
    command = [sys.executable, "-c", UNSUPPORTED, op]
    words = "id:*/codec/*r,*/exchange/*r,*/exchange/*restart*,*/model/*000"
    python = of_python("scuttlebutt", words, shlex.join(command), tmp_path / "report.jsonl")

    statuses = assert_agree(of_rust("scuttlebutt", words, *command), python)

    assert ("skipped" in statuses, "failed" in statuses) == (op == "load", op != "load")


def test_it_is_in_the_form_of_rustfmt_and_has_no_complaints() -> None:
    """And its own tests pass."""
    for program in ("rustfmt", "clippy"):
        require(program)
    environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(own_target())}
    for arguments in ("fmt --check", "clippy --all-targets -- -D warnings", "test"):
        command = [require_rust(), *arguments.split()]
        done = subprocess.run(command, cwd=RUNNER, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


#: What is typed into the template: its decoder panics or does not answer, and its node panics.
WORST = (
    (
        "src/scuttlebutt.rs",
        "let why = ",
        """match datagram.len() {
            1 => panic!("there is one byte"),
            10 => std::thread::sleep(std::time::Duration::from_secs(60)),
            _ => {}
        }
        let why = """,
    ),
    ("src/scuttlebutt.rs", '1] = ["codec"]', '3] = ["codec", "exchange", "api.update_local"]'),
    (
        "src/scuttlebutt.rs",
        "_datagram: &[u8]) -> Result<Reaction, Problem> {",
        "datagram: &[u8]) -> Result<Reaction, Problem> {",
    ),
    (
        "src/scuttlebutt.rs",
        "Ok(Reaction::default())\n    }\n\n    /// Runs all",
        'panic!("{}", datagram[0])\n    }\n\n    /// Runs all',
    ),
    ("tests/vectors.rs", ".known_failing(", ".time_limit(std::time::Duration::from_secs(2)).known_failing("),
)


_LINES = r"[^\n]*(?:\n  .*)*?\n +"  #: of the same text


def test_a_panic_and_a_missing_answer_fail_their_case_alone(tmp_path: Path) -> None:
    """The others go on, and the text says what happened."""
    cargo, folder = require_rust(), tmp_path / "mine"
    assert main(["init", "--lang", "rust", "scuttlebutt", "--name", "my-node", str(folder)]) == 0
    share_target(folder)
    for file, old, new in WORST:
        text = (folder / file).read_text("utf-8")
        assert old in text, old
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    command = [cargo, "test", "--test", "vectors", "--", "--skip", "/model/", "--skip", "/cluster/"]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    said = done.stdout + done.stderr
    alone = rf"^crashed: a delta without entries{_LINES}input: decode 03\n{_LINES}actual .*: there is one byte"
    assert re.search(alone, said, re.MULTILINE), said
    assert re.search(rf"^hung: an address in a digest may be empty{_LINES}actual    \"no answer within 2 s\"", said, re.MULTILINE)
    assert re.search(rf"^crashed: {_LINES}what happened\n +0 ms  b:1  opened\n +0 ms  b:1 <- a:1", said, re.MULTILINE)
    assert "ignored (skipped: the implementation does not offer observe." in said
