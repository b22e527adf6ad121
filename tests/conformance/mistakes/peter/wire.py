"""Mistakes in reading and writing."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.peter import Wrong
from tests.conformance.mistakes.wendy.wire import compact

from peerproof.spec import wendy
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.peter import messages

SUBSCRIPTIONS = (messages.SubscribeMessage, messages.UnsubscribeMessage)
EVENTS = (messages.PublishMessage, messages.NotifyMessage)


class WritesNull(Wrong):
    """Writes null where there is no value."""

    caught_by: ClassVar = (
        "sample-subscribe",
        "sample-unsubscribe",
        "subscribe-messages-in-bytes",
        "unsubscribe-messages-in-bytes",
    )

    def encode(self, message: Any) -> bytes:
        """Without a value."""
        data = super().encode(message)
        return data.replace(b'"Value":""', b'"Value":null') if isinstance(message, SUBSCRIPTIONS) else data


class WritesNullForEmptyEvents(Wrong):
    """Writes null for an empty event."""

    caught_by: ClassVar = ("publish-of-nothing", "notify-of-nothing")

    def encode(self, message: Any) -> bytes:
        """Without a value."""
        data = super().encode(message)
        return data.replace(b'"Value":""', b'"Value":null') if isinstance(message, EVENTS) else data


class WritesTheTopic(Wrong):
    """Writes the topic's id as the value of a subscription."""

    caught_by: ClassVar = ("sample-subscribe", "example-unsubscribe", "subscribe-with-credentials")

    def encode(self, message: Any) -> bytes:
        """With a value."""
        if isinstance(message, SUBSCRIPTIONS):
            lowered = messages.lower_message(message)
            assert isinstance(lowered, wendy.Application)
            return wendy.MESSAGE.encode(replace(lowered, value=message.header.key.to_bytes(16)))
        return super().encode(message)


class WritesPlainText(Wrong):
    """Writes events as they are."""

    caught_by: ClassVar = ("sample-publish", "copy-of-an-event", "publish-of-a-long-event", "publish-in-bytes")

    def encode(self, message: Any) -> bytes:
        """Not in base64."""
        members = json.loads(super().encode(message))
        if isinstance(message, EVENTS):
            members["Value"] = b64decode(members["Value"]).decode("latin-1")
        return (compact(members) + "\n").encode()


class WritesWithoutPadding(Wrong):
    """Does not fill base64 up."""

    caught_by: ClassVar = ("copy-of-1-bytes", "copy-of-2-bytes", "example-publish")

    def encode(self, message: Any) -> bytes:
        """Without the signs at the end."""
        data = super().encode(message)
        return data.replace(b'=="', b'"').replace(b'="', b'"') if isinstance(message, EVENTS) else data


class SwapsPurposes(Wrong):
    """Has 19 for copies and 20 for what is published."""

    caught_by: ClassVar = ("sample-publish", "copy-of-an-event", "publish-to-the-topic-of-zeros", "publish-with-null")

    def encode(self, message: Any) -> bytes:
        """The other way round."""
        return super().encode(_swapped(message))

    def decode(self, data: bytes) -> Any:
        """The other way round."""
        return _swapped(super().decode(data))


def _swapped(message: Any) -> Any:
    match message:
        case messages.PublishMessage(header, value):
            return messages.NotifyMessage(header, value)
        case messages.NotifyMessage(header, value):
            return messages.PublishMessage(header, value)
    return message


class ReadsNoNull(Wrong):
    """Takes nothing for a value that is null or missing."""

    caught_by: ClassVar = (
        *(f"{kind}-with-null" for kind in ("subscribe", "unsubscribe", "publish", "notify")),
        *(f"{kind}-without-a-value" for kind in ("subscribe", "unsubscribe", "publish", "notify")),
        *("event-that-is-null", "copy-that-is-null"),
    )

    def decode(self, data: bytes) -> Any:
        """Rejects it."""
        message = super().decode(data)
        if isinstance(message, (*SUBSCRIPTIONS, *EVENTS)) and json.loads(data).get("Value") is None:
            raise MalformedMessage("bad_value", 0, "no value")
        return message


class ReadsNoValueInSubscriptions(Wrong):
    """Rejects a subscription that has a value."""

    caught_by: ClassVar = ("subscribe-with-a-value", "unsubscribe-with-a-value")

    def decode(self, data: bytes) -> Any:
        """Rejects it."""
        message = super().decode(data)
        if isinstance(message, SUBSCRIPTIONS) and json.loads(data).get("Value"):
            raise MalformedMessage("bad_value", 0, "a value")
        return message


class TakesOverForeignPurposes(Wrong):
    """Reads all messages of applications as copies."""

    caught_by: ClassVar = ("application-16", "application-21")

    def decode(self, data: bytes) -> Any:
        """As a copy."""
        message = super().decode(data)
        if isinstance(message, wendy.Application):
            return messages.NotifyMessage(message.header, message.value or b"")
        return message


class EmptiesForeignValues(Wrong):
    """Reads null as an empty value in messages of applications, too."""

    caught_by: ClassVar = ("application-without-a-value",)

    def decode(self, data: bytes) -> Any:
        """With a value."""
        message = super().decode(data)
        return replace(message, value=message.value or b"") if isinstance(message, wendy.Application) else message


class _Lenient(Wrong):
    """Reads also what it can make something of."""

    def members(self, members: dict[str, Any]) -> None:
        """What is read instead."""
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """As it is, or with other members."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            try:
                members = json.loads(data)
                self.members(members)
            except (ValueError, TypeError, LookupError, AttributeError):
                raise error from None
            return super().decode(compact(members).encode())


class ReadsAnyKey(_Lenient):
    """Fills keys up and cuts them off, and makes one of a text."""

    caught_by: ClassVar = (
        *("reject-subscribe-without-a-key", "reject-subscribe-with-a-short-key", "reject-unsubscribe-with-a-long-key"),
        "reject-subscribe-with-the-text-as-its-key",
    )

    def members(self, members: dict[str, Any]) -> None:
        """Another key."""
        key = members.get("Key", "")
        if set(key) - set("0123456789abcdef"):
            key = key.encode().hex()
        members["Key"] = key.ljust(32, "0")[:32]


class ReadsAnyValue(_Lenient):
    """Makes an event of whatever there is."""

    caught_by: ClassVar = (
        *("reject-publish-with-a-number", "reject-publish-with-a-list", "reject-copy-that-is-no-base64"),
        "reject-copy-with-base64-cut-off",
    )

    def members(self, members: dict[str, Any]) -> None:
        """An empty one."""
        members["Value"] = ""


class ReadsAnySender(_Lenient):
    """Needs nobody to have sent something."""

    caught_by: ClassVar = ("reject-subscribe-of-nobody",)

    def members(self, members: dict[str, Any]) -> None:
        """Somebody."""
        members["Sender"] = {"LocalIP": "", "GlobalIP": "", "Port": 0, "Region": "", "ID": "0" * 32}


class ReadsAnyNumber(_Lenient):
    """Reads numbers however they are written."""

    caught_by: ClassVar = (
        *("reject-subscribe-with-a-purpose-in-words", "reject-subscribe-with-a-fraction", "reject-copy-with-negative-hops"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """Whole ones."""
        members["Purpose"] = int(members["Purpose"])
        members["Hop"] = max(0, members["Hop"])


class ReadsBeginnings(Wrong):
    """Takes what ends too early for a heartbeat."""

    caught_by: ClassVar = ("truncate-a-subscribe", "truncate-a-publish", "truncate-a-copy")

    def decode(self, data: bytes) -> Any:
        """Something."""
        try:
            return super().decode(data)
        except MalformedMessage:
            if data[:1] == b"{" and not data.rstrip().endswith(b"}"):
                return wendy.Heartbeat(wendy.Header(wendy.Node(wendy.Id(0), "", "", 0, ""), wendy.Id(0)))
            raise


class KnowsItsMembersOnly(Wrong):
    """Rejects members that it does not know, and another order of them."""

    caught_by: ClassVar = ("subscribe-with-unknown-members", "subscribe-with-members-in-another-order")

    def decode(self, data: bytes) -> Any:
        """Rejects."""
        message = super().decode(data)
        members = ("Purpose", "Sender", "Key", "Value", "Credentials", "LSVersion", "RTVersion", "NSVersion", "Hop")
        found = [name for name in json.loads(data) if name != "Value"]
        if found != [name for name in members if name != "Value"]:
            raise MalformedMessage("bad_value", 0, "other members")
        return message


class ReadsSmallDigits(Wrong):
    """Reads a key in small letters only."""

    caught_by: ClassVar = ("copy-in-capitals",)

    def decode(self, data: bytes) -> Any:
        """Rejects."""
        message = super().decode(data)
        if (key := json.loads(data)["Key"]) != key.lower():
            raise MalformedMessage("bad_value", 0, "capitals")
        return message


class CountsHopsInAByte(Wrong):
    """Has one byte for hops."""

    caught_by: ClassVar = ("copy-with-many-hops",)

    def decode(self, data: bytes) -> Any:
        """At most 255."""
        message = super().decode(data)
        return replace(message, header=replace(message.header, hop=min(255, message.header.hop)))


class SwapsVersions(Wrong):
    """Writes versions in another order."""

    caught_by: ClassVar = ("unsubscribe-with-versions", "subscribe-messages-in-bytes", "copies-in-bytes")

    def encode(self, message: Any) -> bytes:
        """That of the model."""
        versions = message.header.versions
        swapped = versions._replace(routing_table=versions.leaf_set, leaf_set=versions.routing_table)
        return super().encode(replace(message, header=replace(message.header, versions=swapped)))


class ReadsItsOwnOnly(Wrong):
    """Reads nothing but messages of applications."""

    caught_by: ClassVar = ("wendys-heartbeat", "wendys-join")

    def decode(self, data: bytes) -> Any:
        """Rejects."""
        message = super().decode(data)
        if not isinstance(message, (wendy.Application, *SUBSCRIPTIONS, *EVENTS)):
            raise MalformedMessage("bad_type", 0, "not of Peter")
        return message
