"""
What the recordings in `tests/spec/wendy/recorded` mean.

They are of a node that knows one other, and whose tables have version 1; the last three are of an application.
"""

from __future__ import annotations

from dataclasses import replace

from peerproof.spec import wendy
from peerproof.spec.wendy import Application, Mask, Node, StateData, StateRequest, Tables, Versions, id_of_text
from peerproof.spec.wendy.ids import Id

OWN = Node(id_of_text("000102030405060708090a0b0c0d0e0f"), "10.0.0.1", "203.0.113.1", 8080, "eu")
OTHER = Node(id_of_text("00010203040506070f00000000000000"), "10.0.0.2", "203.0.113.2", 8081, "eu")
TOPIC = Id(int("70" * 16, 16))

ONE = Versions(1, 1, 1)
THEIRS = Versions(routing_table=4, leaf_set=3, neighborhood_set=5)  #: of the other's tables
HEADER = wendy.Header(OWN, OWN.id, ONE)

#: The greater id stands in the first array. [WD-04]
LEAVES = wendy.LeafSet(left=(OTHER,))
ALL = Tables((wendy.Entry(17, 15, OTHER),), LEAVES, (OTHER,))

EVERYTHING = Mask(routing_table=True, leaf_set=True, neighborhood_set=True)

MEANT: dict[str, wendy.Message] = {
    "0_NODE_JOIN": wendy.NodeJoin(HEADER),
    "1_NODE_EXIT": wendy.NodeExit(HEADER),
    "2_HEARTBEAT": wendy.Heartbeat(HEADER),
    "3_STAT_DATA": StateData(HEADER, ALL, destination=True),
    "4_STAT_REQ": StateRequest(HEADER, EVERYTHING),
    "5_NODE_RACE": wendy.NodeRace(HEADER, Tables(leaf_set=LEAVES)),
    "6_NODE_REPR": wendy.NodeRepair(replace(HEADER, key=OTHER.id), Mask(leaf_set=True)),
    "7_NODE_ANN": wendy.NodeAnnouncement(replace(HEADER, versions=THEIRS), ALL),
    "17_SUBSCRIBE": Application(replace(HEADER, key=TOPIC), 17, b""),
    "18_UNSUBSCRIBE": Application(replace(HEADER, key=TOPIC), 18, b""),
    "19_EVENT": Application(replace(HEADER, key=TOPIC), 19, b"hello"),
}
