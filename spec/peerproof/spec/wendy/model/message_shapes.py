"""What a message of a node shows by itself to be wrong, for `monitors`."""

from __future__ import annotations

from collections.abc import Iterator

from peerproof.spec import wendy
from peerproof.spec.traces.observed import Breach
from peerproof.spec.wendy.forms import ID
from peerproof.spec.wendy.ids import Id, id_text
from peerproof.spec.wendy.model.message_rules import LEAVES, MARK, ONCE, OWN_KEY, REPAIR, RIGHT_CELL, SELF_FREE, WHOLE
from peerproof.spec.wendy.state import Config
from peerproof.spec.wendy.tables import nodes_of


def misshapen(config: Config, message: wendy.Message) -> Iterator[Breach]:
    """What is wrong with a message that its maker sends."""
    header = message.header
    own = header.sender.id
    of_leaves = isinstance(message, wendy.NodeRepair) and message.mask.leaf_set
    if not isinstance(message, wendy.Application) and (header.key == own) == of_leaves:
        yield Breach(OWN_KEY, "another id" if of_leaves else id_text(own), id_text(header.key))
    if isinstance(message, wendy.NodeRepair):
        yield from _repair(message)
    if isinstance(message, (wendy.StateData, wendy.NodeRace, wendy.NodeAnnouncement)):
        yield from _tables(config, own, message.tables)
    if isinstance(message, wendy.StateData) and message.destination and message.tables.leaf_set is None:
        yield Breach(MARK, "a leaf set", "the mark alone")
    if isinstance(message, wendy.NodeAnnouncement) and None in message.tables:
        missing = [name for name, table in message.tables._asdict().items() if table is None]
        yield Breach(WHOLE, "all three tables", {"missing": missing})


def is_passed_on(message: wendy.Message) -> bool:
    """Whether it may be another's that its sender only passes on. [W-47, WA-56]"""
    return isinstance(message, (wendy.NodeJoin, wendy.Application)) and message.header.hop > 0


def _repair(repair: wendy.NodeRepair) -> Iterator[Breach]:
    mask = repair.mask
    is_cell = len(mask.rows) == len(mask.columns) == 1
    if sum(mask[:3]) != 1 or (mask.routing_table and not is_cell):
        yield Breach(REPAIR, "one table, or one cell", mask._asdict() | {"rows": list(mask.rows), "columns": list(mask.columns)})


def _tables(config: Config, own: Id, tables: wendy.Tables) -> Iterator[Breach]:
    if own in nodes_of(tables):
        yield Breach(SELF_FREE, None, ID.plain(own))
    for row, column, node in tables.routing_table or ():
        if node.id != own and config.ring.cell(own, node.id) != (row, column):
            yield Breach(RIGHT_CELL, list(config.ring.cell(own, node.id)), {"cell": [row, column], "node": id_text(node.id)})
            break
    if tables.leaf_set is not None and not config.is_two_sided:
        yield from _leaves(config, own, tables.leaf_set)
    for listed in (*(tables.leaf_set or ()), tables.neighborhood_set or ()):
        if len(_ids(listed)) < len(listed):
            yield Breach(ONCE, None, [id_text(node.id) for node in listed])


def _leaves(config: Config, own: Id, leaves: wendy.LeafSet) -> Iterator[Breach]:
    ring = config.ring
    others = _ids((*leaves.left, *leaves.right)) - {own}
    right = sorted((node for node in others if ring.is_right(own, node)), key=lambda node: ring.clockwise(own, node))
    left = sorted(others - {*right}, key=lambda node: ring.clockwise(node, own))
    for name, expected, side in (("left", left, leaves.left), ("right", right, leaves.right)):
        listed = list(dict.fromkeys(node.id for node in side if node.id != own))
        if listed != expected:
            yield Breach(LEAVES, {name: [id_text(node) for node in expected]}, {name: [id_text(node) for node in listed]})
            return


def _ids(nodes: tuple[wendy.Node, ...]) -> set[Id]:
    return {node.id for node in nodes}
