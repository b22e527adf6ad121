"""
The messages in `recorded`, once taken down from the original: read, and written again. What nodes do with such, vectors say.

They are of a node that knows one other, and whose tables have version 1; the last three are of an application. The original
itself is not run here: what these files do not show, such as how it takes what we send, no test shows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from peerproof.spec.wendy import (
    MESSAGE,
    Application,
    Entry,
    Header,
    Heartbeat,
    LeafSet,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    StateData,
    StateRequest,
    Tables,
    Versions,
    id_of_text,
)
from peerproof.spec.wendy.ids import REAL, Id

FOLDER = Path(__file__).parent / "recorded"

OWN = Node(id_of_text("000102030405060708090a0b0c0d0e0f"), "10.0.0.1", "203.0.113.1", 8080, "eu")
OTHER = Node(id_of_text("00010203040506070f00000000000000"), "10.0.0.2", "203.0.113.2", 8081, "eu")
TOPIC = Id(int("70" * 16, 16))

ONE = Versions(1, 1, 1)
THEIRS = Versions(routing_table=4, leaf_set=3, neighborhood_set=5)  #: of the other's tables
HEADER = Header(OWN, OWN.id, ONE)

#: The greater id stands in the first array. [WD-04]
LEAVES = LeafSet(left=(OTHER,))
ALL = Tables((Entry(17, 15, OTHER),), LEAVES, (OTHER,))

EVERYTHING = Mask(routing_table=True, leaf_set=True, neighborhood_set=True)

MEANT: dict[str, Message] = {
    "0_NODE_JOIN": NodeJoin(HEADER),
    "1_NODE_EXIT": NodeExit(HEADER),
    "2_HEARTBEAT": Heartbeat(HEADER),
    "3_STAT_DATA": StateData(HEADER, ALL, destination=True),
    "4_STAT_REQ": StateRequest(HEADER, EVERYTHING),
    "5_NODE_RACE": NodeRace(HEADER, Tables(leaf_set=LEAVES)),
    "6_NODE_REPR": NodeRepair(replace(HEADER, key=OTHER.id), Mask(leaf_set=True)),
    "7_NODE_ANN": NodeAnnouncement(replace(HEADER, versions=THEIRS), ALL),
    "17_SUBSCRIBE": Application(replace(HEADER, key=TOPIC), 17, b""),
    "18_UNSUBSCRIBE": Application(replace(HEADER, key=TOPIC), 18, b""),
    "19_EVENT": Application(replace(HEADER, key=TOPIC), 19, b"hello"),
}


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
