"""
Measurements of Peter: delivery and copies of published events, and all measurements of Wendy.

An event is routed to the meeting point of its topic, and copied down the tree from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Final, NamedTuple

from peerproof.pipeline.measures import protocols
from peerproof.pipeline.measures.protocols import wendy as measures_of_wendy
from peerproof.spec.peter import id_of_topic
from peerproof.spec.wendy import id_text

closest: Final = measures_of_wendy.closest

#: Messages with events.
_WITH_EVENTS: Final = ("publish", "notify")


class Event(NamedTuple):
    """An event at its current node."""

    topic: str
    value: str
    hops: int  #: how many nodes have received it, this one included

    @property
    def name(self) -> str:
        """Identifies the event."""
        return f"{self.topic} {self.value}"


class Observer(measures_of_wendy.Observer):
    """Observes one node. Others identify it by its id."""

    not_joining: ClassVar = (*measures_of_wendy.NOT_JOINING, "subscribe", "unsubscribe", *_WITH_EVENTS)

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self._topics: set[str] = set()  #: subscribed topics
        self._links: Counter[str] = Counter()  #: messages with events, by receiver

    def observe(self, event: protocols.Seen) -> Iterator[protocols.Report]:
        """Reports what Wendy's observer does, subscriptions, and publication, copies and deliveries of events."""
        if event.kind == "start":
            self._topics, self._links = set(), Counter()
        yield from super().observe(event)
        if event.kind == "api" and not event.refused:
            yield from self._subscribes(event.args)
        here = _event_of(event)
        sent = [message["type"] for message in event.sent]
        if here and event.kind == "api":
            yield protocols.Routed(here.name, here.topic)
            yield protocols.Published(here.topic, here.name)
        if here and _type_of(event) == "publish" and "publish" not in sent:
            yield protocols.Measured("route_hops", here.hops)
            yield protocols.Delivered(here.name, here.topic)
            yield protocols.FannedOut(here.topic, here.name, here.hops)
        if "notify" in sent:
            yield protocols.Measured("fan_out", sent.count("notify"))
        self._links.update(to for name, to in zip(sent, event.sent_to, strict=True) if name in _WITH_EVENTS)
        for notice in event.notices:
            if notice["type"] == "update":
                update = Event(protocols.name_of(notice["topic"]), protocols.name_of(notice["value"]), here.hops if here else 0)
                yield protocols.Updated(update.topic, update.name, update.hops)

    def finish(self) -> Iterator[protocols.Report]:
        """Reports the number of messages with events on each link from here."""
        yield from super().finish()
        for count in self._links.values():
            yield protocols.Measured("link_stress", count)

    def _subscribes(self, command: Any) -> Iterator[protocols.Report]:
        if command["type"] == "leave":
            for topic in sorted(self._topics):
                yield protocols.Subscribed(topic, is_subscribed=False)
            self._topics.clear()
        elif command["type"] in ("subscribe", "unsubscribe"):
            topic, wants = id_text(id_of_topic(command["topic"])), command["type"] == "subscribe"
            if wants is not (topic in self._topics):
                self._topics ^= {topic}
                yield protocols.Subscribed(topic, wants)


def _event_of(event: protocols.Seen) -> Event | None:
    """Returns the published event; of a message that did not arrive, at the node that sends it again."""
    name = _type_of(event)
    if name not in _WITH_EVENTS or event.refused or (event.kind == "sent" and event.args["took"] is not None):
        return None
    if event.kind == "api":
        return Event(id_text(id_of_topic(event.args["topic"])), protocols.name_of(event.args["value"]), 0)
    message = event.args["message"] if event.kind == "sent" else event.args
    header = message["header"]
    return Event(
        protocols.name_of(header["key"]), protocols.name_of(message["value"]), int(header["hop"]) + (event.kind == "recv")
    )


def _type_of(event: protocols.Seen) -> Any:
    if event.kind == "sent":
        return event.args["message"]["type"]
    return event.args["type"] if event.kind in ("recv", "api") else None
