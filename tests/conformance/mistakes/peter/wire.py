"""Mistakes in reading and writing."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.peter import Wrong
from tests.conformance.mistakes.wendy.wire import compact, mending_members
from tests.support.variant import Variants, after, around, despite, reading, refusing, with_header

from peerproof.spec import wendy
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.peter import messages

wrong = Variants(__name__, Wrong)
SUBSCRIPTIONS = (messages.SubscribeMessage, messages.UnsubscribeMessage)
EVENTS = (messages.PublishMessage, messages.NotifyMessage)


@wrong("encode", "sample-subscribe example-unsubscribe subscribe-with-credentials")
def WritesTheTopic(right: Any, message: Any) -> Any:
    """Writes the topic's id as the value of a subscription."""
    if isinstance(message, SUBSCRIPTIONS):
        lowered = messages.lower_message(message)
        assert isinstance(lowered, wendy.Application)
        return wendy.MESSAGE.encode(replace(lowered, value=message.header.key.to_bytes(16)))
    return right(message)


@wrong("encode", "sample-publish copy-of-an-event publish-of-a-long-event publish-in-bytes")
def WritesPlainText(right: Any, message: Any) -> Any:
    """Writes events as they are."""
    members = json.loads(right(message))
    if isinstance(message, EVENTS):
        members["Value"] = b64decode(members["Value"]).decode("latin-1")
    return (compact(members) + "\n").encode()


def _swapped(message: Any) -> Any:
    match message:
        case messages.PublishMessage(header, value):
            return messages.NotifyMessage(header, value)
        case messages.NotifyMessage(header, value):
            return messages.PublishMessage(header, value)
    return message


@wrong(
    mending_members,
    "reject-subscribe-without-a-key reject-subscribe-with-a-short-key reject-unsubscribe-with-a-long-key "
    "reject-subscribe-with-the-text-as-its-key",
)
def ReadsAnyKey(members: dict[str, Any]) -> None:
    """Fills keys up and cuts them off, and makes one of a text."""
    key = members.get("Key", "")
    if set(key) - set("0123456789abcdef"):
        key = key.encode().hex()
    members["Key"] = key.ljust(32, "0")[:32]


@wrong(
    mending_members,
    "reject-publish-with-a-number reject-publish-with-a-list reject-copy-that-is-no-base64 reject-copy-with-base64-cut-off",
)
def ReadsAnyValue(members: dict[str, Any]) -> None:
    """Makes an event of whatever there is."""
    members["Value"] = ""


@wrong(mending_members, "reject-subscribe-of-nobody")
def ReadsAnySender(members: dict[str, Any]) -> None:
    """Needs nobody to have sent something."""
    members["Sender"] = {"LocalIP": "", "GlobalIP": "", "Port": 0, "Region": "", "ID": "0" * 32}


@wrong(
    mending_members, "reject-subscribe-with-a-purpose-in-words reject-subscribe-with-a-fraction reject-copy-with-negative-hops"
)
def ReadsAnyNumber(members: dict[str, Any]) -> None:
    """Reads numbers however they are written."""
    members["Purpose"] = int(members["Purpose"])
    members["Hop"] = max(0, members["Hop"])


@wrong(despite, "truncate-a-subscribe truncate-a-publish truncate-a-copy")
def ReadsBeginnings(data: bytes, error: MalformedMessage) -> wendy.Heartbeat:
    """Takes what ends too early for a heartbeat."""
    if data[:1] != b"{" or data.rstrip().endswith(b"}"):
        raise error
    return wendy.Heartbeat(wendy.Header(wendy.Node(wendy.Id(0), "", "", 0, ""), wendy.Id(0)))


@wrong.after("decode", "subscribe-with-unknown-members subscribe-with-members-in-another-order")
def KnowsItsMembersOnly(message: Any, data: bytes) -> Any:
    """Rejects members that it does not know, and another order of them."""
    members = ("Purpose", "Sender", "Key", "Value", "Credentials", "LSVersion", "RTVersion", "NSVersion", "Hop")
    found = [name for name in json.loads(data) if name != "Value"]
    if found != [name for name in members if name != "Value"]:
        raise MalformedMessage("bad_value", 0, "other members")
    return message


@wrong("encode", "unsubscribe-with-versions subscribe-messages-in-bytes copies-in-bytes")
def SwapsVersions(right: Any, message: Any) -> Any:
    """Writes versions in another order."""
    versions = message.header.versions
    swapped = versions._replace(routing_table=versions.leaf_set, leaf_set=versions.routing_table)
    return right(with_header(message, versions=swapped))


wrong |= {
    # Writes null where there is no value.
    "WritesNull: sample-subscribe sample-unsubscribe subscribe-messages-in-bytes unsubscribe-messages-in-bytes": after(
        "encode",
        lambda data, message: data.replace(b'"Value":""', b'"Value":null') if isinstance(message, SUBSCRIPTIONS) else data,
    ),
    # Writes null for an empty event.
    "WritesNullForEmptyEvents: publish-of-nothing notify-of-nothing": after(
        "encode", lambda data, message: data.replace(b'"Value":""', b'"Value":null') if isinstance(message, EVENTS) else data
    ),
    # Does not fill base64 up.
    "WritesWithoutPadding: copy-of-1-bytes copy-of-2-bytes example-publish": after(
        "encode", lambda data, message: data.replace(b'=="', b'"').replace(b'="', b'"') if isinstance(message, EVENTS) else data
    ),
    # Takes nothing for a value that is null or missing.
    "ReadsNoNull: subscribe-with-null unsubscribe-with-null publish-with-null notify-with-null subscribe-without-a-value "
    "unsubscribe-without-a-value publish-without-a-value notify-without-a-value event-that-is-null copy-that-is-null": refusing(
        lambda message, data: isinstance(message, (*SUBSCRIPTIONS, *EVENTS)) and json.loads(data).get("Value") is None
    ),
    # Rejects a subscription that has a value.
    "ReadsNoValueInSubscriptions: subscribe-with-a-value unsubscribe-with-a-value": refusing(
        lambda message, data: isinstance(message, SUBSCRIPTIONS) and json.loads(data).get("Value")
    ),
    # Reads all messages of applications as copies.
    "TakesOverForeignPurposes: application-16 application-21": reading(
        lambda message: (
            messages.NotifyMessage(message.header, message.value or b"") if isinstance(message, wendy.Application) else message
        )
    ),
    # Reads null as an empty value in messages of applications, too.
    "EmptiesForeignValues: application-without-a-value": reading(
        lambda message: replace(message, value=message.value or b"") if isinstance(message, wendy.Application) else message
    ),
    # Reads a key in small letters only.
    "ReadsSmallDigits: copy-in-capitals": refusing(lambda _, data: (key := json.loads(data)["Key"]) != key.lower()),
    # Has one byte for hops.
    "CountsHopsInAByte: copy-with-many-hops": reading(lambda message: with_header(message, hop=min(255, message.header.hop))),
    # Reads nothing but messages of applications.
    "ReadsItsOwnOnly: wendys-heartbeat wendys-join": refusing(
        lambda message, _: not isinstance(message, (wendy.Application, *SUBSCRIPTIONS, *EVENTS))
    ),
    # Has 19 for copies and 20 for what is published.
    "SwapsPurposes: sample-publish copy-of-an-event publish-to-the-topic-of-zeros publish-with-null": around(
        "encode", lambda right, message: right(_swapped(message))
    )
    | around("decode", lambda right, data: _swapped(right(data))),
}
__getattr__ = wrong.find
