"""Mistakes in reading: what is right, or may be written otherwise, is refused."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.wendy import Wrong
from tests.conformance.mistakes.wendy.wire import MEMBERS
from tests.support.variant import Variants, refusing

wrong = Variants(__name__, Wrong)


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


# with the two at least around it


@wrong("decode", "sample-state-data-as-the-original-has-it")
def GreaterIdsFirst(right: Any, data: bytes) -> Any:
    """Puts leaves where they belong when it reads them."""
    message = right(data)
    leaves = getattr(getattr(message, "tables", None), "leaf_set", None)
    if leaves is None:
        return message
    nodes = sorted({*leaves.left, *leaves.right})
    own = message.header.sender.id
    sides = type(leaves)(tuple(n for n in nodes if n.id < own), tuple(n for n in nodes if n.id > own))
    return replace(message, tables=message.tables._replace(leaf_set=sides))


wrong |= {
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
    # Reads 32 levels.
    "ShallowOnly: sixty-four-levels": accepting(lambda members, data: b"[" * 40 not in data),
    # Reads numbers that fit into a float, wherever they stand.
    "SmallNumbersOnly: long-numbers-in-unknown-members": accepting(lambda members, data: b"9" * 400 not in data),
    # Wants the value of a join, an exit or a heartbeat to be what it would write.
    "EmptyValuesOnly: join-with-another-value heartbeat-with-a-value": accepting(
        lambda members, data: members["Purpose"] > 2 or not members.get("Value") or members["Value"] == members["Credentials"]
    ),
    # Reads no mark that is false.
    "TrueMarksOnly: mark-that-is-false": accepting(lambda members, data: _of_value(members).get("eol") is not False),
    # Counts the levels of a value from those of the message that it stands in.
    "ValuesInsideOfMessages: sixty-four-levels-of-tables sixty-four-levels-of-a-mask": accepting(
        lambda members, data: 1 + _levels(_of_value(members)) <= 64
    ),
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
