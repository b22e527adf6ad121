"""Mistakes in writing messages."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong

#: What is written as an escape.
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}

MEMBERS = ("Purpose", "Sender", "Key", "Value", "Credentials", "LSVersion", "RTVersion", "NSVersion", "Hop")


def compact(value: Any) -> str:
    """JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class _Written(Wrong):
    """Writes messages otherwise."""

    def text(self, text: str) -> str:
        """What is written instead."""
        raise NotImplementedError

    def encode(self, message: Any) -> bytes:
        """The other text."""
        return self.text(super().encode(message).decode()).encode()


class _Envelope(_Written):
    """Writes other members."""

    def members(self, members: dict[str, Any]) -> None:
        """Changes them."""
        raise NotImplementedError

    def text(self, text: str) -> str:
        """With the other members."""
        members = json.loads(text)
        self.members(members)
        return compact(members).translate(ESCAPES) + "\n"


class _Value(_Envelope):
    """Writes another value."""

    def value(self, value: Any) -> Any:
        """Changes it."""
        raise NotImplementedError

    def members(self, members: dict[str, Any]) -> None:
        """With the other value."""
        if 3 <= members["Purpose"] <= 7:
            value = self.value(json.loads(b64decode(members["Value"])))
            members["Value"] = b64encode(compact(value).encode()).decode()


class NoLineFeed(_Written):
    """Leaves the line feed out."""

    caught_by: ClassVar = (
        *("sample-join", "sample-exit", "sample-heartbeat", "sample-event", "sample-subscribe", "application-value-in-base64"),
        *("largest-purpose", "id-zero", "largest-id", "largest-port", "longest-region", "application-key-is-its-own"),
        *("least-routed-purpose", "largest-hop-count", "application-value-of-three-bytes", "longest-credentials-read"),
    )

    def text(self, text: str) -> str:
        """Without it."""
        return text.rstrip("\n")


class BlanksAfterColons(_Written):
    """Writes blanks as many libraries do."""

    caught_by: ClassVar = ("sample-heartbeat", "versions-in-the-order-of-the-wire")

    def text(self, text: str) -> str:
        """With them."""
        return json.dumps(json.loads(text), ensure_ascii=False) + "\n"


class MembersByName(_Written):
    """Sorts the members."""

    caught_by: ClassVar = ("sample-join", "sample-state-request", "credentials-of-an-application")

    def text(self, text: str) -> str:
        """In their order."""
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"


class NothingEscaped(_Written):
    """Writes all characters as they are."""

    caught_by: ClassVar = ("signs-of-markup-are-escaped",)

    def text(self, text: str) -> str:
        """As they are."""
        return text.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")


class SeparatorsAsTheyAre(_Written):
    """Writes U+2028 and U+2029 as they are."""

    caught_by: ClassVar = ("line-separators-are-escaped",)

    def text(self, text: str) -> str:
        """As they are."""
        return text.replace("\\u2028", "\u2028").replace("\\u2029", "\u2029")


class AsciiOnly(_Written):
    """Escapes whatever is not ASCII."""

    caught_by: ClassVar = ("utf-8-is-itself", "longest-region")

    def text(self, text: str) -> str:
        """Escaped."""
        return "".join(char if ord(char) < 128 else compact_ascii(char) for char in text)


def compact_ascii(char: str) -> str:
    """The escapes of a character."""
    return json.dumps(char)[1:-1]


class LongEscapes(_Written):
    """Has four digits for each control character, and escapes slashes."""

    caught_by: ClassVar = ("control-characters", "delete-and-slash-are-themselves")

    def text(self, text: str) -> str:
        """With other escapes."""
        return text.replace("\\n", "\\u000a").replace("\\t", "\\u0009").replace("/\x7f", "\\/\\u007f")


class SingleBackslashes(_Written):
    """Forgets to escape what is special in strings."""

    caught_by: ClassVar = ("quotes-and-backslashes",)

    def text(self, text: str) -> str:
        """Without the escapes."""
        return text.replace('\\"', '"').replace("\\\\", "\\")


class CapitalDigits(_Envelope):
    """Writes capital digits."""

    caught_by: ClassVar = ("sample-exit", "largest-id")

    def members(self, members: dict[str, Any]) -> None:
        """Capital."""
        members["Key"] = members["Key"].upper()
        members["Sender"]["ID"] = members["Sender"]["ID"].upper()


class ShortIds(_Envelope):
    """Writes ids without leading zeros."""

    caught_by: ClassVar = ("id-zero", "sample-heartbeat")

    def members(self, members: dict[str, Any]) -> None:
        """Short."""
        members["Sender"]["ID"] = members["Sender"]["ID"].lstrip("0")


class VersionsInTheOrderOfTheTables(_Envelope):
    """Writes the version of the routing table first."""

    caught_by: ClassVar = ("versions-in-the-order-of-the-wire", "largest-version", "sample-announcement")

    def members(self, members: dict[str, Any]) -> None:
        """Exchanged."""
        members["LSVersion"], members["RTVersion"] = members["RTVersion"], members["LSVersion"]


class VersionsAsFloats(_Envelope):
    """Has numbers of 53 bits."""

    caught_by: ClassVar = ("largest-version",)

    def members(self, members: dict[str, Any]) -> None:
        """Rounded."""
        for name in MEMBERS[5:8]:
            members[name] = int(float(members[name]))


class SmallHops(_Envelope):
    """Has hops of 16 bits, and ports and purposes with a sign."""

    caught_by: ClassVar = ("largest-hop-count", "largest-port", "largest-purpose")

    def members(self, members: dict[str, Any]) -> None:
        """Cut."""
        members["Hop"] &= 0xFFFF
        members["Purpose"] -= 256 if members["Purpose"] > 127 else 0
        members["Sender"]["Port"] -= 65_536 if members["Sender"]["Port"] > 32_767 else 0


class NullForEmpty(_Envelope):
    """Writes null for what is empty."""

    caught_by: ClassVar = ("application-with-an-empty-value", "empty-credentials", "sample-exit", "sample-join")

    def members(self, members: dict[str, Any]) -> None:
        """Null."""
        members["Value"] = members["Value"] or None
        members["Credentials"] = members["Credentials"] or None


class EmptyForNull(_Envelope):
    """Writes an empty string for nothing."""

    caught_by: ClassVar = ("application-without-a-value", "sample-heartbeat")

    def members(self, members: dict[str, Any]) -> None:
        """Empty."""
        members["Value"] = members["Value"] or ""
        members["Credentials"] = members["Credentials"] or ""


class AddressAlphabet(_Envelope):
    """Writes base64 of the alphabet for addresses, without padding."""

    caught_by: ClassVar = ("application-value-in-base64", "credentials-of-an-application", "sample-join-with-credentials")

    def members(self, members: dict[str, Any]) -> None:
        """In the other one."""
        for name in ("Value", "Credentials"):
            if members[name]:
                members[name] = members[name].replace("+", "-").replace("/", "_").rstrip("=")


class JoinsWithoutAValue(_Envelope):
    """Leaves credentials out of the value of a join."""

    caught_by: ClassVar = ("sample-join-with-credentials",)

    def members(self, members: dict[str, Any]) -> None:
        """Empty."""
        members["Value"] = "" if members["Purpose"] == 0 else members["Value"]


class EmptyRows(_Value):
    """Writes empty arrays for all rows and columns."""

    caught_by: ClassVar = (
        *("sample-state-request", "sample-repair-of-the-leaf-set", "sample-repair-of-the-neighborhood-set", "mask-of-rows"),
        *("mask-0", "mask-1", "mask-2", "mask-5"),
    )

    def value(self, value: Any) -> Any:
        """Arrays."""
        return {**value, "Rows": value["Rows"] or [], "Cols": value["Cols"] or []} if "Mask" in value else value


class OtherBits(_Value):
    """Has other bits for the tables."""

    caught_by: ClassVar = ("mask-1", "mask-of-rows", "sample-repair-of-a-cell", "sample-repair-of-the-neighborhood-set")

    def value(self, value: Any) -> Any:
        """Reversed."""
        return {**value, "Mask": int(f"{value['Mask']:03b}"[::-1], 2)} if "Mask" in value else value


class AlwaysEol(_Value):
    """Writes the mark also if it is false."""

    caught_by: ClassVar = ("sample-race", "no-tables", "empty-tables", "announcement-without-tables")

    def value(self, value: Any) -> Any:
        """With it."""
        return value if "Mask" in value else {**value, "eol": value.get("eol", False)}


class NullTables(_Value):
    """Writes null for tables that are not sent."""

    caught_by: ClassVar = ("sample-state-data-of-the-destination", "no-tables-of-the-destination", "no-tables")

    def value(self, value: Any) -> Any:
        """With them."""
        return value if "Mask" in value else {"rt": None, "ls": None, "ns": None, **value}


class NoEmptyPlaces(_Value):
    """Writes occupied places only."""

    caught_by: ClassVar = ("sample-race", "empty-tables", "cells-in-their-places", "sample-state-data-of-the-destination")

    def value(self, value: Any) -> Any:
        """Without null."""
        if "Mask" in value:
            return value
        lists = {name: [[node for node in part if node] for part in value[name]] for name in ("rt", "ls") if name in value}
        return {**value, **lists, **({"ns": [node for node in value["ns"] if node]} if "ns" in value else {})}


class SmallTables(_Value):
    """Has places for half as many nodes."""

    caught_by: ClassVar = ("full-leaf-set", "full-neighborhood-set", "sample-announcement")

    def value(self, value: Any) -> Any:
        """Cut."""
        if "ls" in value:
            value["ls"] = [side[:8] for side in value["ls"]]
        if "ns" in value:
            value["ns"] = value["ns"][:16]
        return value
