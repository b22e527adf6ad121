"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; and memory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.support.watched import Watched
from tests.support.wendy_nodes import h, peer, peers, place

from peerproof.spec import wendy
from peerproof.spec.core import NodeId
from peerproof.spec.wendy import Heartbeat, LeafSet, Mask, NodeExit, NodeJoin, NodeRace, StateData, Tables, Versions
from peerproof.spec.wendy.model import monitors, obligations
from peerproof.spec.wendy.senders import STATIONS, WAYS, Senders

HERE = place("40")
NODE = Watched("wendy", HERE, partial(wendy.Config, h("40")), "70", place)
said, got = NODE.said, NODE.got
SOME = Versions(3, 2, 5)
WHOLE = Tables((), LeafSet(), ())
LEAVES = Tables(leaf_set=LeafSet())


def header(digits: str = "40", versions: Versions = SOME, **more: Any) -> wendy.Header:
    fields: dict[str, Any] = {"key": h(digits), "versions": versions, **more}
    return wendy.Header(peer(digits), **fields)


def beat(*versions: int) -> Heartbeat:
    return Heartbeat(header(versions=Versions(*versions)))


def data(tables: Tables = WHOLE, *, destination: bool = False, **more: Any) -> StateData:
    return StateData(header(**more), tables, destination)


def listing(left: str = "", right: str = "", cells: tuple[wendy.Entry, ...] = (), near: str = "") -> NodeRace:
    return NodeRace(header(), Tables(cells, LeafSet(peers(left), peers(right)), peers(near)))


def announcement(versions: Versions = SOME, tables: Tables = WHOLE, of: str = "40") -> wendy.NodeAnnouncement:
    return wendy.NodeAnnouncement(header(of, versions), tables)


def routed(hop: int, value: bytes = b"x", of: str = "20") -> wendy.Application:
    return wendy.Application(header(of, hop=hop), 16, value)


#: The life of a joiner, from its beginning to its announcement.
BEGUN = said(NodeJoin(header(versions=Versions())))
MARKED = got(StateData(header("70"), WHOLE, destination=True), 1)
LIFE = [BEGUN, MARKED]
ANNOUNCED = said(announcement(), 21)
WARNED = got(NodeRace(header("70", Versions(4, 4, 6)), WHOLE), 22)

#: Something long before, so that questions cannot be older than what was seen.
BEFORE = got(Heartbeat(header("70")), -60)
ASKED = got(wendy.StateRequest(header("70"), Mask(leaf_set=True)))
JOINING = NodeJoin(header("20", hop=0))
OUTDATED = got(announcement(Versions(3, 1, 5), of="70"), 1)
KNOWN = said(beat(*SOME))


BREACHES = {
    "OneSender": [said(beat(1, 2, 3)), said(Heartbeat(replace(header(), sender=peer("40")._replace(region="b"))))],
    "OwnKey": [said(Heartbeat(header(key=h("41"))))],
    "ToOthers": [said(beat(1, 2, 3), to="40")],
    "VersionsGrow": [said(beat(9, 9, 9)), said(beat(9, 5, 9), 11), said(beat(9, 6, 9), 30)],  # which is told once
    "VersionsNameTables": [said(listing(right="42")), said(listing(right="43"))],
    "SelfFree": [said(listing(near="40"))],
    "RightCell": [said(listing(cells=(wendy.Entry(0, 8, peer("70")),)))],
    "LeavesInOrder": [said(listing(right="43 42"))],
    "LeftLeavesFirst": [said(listing(left="42 43"))],
    "NobodyTwice": [said(listing(near="42 42"))],
    "MarkWithLeafSet": [said(data(Tables(), destination=True))],
    "DataIsAsked": [BEFORE, ASKED, said(data())],
    "JoinAnswered": [KNOWN, got(JOINING, 1, "20"), got(Heartbeat(header("20")), 22, "20")],
    "HopsCounted": [got(routed(0)), said(routed(2))],
    "RepairOfOne": [said(wendy.NodeRepair(header(), Mask(neighborhood_set=True, leaf_set=False, routing_table=True)))],
    "AnnouncedInTime": [*LIFE, said(announcement(), 20)],
    "WaitsForMark": [BEGUN, got(StateData(header("70"), WHOLE), 1), said(announcement(Versions()), 30)],
    "AnnouncesTables": [*LIFE, said(announcement(tables=LEAVES), 21)],
    "VersionsWereTold": [*LIFE, said(announcement(Versions(3, 3, 5)), 21)],
    "VersionsAreKept": [*LIFE, ANNOUNCED, WARNED, WARNED, said(announcement(Versions()), 23), said(announcement(Versions()), 24)],
    "AnnouncedAgain": [*LIFE, ANNOUNCED, said(announcement(), 22)],
    "RaceOfNewer": [BEFORE, got(announcement(of="70")), said(NodeRace(header(), WHOLE))],
    "RaceIsTold": [KNOWN, OUTDATED, got(Heartbeat(header("70")), 22)],
    "QuietAfterLeaving": [said(NodeExit(header())), said(beat(*SOME), 11)],
}


FINE = {
    "messages that overtake each other": [said(beat(3, 2, 5)), said(beat(3, 1, 5), 9)],
    "a restart": [said(beat(3, 2, 5)), BEGUN, said(beat(0, 1, 0), 11)],
    "a return": [said(beat(3, 2, 5)), said(NodeExit(header())), BEGUN, said(beat(0, 1, 0), 11)],
    "an answer": [ASKED, said(data(LEAVES))],
    "an answer to what was asked before the capture began": [said(data(LEAVES), 60)],
    "the same, shortly after that": [got(Heartbeat(header("70"))), said(data(LEAVES), 9)],
    "a contact": [got(JOINING, of="20"), said(data(Tables((), None, ())), to="20")],
    "a contact that is the destination": [got(JOINING, of="20"), said(data(destination=True), to="20")],
    "a join that could not be sent on": [
        got(NodeJoin(header("20", hop=1))),
        said(data(Tables(())), to="20"),
        said(data(LEAVES, destination=True), 12, to="20"),
    ],
    "an announcement after a warning": [*LIFE, ANNOUNCED, WARNED, said(announcement(), 23)],
    "versions that were forgotten": [*LIFE, said(announcement(Versions()), 21)],
    "a warning of a race": [KNOWN, OUTDATED, said(NodeRace(header(), WHOLE), 2), got(Heartbeat(header("70")), 22)],
    "who is not warned and has started again": [
        KNOWN,
        OUTDATED,
        got(NodeJoin(header("70", Versions())), 12),
        got(Heartbeat(header("70", Versions())), 22),
    ],
    "a message that takes another way": [got(routed(0)), said(routed(1)), said(routed(1), to="80")],
    "a message that came before the capture began": [said(routed(3))],
    "what an application changes": [got(routed(0)), said(routed(5, b"y"))],
    "a message with a key": [said(wendy.Application(header(key=h("77")), 16, None))],
    "a repair of the leaf set": [said(wendy.NodeRepair(header(key=h("41")), Mask(leaf_set=True)))],
    "an exit": [said(NodeExit(header())), said(NodeExit(header()), to="80")],
}


MORE = {
    "versions in the order of being sent": (["VersionsGrow"], [said(beat(3, 2, 5), None), said(beat(3, 1, 5), None)]),
    "an exit, in the order of being sent": (["QuietAfterLeaving"], [said(NodeExit(header()), None), said(beat(*SOME), None)]),
}
SETTINGS: dict[str, Any] = {"what an application changes": {"is_consulted": True}}


def test_who_passes_on_what_was_not_seen_to_come_is_known_by_its_host() -> None:
    assert Senders().sender(routed(2), NodeId("10.0.0.9:50000"), HERE) == "10.0.0.9"
    assert Senders().sender(routed(2), NodeId("[::1]:50000"), HERE) == "::1"


def test_a_host_that_is_a_number_counts_as_it_is_said_and_a_name_as_it_is_seen() -> None:
    node = peer("20")._replace(local_ip="10.0.0.2", global_ip="192.0.2.2", port=7)

    def sender(local: str, source: str) -> str:
        message = Heartbeat(header(sender := "20", key=h(sender)))
        message = replace(message, header=replace(message.header, sender=node._replace(local_ip=local)))
        return Senders().sender(message, NodeId(source), HERE)

    assert sender("10.0.0.2", "172.16.0.1:50000") == "10.0.0.2:7"
    assert sender("10.0.0.2", "192.0.2.2:50000") == "192.0.2.2:7"
    assert sender("name", "172.16.0.1:50000") == "172.16.0.1:7"
    assert sender("0.0.0.0", "[::1]:50000") == "[::1]:7"  # what a node may say that listens everywhere


@pytest.mark.slow
def test_memory_is_bounded() -> None:
    watch, senders = NODE.monitor(), Senders()
    for number in range(obligations.PEERS + 10):
        of = f"{number:04x}8"
        for message in (NodeJoin(header(of)), routed(0, b"", of), wendy.StateRequest(header(of), Mask()), data()):
            list(watch.see(got(message, number, of)))
            senders.sender(message, place(of), HERE)
    for hop in range(STATIONS + 10):
        senders.sender(routed(hop), place("20"), place(f"{hop:02x}8"))

    assert len(watch._parcels) == monitors.PARCELS
    assert len(watch._dealings._by_id) == len(watch._dealings._by_place) == obligations.PEERS
    assert len(senders._ways) == WAYS
    assert max(map(len, senders._ways.values())) == STATIONS
