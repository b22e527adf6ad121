"""Mistakes in reading: what is no message is taken for one."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.wire import MEMBERS, compact
from tests.support.variant import Variants, mending

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy.messages import Header, Heartbeat, Node

wrong = Variants(__name__, Wrong)
ZERO: Final = "0" * 32


def mending_members(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What is replaced to read also what it can make something of, with other members."""

    def mended(data: bytes) -> bytes:
        members = json.loads(data)
        change(members)
        return compact(members).encode()

    return mending(mended)


@wrong(mending, "reject-what-follows reject-a-letter-behind")
def StopsAtTheEnd(data: bytes) -> bytes:
    """Does not look at what follows a message."""
    text = data.decode()
    return text[: json.JSONDecoder().raw_decode(text)[1]].encode()


@wrong(
    mending,
    "reject-single-quotes reject-a-comma-at-the-end reject-a-comment reject-a-leading-zero reject-a-plus reject-a-bad-escape",
)
def JavaScript(data: bytes) -> bytes:
    """Reads what programs that are lenient take for JSON."""
    text = data.decode().replace("'", '"').replace(",}", "}").replace("/* */", "").replace("\\x", "\\u00")
    return re.sub(r":(\+|0(?=\d))", ":", text).encode()


@wrong(
    mending_members,
    "reject-without-purpose reject-without-sender reject-without-key reject-null-purpose reject-null-sender "
    "reject-null-key reject-an-empty-object reject-sender-without-id",
)
def NothingIsMissing(members: dict[str, Any]) -> None:
    """Reads a message without the members that it must have."""
    for name, value in (("Purpose", 0), ("Sender", {}), ("Key", ZERO)):
        if members.get(name) is None:
            members[name] = value
    members["Sender"].setdefault("ID", ZERO)


def _whole(value: Any, most: int) -> int:
    return int(float(value)) % (most + 1)


@wrong(
    mending_members,
    "reject-purpose-negative reject-purpose-too-large reject-purpose-a-string reject-purpose-a-float reject-purpose-true "
    "reject-purpose-with-a-point reject-purpose-with-an-exponent reject-hop-too-large reject-hop-negative "
    "reject-port-negative reject-port-too-large reject-port-a-string reject-port-a-float reject-lsversion-too-large "
    "reject-rtversion-too-large reject-nsversion-too-large reject-version-negative reject-version-a-string",
)
def AnyNumber(members: dict[str, Any]) -> None:
    """Makes whole numbers of what there is, and lets them overflow."""
    members["Purpose"] = _whole(members["Purpose"], 255)
    members["Hop"] = _whole(members["Hop"], 2**31 - 1)
    members["Sender"]["Port"] = _whole(members["Sender"]["Port"], 65_535)
    for name in MEMBERS[5:8]:
        members[name] = _whole(members[name], 2**64 - 1)


@wrong(mending_members, "reject-sender-an-array reject-sender-a-string reject-sender-a-number")
def AnySender(members: dict[str, Any]) -> None:
    """Reads whatever stands in the place of a sender as nobody."""
    if not isinstance(members["Sender"], dict):
        members["Sender"] = {"ID": ZERO}


@wrong(
    mending_members,
    "reject-host-a-number reject-host-too-long reject-host-too-long-in-bytes reject-host-an-array "
    "reject-global-host-false reject-region-object",
)
def AnyText(members: dict[str, Any]) -> None:
    """Makes texts of what there is, and cuts them."""
    sender = members["Sender"]
    for name in ("LocalIP", "GlobalIP", "Region"):
        sender[name] = str(sender[name]).encode()[:200].decode("utf-8", "ignore")


@wrong(
    mending_members,
    "reject-id-short reject-id-long reject-id-blank reject-id-signed reject-id-prefixed reject-id-underscored "
    "reject-id-wide reject-id-a-number reject-id-letters reject-key-short reject-key-long",
)
def AnyId(members: dict[str, Any]) -> None:
    """Cuts and fills ids, as far as there are digits."""
    for place, name in ((members, "Key"), (members["Sender"], "ID")):
        place[name] = re.sub("[^0-9a-fA-F]", "", str(place[name])).ljust(32, "0")[:32]


@wrong(
    mending_members,
    "reject-value-no-padding reject-value-more-padding reject-value-url-alphabet reject-value-blanks "
    "reject-value-a-line-feed reject-value-not-ascii reject-value-a-number reject-value-an-array reject-credentials-bad "
    "reject-credentials-true",
)
def AnyBase64(members: dict[str, Any]) -> None:
    """Reads base64 as lenient libraries do."""
    for name in ("Value", "Credentials"):
        if members[name] is not None:
            digits = re.sub("[^A-Za-z0-9+/]", "", str(members[name]).translate({45: "+", 95: "/"}))
            members[name] = b64encode(b64decode(digits[: len(digits) // 4 * 4])).decode()


@wrong(mending_members, "reject-credentials-too-long")
def LongCredentials(members: dict[str, Any]) -> None:
    """Cuts credentials that are too long."""
    members["Credentials"] = b64encode(b64decode(members["Credentials"])[:1024]).decode()


@wrong(
    mending_members,
    "reject-tables-empty-value reject-tables-null reject-tables-array reject-tables-truncated "
    "reject-tables-with-something-behind reject-routing-table-object reject-row-object reject-cell-string "
    "reject-leaf-set-object reject-side-object reject-leaf-false reject-neighbour-without-id reject-neighbour-bad-port "
    "reject-mark-a-number reject-mask-a-string reject-mask-negative reject-mask-too-large reject-mask-no-json "
    "reject-row-32 reject-column-16 reject-row-null reject-deep-value reject-deep-in-unread-places",
)
def AnyValue(members: dict[str, Any]) -> None:
    """Takes tables and masks that it cannot read for empty ones."""
    if 3 <= members["Purpose"] <= 7:
        members["Value"] = b64encode(b"{}").decode()


@wrong(
    "decode",
    "reject-nothing reject-blanks reject-null reject-a-number reject-a-string reject-true reject-an-array "
    "reject-open-brackets reject-truncated reject-inserted reject-flipped",
)
def AnythingIsAHeartbeat(right: Any, data: bytes) -> Any:
    """Takes what it cannot read for a heartbeat of nobody."""
    try:
        return right(data)
    except MalformedMessage:
        node = Node(right(b'{"Purpose":2,"Sender":{"ID":"%s"},"Key":"%s"}' % ((ZERO.encode(),) * 2)).header.key, "", "", 0)
        return Heartbeat(Header(node, node.id))


wrong |= {
    # Finds out by the first bytes how a text is encoded.
    "GuessesTheEncoding: reject-a-byte-order-mark reject-utf-16 reject-a-surrogate-in-utf-8": mending(
        lambda data: data.decode(json.detect_encoding(data), "surrogatepass").encode("utf-8", "replace")
    ),
    # Reads what Python's library takes for JSON, and control characters.
    "PythonsJson: reject-nan reject-infinity reject-a-naked-control-character": mending(
        lambda data: compact(json.loads(data, strict=False, parse_constant=lambda _: 0)).encode()
    ),
    # Puts a replacement character in the place of bytes that are no UTF-8.
    "ReplacesBadBytes: reject-bad-utf-8 reject-an-overlong-form reject-a-surrogate-in-utf-8": mending(
        lambda data: data.decode("utf-8", "replace").encode()
    ),
    # Reads half of a pair.
    "AnySurrogate: reject-a-lone-surrogate": mending(lambda data: re.sub(rb"\\ud[89ab]..", b"?", data)),
    # Cuts long numbers.
    "LongNumbers: reject-version-huge": mending(lambda data: re.sub(rb"\d{100,}", b"9", data)),
    # Reads whatever depth there is.
    "AnyDepth: reject-sixty-five-levels reject-sixty-five-levels-with-a-node reject-very-deep reject-deep-objects": mending(
        lambda data: re.sub(rb'(\[|\{"a":){40,}1?[\]}]*', b"0", data)
    ),
    # Passes zero bytes over.
    "ZeroBytesAreBlanks: reject-zero-bytes": mending(lambda data: data.replace(b"\0", b"")),
}
__getattr__ = wrong.find
