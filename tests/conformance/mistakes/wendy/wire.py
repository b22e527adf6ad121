"""Mistakes in writing messages."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.support.variant import Variants, around, mending

wrong = Variants(__name__, Wrong)
#: What is written as an escape.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
MEMBERS = ("Purpose", "Sender", "Key", "Value", "Credentials", "LSVersion", "RTVersion", "NSVersion", "Hop")


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def mending_members(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What is replaced to read also what it can make something of, with other members."""

    def mended(data: bytes) -> bytes:
        members = json.loads(data)
        change(members)
        return compact(members).encode()

    return mending(mended)


def writing(change: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to write another text."""
    return around("encode", lambda right, message: change(right(message).decode()).encode())


def writing_members(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What is replaced to write other members."""

    def text(right: str) -> Any:
        members = json.loads(right)
        change(members)
        return compact(members).translate(ESCAPES) + "\n"

    return writing(text)


def writing_value(change: Callable[[Any], Any]) -> dict[str, Any]:
    """What is replaced to write another value."""

    def members(members: dict[str, Any]) -> None:
        if 3 <= members["Purpose"] <= 7:
            value = change(json.loads(b64decode(members["Value"])))
            members["Value"] = b64encode(compact(value).encode()).decode()

    return writing_members(members)


def compact_ascii(char: str) -> str:
    """The escapes of a character."""
    return json.dumps(char)[1:-1]


@wrong(writing_members, "sample-exit largest-id")
def CapitalDigits(members: dict[str, Any]) -> None:
    """Writes capital digits."""
    members["Key"] = members["Key"].upper()
    members["Sender"]["ID"] = members["Sender"]["ID"].upper()


@wrong(writing_members, "id-zero sample-heartbeat")
def ShortIds(members: dict[str, Any]) -> None:
    """Writes ids without leading zeros."""
    members["Sender"]["ID"] = members["Sender"]["ID"].lstrip("0")


@wrong(writing_members, "versions-in-the-order-of-the-wire largest-version sample-announcement")
def VersionsInTheOrderOfTheTables(members: dict[str, Any]) -> None:
    """Writes the version of the routing table first."""
    members["LSVersion"], members["RTVersion"] = members["RTVersion"], members["LSVersion"]


@wrong(writing_members, "largest-version")
def VersionsAsFloats(members: dict[str, Any]) -> None:
    """Has numbers of 53 bits."""
    for name in MEMBERS[5:8]:
        members[name] = int(float(members[name]))


@wrong(writing_members, "largest-hop-count largest-port largest-purpose")
def SmallHops(members: dict[str, Any]) -> None:
    """Has hops of 16 bits, and ports and purposes with a sign."""
    members["Hop"] &= 0xFFFF
    members["Purpose"] -= 256 if members["Purpose"] > 127 else 0
    members["Sender"]["Port"] -= 65_536 if members["Sender"]["Port"] > 32_767 else 0


@wrong(writing_members, "application-with-an-empty-value empty-credentials sample-exit sample-join")
def NullForEmpty(members: dict[str, Any]) -> None:
    """Writes null for what is empty."""
    members["Value"] = members["Value"] or None
    members["Credentials"] = members["Credentials"] or None


@wrong(writing_members, "application-without-a-value sample-heartbeat")
def EmptyForNull(members: dict[str, Any]) -> None:
    """Writes an empty string for nothing."""
    members["Value"] = members["Value"] or ""
    members["Credentials"] = members["Credentials"] or ""


@wrong(writing_members, "application-value-in-base64 credentials-of-an-application sample-join-with-credentials")
def AddressAlphabet(members: dict[str, Any]) -> None:
    """Writes base64 of the alphabet for addresses, without padding."""
    for name in ("Value", "Credentials"):
        if members[name]:
            members[name] = members[name].replace("+", "-").replace("/", "_").rstrip("=")


@wrong(writing_members, "sample-join-with-credentials")
def JoinsWithoutAValue(members: dict[str, Any]) -> None:
    """Leaves credentials out of the value of a join."""
    members["Value"] = "" if members["Purpose"] == 0 else members["Value"]


@wrong(writing_value, "sample-race empty-tables cells-in-their-places sample-state-data-of-the-destination")
def NoEmptyPlaces(value: Any) -> Any:
    """Writes occupied places only."""
    if "Mask" in value:
        return value
    lists = {name: [[node for node in part if node] for part in value[name]] for name in ("rt", "ls") if name in value}
    return {**value, **lists, **({"ns": [node for node in value["ns"] if node]} if "ns" in value else {})}


@wrong(writing_value, "full-leaf-set full-neighborhood-set sample-announcement")
def SmallTables(value: Any) -> Any:
    """Has places for half as many nodes."""
    if "ls" in value:
        value["ls"] = [side[:8] for side in value["ls"]]
    if "ns" in value:
        value["ns"] = value["ns"][:16]
    return value


wrong |= {
    # Leaves the line feed out.
    "NoLineFeed: sample-join sample-exit sample-heartbeat sample-event sample-subscribe application-value-in-base64 "
    "largest-purpose id-zero largest-id largest-port longest-region application-key-is-its-own least-routed-purpose "
    "largest-hop-count application-value-of-three-bytes longest-credentials-read": writing(lambda text: text.rstrip("\n")),
    # Writes blanks as many libraries do.
    "BlanksAfterColons: sample-heartbeat versions-in-the-order-of-the-wire": writing(
        lambda text: json.dumps(json.loads(text), ensure_ascii=False) + "\n"
    ),
    # Sorts the members.
    "MembersByName: sample-join sample-state-request credentials-of-an-application": writing(
        lambda text: json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"
    ),
    # Writes all characters as they are.
    "NothingEscaped: signs-of-markup-are-escaped": writing(
        lambda text: text.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")
    ),
    # Writes U+2028 and U+2029 as they are.
    "SeparatorsAsTheyAre: line-separators-are-escaped": writing(
        lambda text: text.replace("\\u2028", "\u2028").replace("\\u2029", "\u2029")
    ),
    # Escapes whatever is not ASCII.
    "AsciiOnly: utf-8-is-itself longest-region": writing(
        lambda text: "".join(char if ord(char) < 128 else compact_ascii(char) for char in text)
    ),
    # Has four digits for each control character, and escapes slashes.
    "LongEscapes: control-characters delete-and-slash-are-themselves": writing(
        lambda text: text.replace("\\n", "\\u000a").replace("\\t", "\\u0009").replace("/\x7f", "\\/\\u007f")
    ),
    # Forgets to escape what is special in strings.
    "SingleBackslashes: quotes-and-backslashes": writing(lambda text: text.replace('\\"', '"').replace("\\\\", "\\")),
    # Writes empty arrays for all rows and columns.
    "EmptyRows: sample-state-request sample-repair-of-the-leaf-set sample-repair-of-the-neighborhood-set mask-of-rows "
    "mask-0 mask-1 mask-2 mask-5": writing_value(
        lambda value: {**value, "Rows": value["Rows"] or [], "Cols": value["Cols"] or []} if "Mask" in value else value
    ),
    # Has other bits for the tables.
    "OtherBits: mask-1 mask-of-rows sample-repair-of-a-cell sample-repair-of-the-neighborhood-set": writing_value(
        lambda value: {**value, "Mask": int(f"{value['Mask']:03b}"[::-1], 2)} if "Mask" in value else value
    ),
    # Writes the mark also if it is false.
    "AlwaysEol: sample-race no-tables empty-tables announcement-without-tables": writing_value(
        lambda value: value if "Mask" in value else {**value, "eol": value.get("eol", False)}
    ),
    # Writes null for tables that are not sent.
    "NullTables: sample-state-data-of-the-destination no-tables-of-the-destination no-tables": writing_value(
        lambda value: value if "Mask" in value else {"rt": None, "ls": None, "ns": None, **value}
    ),
}
__getattr__ = wrong.find
