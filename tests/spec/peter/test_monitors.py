"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; and memory."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spec.wendy.nodes import h, peer, place

from peerproof.spec.peter import MESSAGE, Config, Message, NotifyMessage, PublishMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.model import monitors
from peerproof.spec.peter.model.monitors import monitor
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.traces.observed import Seen
from peerproof.spec.wendy import Header, Heartbeat, Versions

SECOND = 1_000_000
TOPIC = h("33")
BEAT = Heartbeat(Header(peer("40"), h("40"), Versions(1, 1, 1)))


def header(of: str = "40", hop: int = 0) -> Header:
    return Header(peer(of), TOPIC, Versions(1, 1, 1), hop=hop)


def said(message: Message, at: float | None = 0, to: str = "70") -> Seen:
    """The node with id 40 says this to another, at this second."""
    return Seen(True, place(to), message, len(MESSAGE.encode(message)), None if at is None else int(at * SECOND))


def got(message: Message, at: float | None = 0, of: str = "70") -> Seen:
    return Seen(False, place(of), message, len(MESSAGE.encode(message)), None if at is None else int(at * SECOND))


def broken(*seen: Seen, **config: Any) -> list[str]:
    """The names of the rules that a node breaks."""
    watch = monitor(place("40"), Config(h("40"), **config))
    return [violation.rule.name for each in seen for violation in watch.see(each)]


def sub(of: str = "40") -> SubscribeMessage:
    return SubscribeMessage(header(of))


def unsub(of: str = "40") -> UnsubscribeMessage:
    return UnsubscribeMessage(header(of))


def event(hop: int, of: str = "20", value: bytes = b"x") -> PublishMessage:
    return PublishMessage(header(of, hop), value)


def copy(hop: int, of: str = "40", value: bytes = b"x") -> NotifyMessage:
    return NotifyMessage(header(of, hop), value)


BREACHES = {
    "LastHop": [said(BEAT), said(copy(1, "70"), to="80")],
    "UnsubscribedOnce": [said(unsub()), said(unsub(), 1)],
    "ToChildren": [got(sub("70")), got(unsub("70"), 1), said(copy(0), 62)],
    "NotBack": [got(copy(1, "70")), said(copy(2))],
    "CopyHopsCounted": [got(event(1)), said(copy(3))],
    "CopiesEnd": [said(copy(MOST_HOPS))],
}


def test_what_wendy_promises_is_held_to_also_here() -> None:
    """Also of events on their way, although an application is asked about each."""
    before, after = (Heartbeat(Header(peer("40"), h("40"), Versions(n, n, n))) for n in (9, 5))
    assert broken(said(before), said(after, 11)) == ["VersionsGrow"]
    assert broken(said(before), said(sub("70"), to="80")) == ["OneSender", "LastHop"]
    assert broken(got(event(0)), said(event(2)), is_consulted=True) == ["HopsCounted"]


FINE = {
    "an event that is passed on": [said(BEAT), said(event(1), to="80")],
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


def test_without_times_messages_are_in_the_order_of_being_sent() -> None:
    assert broken(got(sub("70"), None), got(unsub("70"), None), said(copy(0), None)) == ["ToChildren"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "RELATIONS", 20)
    monkeypatch.setattr(monitors, "EVENTS", 10)
    watch = monitor(place("40"), Config(h("40")))
    for number in range(50):
        other = f"{number:02x}8"
        for seen in (said(sub(), to=other), got(sub(other), of=other), got(event(0, value=bytes([number])))):
            assert list(watch.see(seen)) == []

    assert (len(watch._asked), len(watch._children), len(watch._came)) == (20, 20, 10)
