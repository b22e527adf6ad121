"""Options of `peerproof run` that would be ignored, or do not go together, are refused; vectors may be one file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.conformance.conftest import Capture
from tests.support.catching import path_of
from tests.support.implementations import Nodeless

from peerproof.cli.main import main
from peerproof.conformance.suite.locations import vectors_root
from peerproof.conformance.vectors.suite import VectorError, load

ROUNDS = vectors_root("swim") / "swim/exchange/rounds.yaml"


NODE = "udp://127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scuttlebutt", "--config", "{}"], "--config is for --pcap"),
        (["scuttlebutt", "--port", "8118"], "--port is for --pcap"),
        (["scuttlebutt", "--slack", "3"], "--slack is for real sockets"),
        (["--slack", "0"], "expected seconds"),
        (["--transport", "sctp"], "expected some of virtual, udp, tcp"),
        (["--connect", NODE], "--connect needs a protocol"),
        (["scuttlebutt", "--connect", "tcp://127.0.0.1:1"], "expected udp://HOST:PORT"),
        (["scuttlebutt", "--connect", "udp://127.0.0.1"], "expected host:port"),
        (["scuttlebutt", "--connect", "udp://127.0.0.1:00000165536"], "expected host:port"),
        (
            ["scuttlebutt", "--connect", NODE, "--impl", "./mine"],
            "without one: give one of them",
        ),
        (["scuttlebutt", "--connect", NODE, "-j", "2"], "--jobs is for an adapter"),
        (["scuttlebutt", "--connect", NODE, "--transport", "udp"], "--transport is for an adapter"),
        (["scuttlebutt", "--pcap", "x", "--seed", "3"], "--seed cannot be combined with --pcap"),
        (["scuttlebutt", "--pcap", "x", "--assume", "y"], "--assume cannot be combined with --pcap"),
    ],
)
def test_options_that_would_be_ignored_or_mean_nothing_end_the_command(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_vectors_of_one_file_can_be_run_wherever_it_lies(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    shutil.copy(ROUNDS, mine)

    alone, whole = load(mine), load(protocol="swim")

    expected = [vector.id for vector in whole.vectors if vector.file == "swim/exchange/rounds.yaml"]
    assert [vector.id for vector in alone.vectors] == expected
    assert {alone.path(vector) for vector in alone.vectors} == {mine}
    assert main(["run", "--vectors", str(mine)]) == 0


@pytest.mark.slow
def test_a_file_of_the_suite_keeps_what_its_vectors_rest_on() -> None:
    rests = {vector.id: (vector.level, vector.rests_on) for vector in load(protocol="swim").vectors}

    assert all((vector.level, vector.rests_on) == rests[vector.id] for vector in load(ROUNDS).vectors)


@pytest.mark.parametrize(("text", "said"), [("", "no vectors here"), ("- id: swim/exchange/x\n", "mine.yaml:1")])
def test_a_file_without_vectors_is_an_error_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)

    with pytest.raises(VectorError) as error:
        load(mine)

    assert said in str(error.value)


@pytest.mark.slow
def test_who_claims_nodes_must_open_one(capsys: Capture) -> None:
    """No case of SWIM has the default configuration alone, so each may be skipped; not all of them."""
    arguments = ["run", "swim", "--impl", f"py:{path_of(Nodeless)}"]
    problem = r"swim: exchange is claimed, but open was unsupported in all [\d,]+ cases: no node yet\n"

    assert main(arguments) == 1
    assert re.search(problem, capsys.readouterr().out)

    assert main([*arguments, "-k", "layer:codec"]) == 0
    assert not re.search(problem, capsys.readouterr().out)
