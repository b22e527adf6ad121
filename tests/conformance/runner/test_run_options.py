"""Options of `peerproof run` that would be ignored are refused, and vectors may be one file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from peerproof.cli.main import main
from peerproof.conformance.suite.locations import vectors_root
from peerproof.conformance.vectors.suite import VectorError, load

ROUNDS = vectors_root("swim") / "swim/exchange/rounds.yaml"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "{}"], "--config is for --pcap"),
        (["--port", "8118"], "--port is for --pcap"),
        (["--slack", "3"], "--slack is for real sockets"),
        (["--connect", "udp://127.0.0.1:1", "--impl", "./mine"], "--impl names an adapter, --connect a node without one"),
        (["--connect", "udp://127.0.0.1:1", "-j", "2"], "--jobs is for an adapter"),
        (["--connect", "udp://127.0.0.1:1", "--transport", "udp"], "--transport is for an adapter"),
        (["--pcap", "x", "--seed", "3"], "--seed cannot be combined with --pcap"),
        (["--pcap", "x", "--assume", "y"], "--assume cannot be combined with --pcap"),
    ],
)
def test_an_option_that_would_be_ignored_ends_the_command(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "scuttlebutt", *arguments]) == 2
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
    whole = {vector.id: vector for vector in load(protocol="swim").vectors}

    assert all(
        (vector.level, vector.rests_on) == (whole[vector.id].level, whole[vector.id].rests_on) for vector in load(ROUNDS).vectors
    )


@pytest.mark.parametrize(("text", "said"), [("", "no vectors here"), ("- id: swim/exchange/x\n", "mine.yaml:1")])
def test_a_file_without_vectors_is_an_error_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)

    with pytest.raises(VectorError) as error:
        load(mine)

    assert said in str(error.value)
