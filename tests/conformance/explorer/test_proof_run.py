"""What refutes a proof, opened in the explorer: one node before and after one step, and the claim that is false."""

from __future__ import annotations

import json
import threading
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.shared import made_once

from peerproof.cli.main import main
from peerproof.conformance.explorer.proof_run import CLUSTER, read_runs
from peerproof.conformance.explorer.serve import Explorer
from peerproof.conformance.proofs.counterexample import FORMAT, VERSION, BadFile, file_of

WORDS = "SZ-14 payload"


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def saved() -> Path:
    """A file with what refutes a twin."""

    def prove(folder: Path) -> None:
        words = ["--any", "-k", WORDS, "--seconds", "1200", "--save", str(folder / "found.json")]
        assert main(["model", "prove", "swim", *words]) == 0

    return made_once("counterexample", prove) / "found.json"


def test_a_file_opens_as_a_run_of_one_step(saved: Path) -> None:
    (run,) = read_runs(saved)
    (moment,) = run.moments
    cards: Any = run.view(0)["nodes"]
    changed = {field["name"]: field["value"] for card in cards for field in card["fields"] if field["changed"]}

    assert run.title == "SZ-14 a-payload-is-of-the-life-of-its-row (changed on purpose: a payload survives a restart (SD-16))"
    assert moment.what.startswith("recv from there:2: ping ")
    assert moment.problem is not None
    assert moment.problem.what == "false: a payload is of this life"
    assert run.verdict == "refuted"
    assert [card["name"] for card in cards] == [CLUSTER, moment.node]
    assert any(name.endswith(".incarnation.restart") for name in changed)
    assert "SI-08" in {clause for clause, _ in run.outline()["clauses"]}
    json.dumps(run.whole())


def test_the_server_shows_it(saved: Path) -> None:
    runs = read_runs(saved)
    with Explorer(runs={run.title: lambda run=run: run for run in runs}) as server:  # type: ignore[misc]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        outline, moment = (asked(server, name) for name in ("run.json?run=0", "moment.json?run=0&at=0"))
        server.shutdown()
        thread.join()

    assert outline["title"] == runs[0].title
    assert outline["moments"][0]["problem"]["verdict"] == "refuted"
    assert moment["moment"]["problem"]["what"] == "false: a payload is of this life"
    assert any(field["changed"] for card in moment["nodes"] for field in card["fields"])


def asked(server: Explorer, name: str) -> Any:
    """What the server answers."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.token}/{name}")
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_the_command_writes_it_as_one_page(saved: Path, tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "page.html"

    assert main(["model", "explore", str(saved), "--output", str(page)]) == 0

    assert capsys.readouterr().out == f"{page}: open it in a browser; it loads nothing\n"
    assert "a-payload-is-of-the-life-of-its-row" in page.read_text()


def test_one_that_is_not_confirmed_says_so(saved: Path, tmp_path: Path) -> None:
    (found,) = json.loads(saved.read_text())["counterexamples"]
    file = tmp_path / "doubtful.json"
    file.write_text(json.dumps(file_of([{**found, "confirmed": False, "doubt": "the claim holds"}])))

    (run,) = read_runs(file)

    assert run.verdict == "not confirmed"
    assert run.moments[0].problem is not None
    assert "Not confirmed by the specification on these values: the claim holds." in run.moments[0].problem.what


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "it is not JSON"),
        ("[]", f"this file does not begin with the format '{FORMAT}'"),
        (json.dumps({"format": FORMAT, "version": 9}), f"it has version 9; this program reads version {VERSION}"),
        (json.dumps({"format": FORMAT, "version": VERSION, "counterexamples": []}), "it has no counterexamples"),
        (json.dumps(file_of([{"protocol": "swim"}])), "a counterexample lacks members, has others, or is of an unknown protocol"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, capsys: Capture, content: str, message: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)

    with pytest.raises(BadFile, match=r"\w"):
        read_runs(file)
    assert main(["model", "explore", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}: {message}")


@pytest.mark.parametrize("broken", [{"steps": [{}]}, {"cluster": 7}, {"steps": 7}, {"names": 7}])
def test_a_counterexample_of_another_shape_is_refused(saved: Path, tmp_path: Path, broken: dict[str, Any]) -> None:
    (found,) = json.loads(saved.read_text())["counterexamples"]
    file = tmp_path / "broken.json"
    file.write_text(json.dumps(file_of([{**found, **broken}])))

    with pytest.raises(BadFile, match="a counterexample is not as peerproof model prove writes it"):
        read_runs(file)


def test_a_file_takes_no_model(saved: Path, capsys: Capture) -> None:
    assert main(["model", "explore", str(saved), "--model", "small-a"]) == 2
    assert "takes neither --model nor --impl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("named", "tip"),
    [
        ("wendi", "did you mean wendy?"),
        ("pastry", "there are distkv, peter, scuttlebutt, swim, wendy"),
        ("nosuch.json", "there are distkv, "),
        (".", "there are distkv, "),
    ],
)
def test_what_is_neither_a_protocol_nor_a_file_is_refused(capsys: Capture, named: str, tip: str) -> None:
    assert main(["model", "explore", named]) == 2
    assert capsys.readouterr().err.startswith(f"error: unknown protocol {named!r}\ntip: {tip}")


def test_nothing_is_saved_where_nothing_has_values(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "none.json"

    assert main(["model", "prove", "scuttlebutt", "-k", "BZ-05 number", "--save", str(file)]) == 4

    assert "error: no counterexample has values, so nothing is saved\n" in capsys.readouterr().err
    assert not file.exists()
