"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; and memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.support.watched import Watched
from tests.support.wendy_nodes import h, peer, place

from peerproof.spec.peter import Config, NotifyMessage, PublishMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.model import monitors
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.wendy import Header, Heartbeat, Versions

TOPIC = h("33")
NODE = Watched("peter", place("40"), partial(Config, h("40")), "70", place)
said, got = NODE.said, NODE.got


def header(of: str = "40", hop: int = 0) -> Header:
    return Header(peer(of), TOPIC, Versions(1, 1, 1), hop=hop)


def beat(version: int = 1) -> Heartbeat:
    return Heartbeat(Header(peer("40"), h("40"), Versions(version, version, version)))


def sub(of: str = "40") -> SubscribeMessage:
    return SubscribeMessage(header(of))


def unsub(of: str = "40") -> UnsubscribeMessage:
    return UnsubscribeMessage(header(of))


def event(hop: int, of: str = "20", value: bytes = b"x") -> PublishMessage:
    return PublishMessage(header(of, hop), value)


def copy(hop: int, of: str = "40", value: bytes = b"x") -> NotifyMessage:
    return NotifyMessage(header(of, hop), value)


BREACHES = {
    "LastHop": [said(beat()), said(copy(1, "70"), to="80")],
    "UnsubscribedOnce": [said(unsub()), said(unsub(), 1)],
    "ToChildren": [got(sub("70")), got(unsub("70"), 1), said(copy(0), 62)],
    "NotBack": [got(copy(1, "70")), said(copy(2))],
    "CopyHopsCounted": [got(event(1)), said(copy(3))],
    "CopiesEnd": [said(copy(MOST_HOPS))],
}


#: What Wendy promises is promised here, too, also of events on their way, although an application is asked about each.
MORE = {
    "versions": (["VersionsGrow"], [said(beat(9)), said(beat(5), 11)]),
    "senders": (["OneSender", "LastHop"], [said(beat(9)), said(sub("70"), to="80")]),
    "hops": (["HopsCounted"], [got(event(0)), said(event(2))]),
    "messages in the order of being sent": (["ToChildren"], [got(sub("70"), None), got(unsub("70"), None), said(copy(0), None)]),
}
SETTINGS: dict[str, Any] = {"hops": {"is_consulted": True}}

FINE = {
    "an event that is passed on": [said(beat()), said(event(1), to="80")],
    "a change of mind": [said(unsub()), said(sub()), said(unsub())],
    "another parent": [said(unsub()), said(unsub(), to="80")],
    "a parent that has come again": [said(sub()), said(sub())],
    "a copy that waited": [got(unsub("70"), 1), said(copy(0), 60)],
    "a child that came back": [got(unsub("70")), got(sub("70"), 1), said(copy(0), 99)],
    "a meeting point": [got(event(0)), said(copy(1)), said(copy(1), to="80")],
    "two parents": [got(copy(1, "70")), got(copy(1, "80"), of="80"), said(copy(2))],
    "an event that came both ways": [got(copy(1, "70")), got(event(1)), said(copy(2))],
    "an event of the node's own that is alike": [got(event(0)), said(copy(0))],
    "an event that came before the capture began": [said(copy(7))],
    "the last copy": [said(copy(MOST_HOPS - 1))],
}


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "RELATIONS", 20)
    monkeypatch.setattr(monitors, "EVENTS", 10)
    watch = NODE.monitor()
    for number in range(50):
        other = f"{number:02x}8"
        for seen in (said(sub(), to=other), got(sub(other), of=other), got(event(0, value=bytes([number])))):
            assert list(watch.see(seen)) == []

    assert (len(watch._asked), len(watch._children), len(watch._came)) == (20, 20, 10)
