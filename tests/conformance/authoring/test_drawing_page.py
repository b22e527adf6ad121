"""The page on drawing is true: a test does what it says, and sees what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pipeline.recorded import Packet, write_capture
from tests.support.walkthrough import follow

PAGE = Path(__file__).parents[3] / "docs/how-to/draw-a-message-graph.md"


@pytest.mark.slow
def test_a_reader_sees_what_the_page_shows(tmp_path: Path) -> None:
    request, delta = bytes.fromhex("01 03613a31 0000000000000002"), bytes.fromhex("03")
    write_capture(tmp_path / "cluster.pcap", [Packet(1000.0, 8119, 8120, request), Packet(1000.004, 8120, 8119, delta)])
    follow(PAGE.read_text("utf-8"), tmp_path, least=8)

    assert (tmp_path / "round.svg").read_text("utf-8").startswith("<svg ")
