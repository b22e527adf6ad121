"""A capture is drawn through the pipeline's reading of captures; what is not drawn of it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.conformance.conftest import Capture
from tests.pipeline.recorded import Packet, write_capture
from tests.support.light_install import run_without_extras

from peerproof.cli.main import main

REQUEST: Final = bytes.fromhex("01 03613a31 0000000000000002")
DELTA: Final = bytes.fromhex("03")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A request, its answer 4 ms later, what is none of the protocol, and what is another program's."""
    path = tmp_path / "cluster"
    packets = [
        Packet(1000.0, 8119, 8120, REQUEST),
        Packet(1000.004, 8120, 8119, DELTA),
        Packet(1000.005, 8119, 8120, b"\xff"),
        Packet(1000.006, 53, 9000, b"\x03"),
    ]
    write_capture(path, packets)
    return path


def draw(*arguments: str | Path) -> int:
    return main(["trace", "draw", *map(str, arguments)])


def test_each_message_is_an_arrow_when_it_was_captured(capture: Path, capsys: Capture) -> None:
    assert draw(capture, "--protocol", "scuttlebutt", "--port", "8119") == 0

    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "127.0.0.1:8119 -> 127.0.0.1:8120  0 ms: digest_request [a:1 2]",
        "127.0.0.1:8120 -> 127.0.0.1:8119  4 ms: delta []",
    ]
    assert "1 packets or parts of streams are not drawn: bytes, or plain data, that are no message" in err
    assert "1 packets of other ports are not drawn" in err


def test_a_time_and_a_limit_are_of_captures_too(capture: Path, capsys: Capture) -> None:
    assert draw(capture, "--protocol", "scuttlebutt", "--from", "4", "--node", "127.0.0.1:8119") == 0
    assert capsys.readouterr().out == "127.0.0.1:8120 -> 127.0.0.1:8119  4 ms: delta []\n"
    assert draw(capture, "--protocol", "scuttlebutt", "--port", "8119", "--most", "1") == 0
    assert "1 events are drawn, 1 more are not: continue with --from 4" in capsys.readouterr().err


def test_a_capture_of_something_else_has_nothing_to_draw(capture: Path, capsys: Capture) -> None:
    assert draw(capture, "--protocol", "scuttlebutt", "--port", "1") == 4
    assert "nothing to draw" in capsys.readouterr().err


def test_a_capture_needs_its_protocol(capture: Path, capsys: Capture) -> None:
    assert draw(capture) == 2
    assert "--protocol: expected the protocol of" in capsys.readouterr().err


@pytest.mark.slow
def test_a_capture_is_drawn_without_the_packages_of_any_extra(capture: Path) -> None:
    done = run_without_extras("trace", "draw", str(capture), "--protocol", "scuttlebutt", "--port", "8119", "--from", "4")

    assert (done.returncode, done.stdout) == (0, "127.0.0.1:8120 -> 127.0.0.1:8119  4 ms: delta []\n")
