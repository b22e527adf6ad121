"""
The messages in `recorded`, once taken down from the original: read, written again, and beside what our node writes.

They are of a node that knows one other, and whose tables have version 1; the last three are of an application. The original
itself is not run here: what these files do not show, such as how it takes what we send, no test shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from peerproof.spec.core import Instant, NodeId, Send, Sent, Step, Table
from peerproof.spec.wendy import (
    MESSAGE,
    Announce,
    Application,
    Config,
    Entry,
    Header,
    Heartbeat,
    HeartbeatDue,
    Join,
    LeafSet,
    Leave,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExit,
    NodeJoin,
    NodeRace,
    NodeRepair,
    Route,
    Stage,
    State,
    StateData,
    StateRequest,
    Tables,
    Versions,
    id_of_text,
    initial,
    step,
)
from peerproof.spec.wendy.ids import REAL, Id

from .nodes import asked, expired, no_choice, received

FOLDER = Path(__file__).parent / "recorded"

OWN = Node(id_of_text("000102030405060708090a0b0c0d0e0f"), "10.0.0.1", "203.0.113.1", 8080, "eu")
OTHER = Node(id_of_text("00010203040506070f00000000000000"), "10.0.0.2", "203.0.113.2", 8081, "eu")
JOINER = Node(Id(OWN.id - 1), "10.0.0.3", "203.0.113.3", 8082, "eu")
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


def at(node: Node, **fields: Any) -> State:
    """A node of ours that has only started."""
    config = Config(node.id, global_ip=node.global_ip, region=node.region)
    return replace(initial(NodeId(f"{node.local_ip}:{node.port}"), config).state, **fields)


def ours(stage: Stage = Stage.JOINED) -> State:
    """A node of ours that knows what the one in the recordings knows."""
    return at(
        OWN,
        stage=stage,
        routing_table=Table({REAL.cell(OWN.id, OTHER.id): OTHER}),
        leaf_set=LeafSet(right=(OTHER,)),
        neighborhood_set=(OTHER,),
        versions=ONE,
        scores=Table({OTHER.id: 100}),
        stored=Table({OTHER.id: THEIRS}),
    )


def written(taken: Step[State, Any], kind: type[Any]) -> bytes:
    """The only message of this kind that was sent."""
    (message,) = [one.message for one in taken.effects if isinstance(one, Send) and isinstance(one.message, kind)]
    return MESSAGE.encode(message)


def turned(name: str) -> bytes:
    """A recording with the two arrays of the leaf set the other way round. [WD-04, WA-51]"""
    message: Any = MEANT[name]
    left, right = message.tables.leaf_set
    return MESSAGE.encode(replace(message, tables=message.tables._replace(leaf_set=LeafSet(right, left))))


BYTE_FOR_BYTE: dict[str, Callable[[], bytes]] = {
    "0_NODE_JOIN": lambda: written(asked(at(OWN, versions=ONE), Join(NodeId("10.0.0.2:8081"))), NodeJoin),
    "1_NODE_EXIT": lambda: written(asked(ours(), Leave()), NodeExit),
    "2_HEARTBEAT": lambda: written(expired(ours(), HeartbeatDue()), Heartbeat),
    "17_SUBSCRIBE": lambda: written(asked(ours(), Route(TOPIC, b"", 17)), Application),
    "18_UNSUBSCRIBE": lambda: written(asked(ours(), Route(TOPIC, b"", 18)), Application),
    "19_EVENT": lambda: written(asked(ours(), Route(TOPIC, b"hello", 19)), Application),
}


@pytest.mark.parametrize("name", BYTE_FOR_BYTE)
def test_our_node_writes_the_very_bytes(name: str) -> None:
    """[WA-53, WA-55, WA-57, WA-65]"""
    assert BYTE_FOR_BYTE[name]() == recorded(name)


def test_our_node_writes_the_same_tables_with_the_sides_of_the_document() -> None:
    """To a joiner that it is both contact and destination of, and when it announces itself. [W-48…W-50, W-61, WA-51]"""
    joining = received(ours(), NodeJoin(Header(JOINER, JOINER.id)))
    announcing = expired(ours(Stage.WAITING), Announce())

    assert written(joining, StateData) == turned("3_STAT_DATA") != recorded("3_STAT_DATA")
    assert written(announcing, NodeAnnouncement) == turned("7_NODE_ANN") != recorded("7_NODE_ANN")


@pytest.mark.parametrize("name", ["3_STAT_DATA", "5_NODE_RACE", "7_NODE_ANN"])
def test_our_node_puts_the_leaf_where_its_id_belongs_whatever_array_it_stood_in(name: str) -> None:
    """[WA-51, WA-34]"""
    state, effects = received(at(JOINER, stage=Stage.JOINED), MESSAGE.decode(recorded(name)))
    for effect in effects:
        if isinstance(effect, Send):
            state = step(state, Sent(Instant(0), effect.to, effect.message, 100), no_choice).state

    assert state.leaf_set == LeafSet(right=(OWN, OTHER))


def test_our_node_answers_the_recorded_request_with_its_tables() -> None:
    """[WA-57]"""
    asker = MESSAGE.decode(recorded("4_STAT_REQ"))
    state = replace(at(JOINER, stage=Stage.JOINED), leaf_set=LeafSet(right=(OWN,)), versions=Versions(0, 1, 0))

    answer = MESSAGE.decode(written(received(state, asker), StateData))

    assert answer == StateData(Header(JOINER, JOINER.id, Versions(0, 1, 0)), Tables((), LeafSet(right=(OWN,)), ()))
