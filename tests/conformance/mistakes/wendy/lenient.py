"""Mistakes in reading: what is no message is taken for one."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.wire import MEMBERS, compact

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy.messages import Header, Heartbeat, Node

ZERO: Final = "0" * 32


class _Lenient(Wrong):
    """Reads also what it can make something of."""

    def repaired(self, data: bytes) -> bytes:
        """What is read instead of something malformed."""
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """As it is, or as it is repaired."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            try:
                repaired = self.repaired(data)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                raise error from None
            return super().decode(repaired)


class _Members(_Lenient):
    """Reads other members."""

    def members(self, members: dict[str, Any]) -> None:
        """Changes them."""
        raise NotImplementedError

    def repaired(self, data: bytes) -> bytes:
        """With the other members."""
        members = json.loads(data)
        self.members(members)
        return compact(members).encode()


class StopsAtTheEnd(_Lenient):
    """Does not look at what follows a message."""

    caught_by: ClassVar = ("reject-what-follows", "reject-a-letter-behind")

    def repaired(self, data: bytes) -> bytes:
        """The beginning."""
        text = data.decode()
        return text[: json.JSONDecoder().raw_decode(text)[1]].encode()


class PythonsJson(_Lenient):
    """Reads what Python's library takes for JSON, and control characters."""

    caught_by: ClassVar = ("reject-nan", "reject-infinity", "reject-a-naked-control-character")

    def repaired(self, data: bytes) -> bytes:
        """By the library."""
        return compact(json.loads(data, strict=False, parse_constant=lambda _: 0)).encode()


class JavaScript(_Lenient):
    """Reads what programs that are lenient take for JSON."""

    caught_by: ClassVar = (
        *("reject-single-quotes", "reject-a-comma-at-the-end", "reject-a-comment", "reject-a-leading-zero", "reject-a-plus"),
        "reject-a-bad-escape",
    )

    def repaired(self, data: bytes) -> bytes:
        """As JSON."""
        text = data.decode().replace("'", '"').replace(",}", "}").replace("/* */", "").replace("\\x", "\\u00")
        return re.sub(r":(\+|0(?=\d))", ":", text).encode()


class GuessesTheEncoding(_Lenient):
    """Finds out by the first bytes how a text is encoded."""

    caught_by: ClassVar = ("reject-a-byte-order-mark", "reject-utf-16", "reject-a-surrogate-in-utf-8")

    def repaired(self, data: bytes) -> bytes:
        """As UTF-8."""
        text = data.decode(json.detect_encoding(data), "surrogatepass")
        return text.encode("utf-8", "replace")


class ReplacesBadBytes(_Lenient):
    """Puts a replacement character in the place of bytes that are no UTF-8."""

    caught_by: ClassVar = ("reject-bad-utf-8", "reject-an-overlong-form", "reject-a-surrogate-in-utf-8")

    def repaired(self, data: bytes) -> bytes:
        """Replaced."""
        return data.decode("utf-8", "replace").encode()


class AnySurrogate(_Lenient):
    """Reads half of a pair."""

    caught_by: ClassVar = ("reject-a-lone-surrogate",)

    def repaired(self, data: bytes) -> bytes:
        """Without it."""
        return re.sub(rb"\\ud[89ab]..", b"?", data)


class NothingIsMissing(_Members):
    """Reads a message without the members that it must have."""

    caught_by: ClassVar = (
        *(f"reject-{how}-{name}" for how in ("without", "null") for name in ("purpose", "sender", "key")),
        *("reject-an-empty-object", "reject-sender-without-id"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """With zeros."""
        for name, value in (("Purpose", 0), ("Sender", {}), ("Key", ZERO)):
            if members.get(name) is None:
                members[name] = value
        members["Sender"].setdefault("ID", ZERO)


def _whole(value: Any, most: int) -> int:
    return int(float(value)) % (most + 1)


class AnyNumber(_Members):
    """Makes whole numbers of what there is, and lets them overflow."""

    caught_by: ClassVar = (
        *(f"reject-purpose-{how}" for how in ("negative", "too-large", "a-string", "a-float", "true")),
        *("reject-purpose-with-a-point", "reject-purpose-with-an-exponent", "reject-hop-too-large", "reject-hop-negative"),
        *(f"reject-port-{how}" for how in ("negative", "too-large", "a-string", "a-float")),
        *(f"reject-{name}version-too-large" for name in ("ls", "rt", "ns")),
        *("reject-version-negative", "reject-version-a-string"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """As numbers."""
        members["Purpose"] = _whole(members["Purpose"], 255)
        members["Hop"] = _whole(members["Hop"], 2**31 - 1)
        members["Sender"]["Port"] = _whole(members["Sender"]["Port"], 65_535)
        for name in MEMBERS[5:8]:
            members[name] = _whole(members[name], 2**64 - 1)


class LongNumbers(_Lenient):
    """Cuts long numbers."""

    caught_by: ClassVar = ("reject-version-huge",)

    def repaired(self, data: bytes) -> bytes:
        """Short."""
        return re.sub(rb"\d{100,}", b"9", data)


class AnySender(_Members):
    """Reads whatever stands in the place of a sender as nobody."""

    caught_by: ClassVar = ("reject-sender-an-array", "reject-sender-a-string", "reject-sender-a-number")

    def members(self, members: dict[str, Any]) -> None:
        """Nobody."""
        if not isinstance(members["Sender"], dict):
            members["Sender"] = {"ID": ZERO}


class AnyText(_Members):
    """Makes texts of what there is, and cuts them."""

    caught_by: ClassVar = (
        *("reject-host-a-number", "reject-host-too-long", "reject-host-too-long-in-bytes", "reject-host-an-array"),
        *("reject-global-host-false", "reject-region-object"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """As texts."""
        sender = members["Sender"]
        for name in ("LocalIP", "GlobalIP", "Region"):
            sender[name] = str(sender[name]).encode()[:200].decode("utf-8", "ignore")


class AnyId(_Members):
    """Cuts and fills ids, as far as there are digits."""

    caught_by: ClassVar = (
        *(
            f"reject-id-{how}"
            for how in ("short", "long", "blank", "signed", "prefixed", "underscored", "wide", "a-number", "letters")
        ),
        *("reject-key-short", "reject-key-long"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """With 32 digits."""
        for place, name in ((members, "Key"), (members["Sender"], "ID")):
            place[name] = re.sub("[^0-9a-fA-F]", "", str(place[name])).ljust(32, "0")[:32]


class AnyBase64(_Members):
    """Reads base64 as lenient libraries do."""

    caught_by: ClassVar = (
        *(f"reject-value-{how}" for how in ("no-padding", "more-padding", "url-alphabet", "blanks", "a-line-feed", "not-ascii")),
        *("reject-value-a-number", "reject-value-an-array", "reject-credentials-bad", "reject-credentials-true"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """What can be read of it."""
        for name in ("Value", "Credentials"):
            if members[name] is not None:
                digits = re.sub("[^A-Za-z0-9+/]", "", str(members[name]).translate({45: "+", 95: "/"}))
                members[name] = b64encode(b64decode(digits[: len(digits) // 4 * 4])).decode()


class LongCredentials(_Members):
    """Cuts credentials that are too long."""

    caught_by: ClassVar = ("reject-credentials-too-long",)

    def members(self, members: dict[str, Any]) -> None:
        """Shorter."""
        members["Credentials"] = b64encode(b64decode(members["Credentials"])[:1024]).decode()


class AnyValue(_Members):
    """Takes tables and masks that it cannot read for empty ones."""

    caught_by: ClassVar = (
        *(f"reject-tables-{how}" for how in ("empty-value", "null", "array", "truncated", "with-something-behind")),
        *(f"reject-{what}" for what in ("routing-table-object", "row-object", "cell-string", "leaf-set-object", "side-object")),
        *("reject-leaf-false", "reject-neighbour-without-id", "reject-neighbour-bad-port", "reject-mark-a-number"),
        *(f"reject-mask-{how}" for how in ("a-string", "negative", "too-large", "no-json")),
        *("reject-row-32", "reject-column-16", "reject-row-null", "reject-deep-value", "reject-deep-in-unread-places"),
    )

    def members(self, members: dict[str, Any]) -> None:
        """Empty."""
        if 3 <= members["Purpose"] <= 7:
            members["Value"] = b64encode(b"{}").decode()


class AnyDepth(_Lenient):
    """Reads whatever depth there is."""

    caught_by: ClassVar = (
        *("reject-sixty-five-levels", "reject-sixty-five-levels-with-a-node", "reject-very-deep", "reject-deep-objects"),
    )

    def repaired(self, data: bytes) -> bytes:
        """Without the depth."""
        return re.sub(rb'(\[|\{"a":){40,}1?[\]}]*', b"0", data)


class ZeroBytesAreBlanks(_Lenient):
    """Passes zero bytes over."""

    caught_by: ClassVar = ("reject-zero-bytes",)

    def repaired(self, data: bytes) -> bytes:
        """Without them."""
        return data.replace(b"\0", b"")


class AnythingIsAHeartbeat(Wrong):
    """Takes what it cannot read for a heartbeat of nobody."""

    caught_by: ClassVar = (
        *(f"reject-{what}" for what in ("nothing", "blanks", "null", "a-number", "a-string", "true", "an-array")),
        *("reject-open-brackets", "reject-truncated", "reject-inserted", "reject-flipped"),
    )

    def decode(self, data: bytes) -> Any:
        """Anything."""
        try:
            return super().decode(data)
        except MalformedMessage:
            node = Node(
                super().decode(b'{"Purpose":2,"Sender":{"ID":"%s"},"Key":"%s"}' % ((ZERO.encode(),) * 2)).header.key, "", "", 0
            )
            return Heartbeat(Header(node, node.id))
