"""Mistakes in reading: what is right, or may be written otherwise, is refused."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.wire import MEMBERS

from peerproof.spec.errors import MalformedMessage


class _Strict(Wrong):
    """Reads less than it should."""

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:
        """Whether this is read."""
        raise NotImplementedError

    def decode(self, data: bytes) -> Any:
        """Only if it is accepted."""
        message = super().decode(data)
        if not self.accepts(json.loads(data), data):
            raise MalformedMessage("other", 0, "that is too much")
        return message


def _of_value(members: dict[str, Any]) -> Any:
    try:
        return json.loads(b64decode(members["Value"])) if 3 <= members["Purpose"] <= 7 else {}
    except (ValueError, TypeError):
        return {}


class InOrderOnly(_Strict):
    """Reads members in the order in which they are written, and no others."""

    caught_by: ClassVar = (
        "members-in-any-order",
        "unknown-members",
        "the-last-of-equal-names",
        "sixty-four-levels",
        "missing-members",
    )

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:
        """In order."""
        names = [name for name, _ in json.loads(data, object_pairs_hook=list)]
        return names == list(MEMBERS) == list(members)


class NoBlanks(_Strict):
    """Reads no blanks."""

    caught_by: ClassVar = ("blanks-everywhere", "largest-numbers-with-blanks", "members-in-any-order")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:
        """None, and in order."""
        return data.startswith(b'{"Purpose":') and b" : " not in data and b" , " not in data and bool(members)


class LinesOnly(_Strict):
    """Reads messages with a line feed only."""

    caught_by: ClassVar = ("no-line-feed", "missing-members")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """At the end."""
        return data.endswith(b"\n")


class NoNulls(_Strict):
    """Reads nothing that is null."""

    caught_by: ClassVar = ("null-members", "sample-zero", "state-data-with-null-tables")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """But credentials."""
        missing = [name for name, value in members.items() if value is None and name != "Credentials"]
        value = _of_value(members)
        return not missing and not [name for name in ("rt", "ls", "ns", "eol") if name in value and value[name] is None]


class SmallDigitsOnly(_Strict):
    """Reads no capital digits."""

    caught_by: ClassVar = ("capital-digits",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Small."""
        return bool(members["Key"] == members["Key"].lower())


class FewEscapes(_Strict):
    """Reads the escapes that it writes."""

    caught_by: ClassVar = ("escapes-of-any-kind",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """No others."""
        return b"\\u00e9" not in data and b"\\/" not in data


class ShallowOnly(_Strict):
    """Reads 32 levels."""

    caught_by: ClassVar = ("sixty-four-levels",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Not more."""
        return b"[" * 40 not in data


class SmallNumbersOnly(_Strict):
    """Reads numbers that fit into a float, wherever they stand."""

    caught_by: ClassVar = ("long-numbers-in-unknown-members",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """No longer ones."""
        return b"9" * 400 not in data


class EmptyValuesOnly(_Strict):
    """Wants the value of a join, an exit or a heartbeat to be what it would write."""

    caught_by: ClassVar = ("join-with-another-value", "heartbeat-with-a-value")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """That, or nothing."""
        return members["Purpose"] > 2 or not members.get("Value") or members["Value"] == members["Credentials"]


class FullTablesOnly(_Strict):
    """Reads tables with all their places, and no more."""

    caught_by: ClassVar = ("short-arrays", "empty-arrays", "long-arrays", "value-with-blanks")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """As they are written."""
        value = _of_value(members)
        sizes = {"rt": 32, "ls": 2, "ns": 32}
        return all(not isinstance(value.get(name), list) or len(value[name]) == size for name, size in sizes.items())


class FittingCellsOnly(_Strict):
    """Reads nodes in the cells where they belong."""

    caught_by: ClassVar = ("nodes-in-wrong-cells",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Where the sender would have them."""
        own = members["Sender"]["ID"].lower()
        for row, places in enumerate(_of_value(members).get("rt") or ()):
            for column, node in enumerate(places or ()):
                if node and (node["ID"][:row].lower(), int(node["ID"][row], 16)) != (own[:row], column):
                    return False
        return True


class TrueMarksOnly(_Strict):
    """Reads no mark that is false."""

    caught_by: ClassVar = ("mark-that-is-false",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """True, if there is one."""
        return _of_value(members).get("eol") is not False


class PlainMasksOnly(_Strict):
    """Reads masks as they are written."""

    caught_by: ClassVar = ("rows-in-any-order", "empty-rows", "bits-that-nobody-knows", "no-mask-at-all")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """With known bits, and ascending rows."""
        if members["Purpose"] not in (4, 6):
            return True
        value = _of_value(members)
        rows, columns = value.get("Rows"), value.get("Cols")
        return value.get("Mask", 8) < 8 and [] not in (rows, columns) and (rows or []) == sorted(set(rows or []))


def _levels(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


class ValuesInsideOfMessages(_Strict):
    """Counts the levels of a value from those of the message that it stands in."""

    caught_by: ClassVar = ("sixty-four-levels-of-tables", "sixty-four-levels-of-a-mask")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """One less in it."""
        return 1 + _levels(_of_value(members)) <= 64


class CountsFive(_Strict):
    """Holds whatever is unknown in a node or exceeds a table to stand in five arrays and objects."""

    caught_by: ClassVar = tuple(
        f"sixty-four-levels-with-{what}"
        for what in (
            *("a-node", "a-leaf-set", "a-cell", "a-neighbor", "a-row-too-many", "a-column-too-many"),
            *("a-side-too-many", "a-leaf-too-many", "a-neighbor-too-many"),
        )
    )

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Anything of sixty levels stands too deep then."""
        return max(_levels(members["Sender"]), _levels(_of_value(members))) < 62  # with the two at least around it


class HostsThatAreTexts(_Strict):
    """Reads nodes with both hosts and a region only."""

    caught_by: ClassVar = ("a-host-that-is-null",)

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Of the sender."""
        return all(isinstance(members["Sender"].get(name), str) for name in ("LocalIP", "GlobalIP", "Region"))


class KnownPurposesOnly(_Strict):
    """Reads the purposes that somebody has given out."""

    caught_by: ClassVar = ("application-of-an-unknown-kind", "largest-purpose")

    def accepts(self, members: dict[str, Any], data: bytes) -> bool:  # noqa: ARG002
        """Up to 32."""
        return bool(members["Purpose"] <= 32)


class GreaterIdsFirst(Wrong):
    """Puts leaves where they belong when it reads them."""

    caught_by: ClassVar = ("sample-state-data-as-the-original-has-it",)

    def decode(self, data: bytes) -> Any:
        """Sorted."""
        message = super().decode(data)
        leaves = getattr(getattr(message, "tables", None), "leaf_set", None)
        if leaves is None:
            return message
        nodes = sorted({*leaves.left, *leaves.right})
        own = message.header.sender.id
        sides = type(leaves)(tuple(n for n in nodes if n.id < own), tuple(n for n in nodes if n.id > own))
        return replace(message, tables=message.tables._replace(leaf_set=sides))
