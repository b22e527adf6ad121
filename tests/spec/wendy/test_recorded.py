"""
The messages in `recorded`, once taken down from the original: read, and written again. What nodes do with such, vectors say.

They are of a node that knows one other, and whose tables have version 1; the last three are of an application. The original
itself is not run here: what these files do not show, such as how it takes what we send, no test shows.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.wendy_messages import ALL, MEANT, OTHER, OWN

from peerproof.spec.wendy import MESSAGE
from peerproof.spec.wendy.ids import REAL

FOLDER = Path(__file__).parent / "recorded"


def recorded(name: str) -> bytes:
    return (FOLDER / f"{name}.json").read_bytes()


def test_each_recording_is_listed() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(MEANT)


@pytest.mark.parametrize("name", MEANT)
def test_a_recording_is_read_and_written_again_byte_for_byte(name: str) -> None:
    """[WA-63, WA-65]"""
    data = recorded(name)

    assert MESSAGE.decode(data) == MEANT[name]
    assert MESSAGE.encode(MEANT[name]) == data


def test_the_cell_in_the_recordings_is_where_we_put_that_node() -> None:
    """[W-15, W-16]"""
    assert REAL.cell(OWN.id, OTHER.id) == ALL.routing_table[0][:2]  # type: ignore[index]  # it is sent
