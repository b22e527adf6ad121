"""What is typed at a Peter node, and what it prints."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.reference.node import typed_commands
from peerproof.reference.protocols.peter.runtime import RUNTIME, TYPED, assignment, remark, render_notice, topic_text
from peerproof.reference.protocols.peter.runtime import parse_command as typed_at_peter
from peerproof.reference.protocols.wendy import runtime as wendy
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.peter import COMMAND, NotifyMessage, Publish, PublishMessage, Subscribe, Unsubscribe, Update, id_of_topic
from peerproof.spec.wendy import Header, Id, Joined, Node, Route, id_text


@pytest.mark.parametrize(
    ("name", "rest", "command"),
    [
        ("subscribe", "weather/london/today", Subscribe("weather/london/today")),
        ("subscribe", '"weather in london"', Subscribe("weather in london")),
        ("unsubscribe", "weather/london/today", Unsubscribe("weather/london/today")),
        ("publish", "weather/london/today rain, later sun", Publish("weather/london/today", b"rain, later sun")),
        ("publish", '"weather in london"  "rain"', Publish("weather in london", b' "rain"')),
        ("publish", "weather/london/today", Publish("weather/london/today", b"")),
        ("publish", 'half"word rest', Publish('half"word', b"rest")),
        ("publish", '"" text', Publish("", b"text")),
        ("publish", "weather/london/today \udcff", Publish("weather/london/today", b"\xff")),
        ("route", f"{'0' * 31}1 text", Route(Id(1), b"text")),
    ],
)
def test_a_topic_is_a_word_or_stands_between_quotation_marks(name: str, rest: str, command: Any) -> None:
    assert typed_at_peter(name, rest) == command


@pytest.mark.parametrize(
    ("name", "rest", "complaint"),
    [
        ("subscribe", "weather in london", "quote a topic with blanks"),
        ("unsubscribe", '"weather in london" today', "takes only a topic"),
        ("publish", '"weather in london rain', "needs a closing quotation mark, followed by a blank"),
        ("publish", '"weather"inlondon rain', "needs a closing quotation mark, followed by a blank"),
        ("route", "7 text", "KEY: expected 32 hexadecimal digits"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(name: str, rest: str, complaint: str) -> None:
    with pytest.raises(MalformedMessage, match=complaint):
        typed_at_peter(name, rest)


def test_help_names_what_can_be_typed_and_what_it_does() -> None:
    assert typed_commands.help_of(COMMAND, TYPED, RUNTIME.set_text).splitlines() == [
        "set KEY=VALUE       Publishes the value on a topic: the key",
        "view                Prints what the node knows",
        "help                Prints these lines",
        "quit                Ends the node",
        "join CONTACT        Joins the cluster of the node at this address",
        "leave               Leaves the cluster",
        "route KEY payload   Sends a message to the node closest to a key",
        "subscribe TOPIC     Subscribes to the events of a topic from now on",
        "unsubscribe TOPIC   Ends a subscription",
        "publish TOPIC text  Sends an event to all subscribers of a topic",
    ]


def test_events_are_printed_with_what_is_known_of_their_topic() -> None:
    topic = id_of_topic("é" * 9)
    value = b"hello \xff"

    assert render_notice(Update(topic, value)) == {
        "update": {"topic": "c3a9" * 8, "begins": "é" * 8, "payload": "hello \ufffd", "value": value.hex()}
    }
    assert topic_text(id_of_topic("x" * 15 + "é")) == "x" * 15 + "\ufffd"
    assert render_notice(Joined()) == wendy.render_notice(Joined()) == {"joined": True}


def test_a_value_that_is_set_is_published() -> None:
    assert COMMAND.value(assignment(None, "a topic with a few words", "v")) == Publish("a topic with a few words", b"v")


def test_a_copy_that_so_many_have_had_is_remarked_on() -> None:
    def header(hop: int) -> Header:
        return Header(Node(Id(5), "h", "192.0.2.1", 8119), Id(7), hop=hop)

    assert remark(NotifyMessage(header(253), b"")) is None
    assert remark(PublishMessage(header(254), b"")) is None
    said = remark(NotifyMessage(header(254), b""))
    assert said is not None
    assert f"a copy of an event has passed 255 nodes (topic {id_text(Id(7))}, last of 192.0.2.1:8119)" in said
