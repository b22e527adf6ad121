"""Mistakes in reading: what is no message is taken for one, and what is right is refused."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.wire import MEMBERS, compact, mending_members
from tests.support.variant import Variants, despite, mending, refusing

from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Header, Heartbeat, Node

wrong = Variants(__name__, Wrong)
ZERO: Final = "0" * 32


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


def accepting(accepts: Callable[[dict[str, Any], bytes], bool]) -> dict[str, Any]:
    """What is replaced to refuse what is not accepted, from the members and the bytes."""
    return refusing(lambda _, data: not accepts(json.loads(data), data))


def _of_value(members: dict[str, Any]) -> Any:
    try:
        return json.loads(b64decode(members["Value"])) if 3 <= members["Purpose"] <= 7 else {}
    except (ValueError, TypeError):
        return {}


@wrong(accepting, "null-members sample-zero state-data-with-null-tables")
def NoNulls(members: dict[str, Any], data: bytes) -> bool:
    """Reads nothing that is null."""
    missing = [name for name, value in members.items() if value is None and name != "Credentials"]
    value = _of_value(members)
    return not missing and not [name for name in ("rt", "ls", "ns", "eol") if name in value and value[name] is None]


@wrong(accepting, "short-arrays empty-arrays long-arrays value-with-blanks")
def FullTablesOnly(members: dict[str, Any], data: bytes) -> bool:
    """Reads tables with all their places, and no more."""
    value = _of_value(members)
    sizes = {"rt": 32, "ls": 2, "ns": 32}
    return all(not isinstance(value.get(name), list) or len(value[name]) == size for name, size in sizes.items())


@wrong(accepting, "nodes-in-wrong-cells")
def FittingCellsOnly(members: dict[str, Any], data: bytes) -> bool:
    """Reads nodes in the cells where they belong."""
    own = members["Sender"]["ID"].lower()
    for row, places in enumerate(_of_value(members).get("rt") or ()):
        for column, node in enumerate(places or ()):
            if node and (node["ID"][:row].lower(), int(node["ID"][row], 16)) != (own[:row], column):
                return False
    return True


@wrong(accepting, "rows-in-any-order empty-rows bits-that-nobody-knows no-mask-at-all")
def PlainMasksOnly(members: dict[str, Any], data: bytes) -> bool:
    """Reads masks as they are written."""
    if members["Purpose"] not in (4, 6):
        return True
    value = _of_value(members)
    rows, columns = value.get("Rows"), value.get("Cols")
    return value.get("Mask", 8) < 8 and [] not in (rows, columns) and (rows or []) == sorted(set(rows or []))


def _levels(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


@wrong.after("decode", "sample-state-data-as-the-original-has-it")
def GreaterIdsFirst(message: Any, data: bytes) -> Any:
    """Puts leaves where they belong when it reads them."""
    leaves = getattr(getattr(message, "tables", None), "leaf_set", None)
    if leaves is None:
        return message
    nodes = sorted({*leaves.left, *leaves.right})
    own = message.header.sender.id
    sides = type(leaves)(tuple(n for n in nodes if n.id < own), tuple(n for n in nodes if n.id > own))
    return replace(message, tables=message.tables._replace(leaf_set=sides))


wrong |= {
    # Takes what it cannot read for a heartbeat of nobody.
    "AnythingIsAHeartbeat: reject-nothing reject-blanks reject-null reject-a-number reject-a-string reject-true "
    "reject-an-array reject-open-brackets reject-truncated reject-inserted reject-flipped": despite(
        lambda *_: Heartbeat(Header(Node(Id(0), "", "", 0), Id(0)))
    ),
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
    # Reads members in the order in which they are written, and no others.
    "InOrderOnly: members-in-any-order unknown-members the-last-of-equal-names sixty-four-levels missing-members": accepting(
        lambda members, data: [name for name, _ in json.loads(data, object_pairs_hook=list)] == list(MEMBERS) == list(members)
    ),
    # Reads no blanks.
    "NoBlanks: blanks-everywhere largest-numbers-with-blanks members-in-any-order": accepting(
        lambda members, data: data.startswith(b'{"Purpose":') and b" : " not in data and b" , " not in data and bool(members)
    ),
    # Reads messages with a line feed only.
    "LinesOnly: no-line-feed missing-members": accepting(lambda members, data: data.endswith(b"\n")),
    # Reads no capital digits.
    "SmallDigitsOnly: capital-digits": accepting(lambda members, data: bool(members["Key"] == members["Key"].lower())),
    # Reads the escapes that it writes.
    "FewEscapes: escapes-of-any-kind": accepting(lambda members, data: b"\\u00e9" not in data and b"\\/" not in data),
    # Reads numbers that fit into a float, wherever they stand.
    "SmallNumbersOnly: long-numbers-in-unknown-members": accepting(lambda members, data: b"9" * 400 not in data),
    # Wants the value of a join, an exit or a heartbeat to be what it would write.
    "EmptyValuesOnly: join-with-another-value heartbeat-with-a-value": accepting(
        lambda members, data: members["Purpose"] > 2 or not members.get("Value") or members["Value"] == members["Credentials"]
    ),
    # Reads no mark that is false.
    "TrueMarksOnly: mark-that-is-false": accepting(lambda members, data: _of_value(members).get("eol") is not False),
    # Holds whatever is unknown in a node or exceeds a table to stand in five arrays and objects.
    "CountsFive: sixty-four-levels-with-a-node sixty-four-levels-with-a-leaf-set sixty-four-levels-with-a-cell "
    "sixty-four-levels-with-a-neighbor sixty-four-levels-with-a-row-too-many sixty-four-levels-with-a-column-too-many "
    "sixty-four-levels-with-a-side-too-many sixty-four-levels-with-a-leaf-too-many "
    "sixty-four-levels-with-a-neighbor-too-many": accepting(
        lambda members, data: max(_levels(members["Sender"]), _levels(_of_value(members))) < 62
    ),
    # Reads nodes with both hosts and a region only.
    "HostsThatAreTexts: a-host-that-is-null": accepting(
        lambda members, data: all(isinstance(members["Sender"].get(name), str) for name in ("LocalIP", "GlobalIP", "Region"))
    ),
    # Reads the purposes that somebody has given out.
    "KnownPurposesOnly: application-of-an-unknown-kind largest-purpose": accepting(
        lambda members, data: bool(members["Purpose"] <= 32)
    ),
}
__getattr__ = wrong.find
