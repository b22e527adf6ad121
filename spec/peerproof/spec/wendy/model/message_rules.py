"""Rules about one node's messages alone; `monitors` reports violations. [WI-02, WI-04, WI-08, WI-11…WI-13]"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from peerproof.spec import wendy
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.observed import Rule, RuleViolation, rules_in
from peerproof.spec.wendy.forms import ID
from peerproof.spec.wendy.ids import Id, id_text
from peerproof.spec.wendy.state import Config
from peerproof.spec.wendy.tables import nodes_of

ONE_SENDER: Final = Rule("OneSender", "a node always sends the same data about itself", ("WA-52", "WA-53"))
OWN_KEY: Final = Rule("OwnKey", "a message between nodes has the required key", ("W-47", "WA-57"))
TO_OTHERS: Final = Rule("ToOthers", "no node sends to itself", ("WA-15", "WA-52"))
VERSIONS: Final = Rule(
    "VersionsGrow", "versions of a node's tables never decrease, unless it restarts", ("WA-39", "WI-08"), needs_all=True
)
SAME_TABLE: Final = Rule("VersionsNameTables", "a table of one version has the same nodes", ("WA-39", "WA-42", "WI-08"))
SELF_FREE: Final = Rule("SelfFree", "no node is in its own tables", ("WA-15", "WI-02"))
RIGHT_CELL: Final = Rule("RightCell", "a node in a cell of the routing table fits into it", ("W-15", "W-16", "WI-04"))
LEAVES: Final = Rule("LeavesInOrder", "leaves are on their side, the nearest first", ("W-24", "W-29"))
SIDES: Final = Rule("LeftLeavesFirst", "the left array comes first; the ring defines which side is left", ("WA-03", "WA-51"))
ONCE: Final = Rule("NobodyTwice", "no node is twice in an array of the leaf set, or in the neighborhood set", ("W-32", "WI-03"))
MARK: Final = Rule(
    "MarkWithLeafSet", "the destination of a join sends its leaf set with its mark", ("W-50", "WA-61"), needs_all=True
)
ASKED: Final = Rule(
    "DataIsAsked",
    "tables are sent only on request, and only those that are due",
    ("W-48", "W-49", "W-50", "WA-57"),
    needs_all=True,
)
JOIN: Final = Rule(
    "JoinAnswered", "each receiver of a join sends its routing table to the joiner", ("W-48", "WI-11"), needs_all=True
)
HOPS: Final = Rule("HopsCounted", "a forwarded message has one hop more", ("WA-56",), needs_all=True)
REPAIR: Final = Rule(
    "RepairOfOne", "a repair asks for one table, of the routing table for one cell", ("W-19", "W-30", "W-36", "WA-27")
)
WAIT: Final = Rule(
    "AnnouncedInTime", "a joiner announces itself when its wait after a leaf set is over", ("W-58", "WI-12"), needs_all=True
)
MARK_WAIT: Final = Rule(
    "WaitsForMark", "the marked leaf set starts the wait of a joiner", ("W-58", "WA-37", "WA-61"), needs_all=True
)
WHOLE: Final = Rule("AnnouncesTables", "an announcement has all three tables", ("W-60",))
KNOWN: Final = Rule(
    "VersionsWereTold", "an announcement has versions that its receiver has sent", ("W-61", "W-63", "WA-40"), needs_all=True
)
KEPT: Final = Rule(
    "VersionsAreKept",
    "a node that has applied the versions it received announces no older ones",
    ("W-61", "W-63"),
    needs_all=True,
)
AGAIN: Final = Rule(
    "AnnouncedAgain", "announcements are repeated after a race warning only", ("W-65", "WA-44", "WA-67"), needs_all=True
)
RACE: Final = Rule(
    "RaceOfNewer", "a race warning answers an announcement, and has newer tables", ("W-64", "WA-41", "WA-42"), needs_all=True
)
WARNED: Final = Rule("RaceIsTold", "an announcement with old versions gets a warning", ("W-64", "WA-41", "WI-13"), needs_all=True)
GONE: Final = Rule("QuietAfterLeaving", "a node that has left sends nothing", ("WA-62",), needs_all=True)

#: All rules.
RULES: Final = rules_in(globals())


def misshapen(config: Config, message: wendy.Message) -> Iterator[RuleViolation]:
    """Yields the violations of a message from its maker."""
    header = message.header
    own = header.sender.id
    of_leaves = isinstance(message, wendy.NodeRepair) and message.mask.leaf_set
    if not isinstance(message, wendy.Application) and (header.key == own) == of_leaves:
        yield RuleViolation(OWN_KEY, "another id" if of_leaves else id_text(own), id_text(header.key))
    if isinstance(message, wendy.NodeRepair):
        yield from _repair(message)
    if isinstance(message, (wendy.StateData, wendy.NodeRace, wendy.NodeAnnouncement)):
        yield from _tables(config, own, message.tables)
    if isinstance(message, wendy.StateData) and message.destination and message.tables.leaf_set is None:
        yield RuleViolation(MARK, "a leaf set", "the mark alone")
    if isinstance(message, wendy.NodeAnnouncement) and None in message.tables:
        missing = [name for name, table in message.tables._asdict().items() if table is None]
        yield RuleViolation(WHOLE, "all three tables", {"missing": missing})


def is_passed_on(message: wendy.Message) -> bool:
    """Whether its sender may only forward the message of another node. [W-47, WA-56]"""
    return isinstance(message, (wendy.NodeJoin, wendy.Application)) and message.header.hop > 0


def _repair(repair: wendy.NodeRepair) -> Iterator[RuleViolation]:
    mask = repair.mask
    is_cell = len(mask.rows) == len(mask.columns) == 1
    if sum(mask[:3]) != 1 or (mask.routing_table and not is_cell):
        yield RuleViolation(
            REPAIR, "one table, or one cell", mask._asdict() | {"rows": list(mask.rows), "columns": list(mask.columns)}
        )


def _tables(config: Config, own: Id, tables: wendy.Tables) -> Iterator[RuleViolation]:
    if own in nodes_of(tables):
        yield RuleViolation(SELF_FREE, None, ID.plain(own))
    for row, column, node in tables.routing_table or ():
        if node.id != own and config.ring.cell(own, node.id) != (row, column):
            yield RuleViolation(
                RIGHT_CELL, list(config.ring.cell(own, node.id)), {"cell": [row, column], "node": id_text(node.id)}
            )
            break
    if tables.leaf_set is not None and not config.is_two_sided:
        yield from _leaves(config, own, tables.leaf_set)
    for listed in (*(tables.leaf_set or ()), tables.neighborhood_set or ()):
        if len(_ids(listed)) < len(listed):
            yield RuleViolation(ONCE, None, [id_text(node.id) for node in listed])


def _leaves(config: Config, own: Id, leaves: wendy.LeafSet) -> Iterator[RuleViolation]:
    ring = config.ring
    others = _ids((*leaves.left, *leaves.right)) - {own}
    right = sorted((node for node in others if ring.is_right(own, node)), key=lambda node: ring.clockwise(own, node))
    left = sorted(others - {*right}, key=lambda node: ring.clockwise(node, own))
    lower, greater = sorted((node for node in others if node < own), reverse=True), sorted(node for node in others if node > own)
    listed = [list(dict.fromkeys(node.id for node in side if node.id != own)) for side in leaves]
    if listed != [left, right]:
        is_other_reading = listed in ([right, left], [lower, greater], [greater, lower])
        yield RuleViolation(SIDES if is_other_reading else LEAVES, _sides_plain([left, right]), _sides_plain(listed))


def _sides_plain(sides: list[list[Id]]) -> Plain:
    return {name: [id_text(node) for node in side] for name, side in zip(("left", "right"), sides, strict=True)}


def _ids(nodes: tuple[wendy.Node, ...]) -> set[Id]:
    return {node.id for node in nodes}
