"""
The differences of the original library of Wendy, one at a time [WD-01…WD-32].

Two are missing, because a runner in virtual time cannot detect them: versions that are read later than tables [WD-18], and scores
that are only the time to connect [WD-26]. The divergence WD-16 also announces itself without end [WD-30].
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, ClassVar, Final

from peerproof.reference.divergences.divergence import Divergence, by_id, received
from peerproof.spec import wendy
from peerproof.spec.core import Asked, NodeId, Notify, Pick, Send, Sent, Step
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.wendy import codec, joining, proximity, repair, routing, tables, transitions
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.state import State, leaf_set

Next = Step[Any, Any]

ADVANCED = repair.advance_repair
DEPARTED = repair.on_departure
ENCOUNTERED = proximity.consider_node
LEAF_SPAN = routing.leaf_span
MEMBERS: Any = codec._members
NEXT_HOP = routing.next_hop
OBJECT: Any = codec._object
ON_NODE_JOIN = joining.on_node_join
ON_OUTCOME = transitions.on_outcome
PREFIX = Ring.prefix
SENT_ON = joining.forward_join
WITH_TABLES = tables.with_tables
WITH_VERSIONS = joining.with_versions


class Diverging(Divergence):
    """Wendy with some functions replaced."""

    protocol = "wendy"


@Diverging.instead_of("ids.Ring.prefix")
def WD01(ring: Ring, one: Id, other: Id) -> int:
    """Finds the first different digit one digit too late, if it is the tenth or the twenty-sixth."""
    row = PREFIX(ring, one, other)
    return row + 1 if row in (10, 26) else row


@Diverging.instead_of("ids.Ring.rank")
def WD02(ring: Ring, node: Id, key: Id) -> int:
    """Loses the carry when it computes the distance in the other direction."""
    apart = abs(key - node)
    other_way = ring.size - apart - (2**64 if apart and apart % 2**64 == 0 else 0)
    below, above = (apart, other_way) if key >= node else (other_way, apart)
    return 2 * below if below <= above else 2 * above + 1


def _leaf_thrown_away(state: State, key: Id) -> wendy.Node | None:
    span = routing.leaf_span(state, key)
    if span is None or key == state.id or routing.closest(state, key, span) is None:
        return NEXT_HOP(state, key)
    return NEXT_HOP(replace(state, leaf_set=wendy.LeafSet()), key)


class WD03(Diverging):
    """Finds the next hop among its leaves, but then uses the routing table."""

    instead: ClassVar = {"routing.next_hop": _leaf_thrown_away}


def _mirrored(sent: wendy.Tables) -> wendy.Tables:
    leaves = sent.leaf_set
    return sent if leaves is None else sent._replace(leaf_set=wendy.LeafSet(leaves.right, leaves.left))


class WD04(Diverging):
    """Takes the greater ids for the left side."""

    queries: ClassVar = {
        "leaf_set": lambda state: dict(zip(("left", "right"), reversed(list(leaf_set(state).values())), strict=True))
    }

    def encode(self, message: Any) -> bytes:
        """Swaps the arrays."""
        if isinstance(message, (wendy.StateData, wendy.NodeRace, wendy.NodeAnnouncement)):
            message = replace(message, tables=_mirrored(message.tables))
        return super().encode(message)


def _span_unmirrored(state: State, key: Id) -> tuple[wendy.Node, ...] | None:
    ring, (left, right) = state.config.ring, state.leaf_set
    if ring.is_right(state.id, key) or not left:
        return LEAF_SPAN(replace(state, leaf_set=wendy.LeafSet((), right)), key)
    is_beyond = ring.clockwise(key, state.id) > ring.clockwise(left[-1].id, state.id)
    return (left[-1],) if is_beyond else None


class WD05(Diverging):
    """Treats the lower end of its leaf set like the upper one."""

    instead: ClassVar = {"routing.leaf_span": _span_unmirrored}


@Diverging.instead_of("routing.next_hop")
def WD06(state: State, key: Id) -> wendy.Node | None:
    """Delivers every lower key while it has no lower leaves."""
    is_lower = key != state.id and not state.config.ring.is_right(state.id, key)
    return None if is_lower and not state.leaf_set.left else NEXT_HOP(state, key)


class WD07(Diverging):
    """Has both faults: it discards the leaf that it found, and looks for lower keys at the wrong end."""

    instead: ClassVar = {"routing.next_hop": _leaf_thrown_away, "routing.leaf_span": _span_unmirrored}


@Diverging.instead_of("repair.on_departure")
def WD08(state: State, gone: Id) -> Next:
    """Removes only nodes that are in the routing table."""
    return DEPARTED(state, gone) if any(node.id == gone for node in state.routing_table.values()) else Step(state)


def _asks_for_neighbours(message: Any) -> bool:
    return isinstance(message, wendy.NodeRepair) and message.mask.neighborhood_set


@Diverging.instead_of("repair.on_departure")
def WD09(state: State, gone: Id) -> Next:
    """Stops in the middle of a removal if there is no leaf left to ask."""
    after, effects = DEPARTED(state, gone)
    if not any(old and not new for old, new in zip(state.leaf_set, after.leaf_set, strict=True)):
        return Step(after, effects)
    kept = [effect for effect in effects if not (isinstance(effect, Send) and _asks_for_neighbours(effect.message))]
    versions = after.versions._replace(neighborhood_set=state.versions.neighborhood_set)
    return Step(replace(after, neighborhood_set=state.neighborhood_set, versions=versions), tuple(kept))


@Diverging.instead_of("repair.query_leaf_set")
def WD10(before: State, state: State, gone: wendy.Node) -> tuple[Any, ...]:
    """Asks the nearest leaf, or a leaf of the other side."""
    for side, (old, new) in enumerate(zip(before.leaf_set, state.leaf_set, strict=True)):
        if new and len(new) < len(old):
            to = new[0] if old[0].id != gone.id or side else state.leaf_set.right[-1]
            return proximity.send(state, to, wendy.NodeRepair(proximity.header(state, gone.id), wendy.Mask(leaf_set=True)))
    return ()


@Diverging.instead_of("transitions.on_node_join")
def WD11(state: State, join: wendy.NodeJoin) -> Next:
    """Sends joiners only some rows of its routing table."""
    step = ON_NODE_JOIN(state, join)
    row = state.config.ring.prefix(state.id, join.header.sender.id)
    hop = join.header.hop + 1

    def is_sent(entry: wendy.Entry) -> bool:
        return entry.row < row if hop == 1 else hop >= row or entry.row == hop

    effects: list[Any] = list(step.effects)
    for index, effect in enumerate(effects):
        if isinstance(effect, Send) and isinstance(message := effect.message, wendy.StateData):
            shown = message.tables._replace(routing_table=tuple(filter(is_sent, message.tables.routing_table or ())))
            effects[index] = replace(effect, message=replace(message, tables=shown))
    return Step(step.state, tuple(effects))


@Diverging.instead_of("joining.forward_join")
def WD12(state: State, join: wendy.NodeJoin) -> Any:
    """Counts rows as hops."""
    header = join.header
    rows = state.config.ring.prefix(state.id, header.sender.id) if header.hop == 1 else 0
    return SENT_ON(state, replace(join, header=replace(header, hop=header.hop + rows)))


def _everywhere_at_once(state: State, node: wendy.Node, *, is_leaf: bool) -> State:
    after = ENCOUNTERED(state, node, is_leaf=is_leaf)
    if proximity.is_passed_over(state, node):
        return after
    is_cached = node.id not in state.scores and node.id in state.cache
    return proximity.record_score(state, node, 0) if is_cached else tables.insert_node(after, node)


class WD13(Diverging):
    """Looks up cached scores without using them, and takes an unknown score for the best."""

    instead: ClassVar = {
        "proximity.consider_node": _everywhere_at_once,
        "state.State.score": lambda state, node: (False, state.scores.get(node, -1)),
    }


class WD14(Diverging):
    """Inserts a node that did not answer, with the best score."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Lets every measurement succeed."""
        if isinstance(event, Sent) and event.took is None and any(node.id in state.measured for node in state.at(event.to)):
            event = replace(event, took=0)
        return super().step(state, event, pick)


@Diverging.instead_of("tables.in_neighborhood_set")
def WD15(state: State, node: wendy.Node) -> tuple[wendy.Node, ...]:
    """Replaces the first neighbour that is farther away by a new one."""
    members = state.neighborhood_set
    if any(member.id == node.id for member in members):
        return members
    score = state.score(node.id)
    place = next((index for index, member in enumerate(members) if score < state.score(member.id)), len(members))
    return (*members[:place], node, *members[place + 1 :])[: state.config.neighborhood_set]


@Diverging.instead_of("joining.with_versions")
def WD16(state: State, sender: wendy.Node, versions: wendy.Versions) -> State:
    """Never updates the stored versions of a leaf."""
    is_leaf = any(node.id == sender.id for side in state.leaf_set for node in side)
    known = state.stored.get(sender.id, wendy.Versions())
    return WITH_VERSIONS(state, sender, known if is_leaf else versions)


class WD17(Diverging):
    """Takes the versions in an announcement for those of the announcer."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Stores these versions."""
        step = super().step(state, event, pick)
        if not received(event, wendy.NodeAnnouncement):
            return step
        header = event.message.header
        return step._replace(state=WITH_VERSIONS(step.state, header.sender, header.versions))


@Diverging.instead_of("tables.with_tables")
def WD19(state: State, routing_table: Any, leaves: wendy.LeafSet, near: Any) -> State:
    """Does not count replacements in the routing table as changes."""
    after = WITH_TABLES(state, routing_table, leaves, near)
    if len(routing_table) == len(state.routing_table) > 0 and routing_table is not state.routing_table:
        after = replace(after, versions=after.versions._replace(routing_table=state.versions.routing_table))
    return after


@Diverging.instead_of("repair.advance_repair")
def WD20(state: State, cell: Any) -> Next:
    """Asks the first row that has a node, and no other."""
    at = state.repairs[cell]
    if at.waiting or at.row == cell[0] - 1 or cell in state.routing_table:
        return ADVANCED(state, cell)
    return ADVANCED(replace(state, repairs=state.repairs.put({cell: at._replace(row=99)})), cell)


class WD21(Diverging):
    """Sends the join of a node that it knows to that node."""

    instead: ClassVar = {"joining.next_hop_of_join": NEXT_HOP}


@Diverging.instead_of("routing.next_hop")
def WD22(state: State, key: Id) -> wendy.Node | None:
    """Skips the same column in all rows below, instead of the own column of each row."""
    row = state.config.ring.prefix(state.id, key)
    below = [cell for cell in state.routing_table if cell[0] > row and cell[1] == state.config.ring.digit(state.id, row)]
    return NEXT_HOP(replace(state, routing_table=state.routing_table.without(below)), key)


class WD23(Diverging):
    """Updates an unused copy of a score."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces later durations by the first one."""
        if isinstance(event, Sent) and event.took is not None:
            known = next((state.scores[n.id] for n in state.at(event.to) if n.id in state.scores), event.took)
            event = replace(event, took=known)
        return super().step(state, event, pick)


class WD24(Diverging):
    """Does not notify of departed nodes, and notifies of each announcement."""

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Replaces the notices."""
        after, effects = super().step(state, event, pick)
        kept = [e for e in effects if not (isinstance(e, Notify) and isinstance(e.notice, (wendy.NodeExited, wendy.NodeJoined)))]
        announced = [Notify(wendy.NodeJoined(event.message.header.sender))] if received(event, wendy.NodeAnnouncement) else []
        return Step(after, (*announced, *kept))


@Diverging.instead_of("transitions.on_outcome")
def WD25(state: State, to: Any, message: Any, *, failed: bool) -> Next:
    """Drops a message whose next hop is unreachable."""
    is_passing = isinstance(message, (wendy.Application, wendy.NodeJoin)) and state.contact is None
    return Step(state) if is_passing and failed else ON_OUTCOME(state, to, message, failed=failed)


class WD27(Diverging):
    """Forwards the original message, even if the application has changed it."""

    last: wendy.Application | None = None

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Restores the message."""
        if isinstance(event, Asked) and isinstance(event.command, wendy.Forward) and self.last:
            event = replace(event, command=wendy.Forward(self.last))
        step = super().step(state, event, pick)
        for effect in step.effects:
            if isinstance(effect, Notify) and isinstance(effect.notice, wendy.Forwarding):
                self.last = effect.notice.message
        return step


class WD28(Diverging):
    """Keeps a departed node in leaf set and neighborhood set if a node asked for its cell is unreachable."""

    lost: tuple[wendy.Node, ...] = ()

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Inserts it again."""
        step = super().step(state, event, pick)
        after = step.state
        if isinstance(event, Sent) and event.took is None and isinstance(event.message, wendy.NodeRepair):
            for node in self.lost:
                after = tables.insert_node(after, node, wendy.Mask(leaf_set=True, neighborhood_set=True))
            return step._replace(state=after)
        self.lost += tuple(node for name, node in state.known.items() if name not in after.known)
        return step


class WD29(Diverging):
    """Does not check the rows and columns of a repair, and crashes."""

    def decode(self, data: bytes) -> Any:
        """Crashes at a row or a column beyond the last."""
        try:
            return super().decode(data)
        except MalformedMessage as error:
            if "Rows is a whole number" in str(error) or "Cols is a whole number" in str(error):
                raise IndexError("index out of range") from None
            raise


class WD31(Diverging):
    """Writes a host with colons without brackets."""

    instead: ClassVar = {"state.address": lambda host, port: NodeId(f"{host}:{port}")}


def _in_any_case(raw: Any, names: Collection[str]) -> Any:
    known = {name.lower(): name for name in names}
    return {known.get(name.lower(), name): value for name, value in raw.items()} if type(raw) is dict else raw


class WD32(Diverging):
    """Accepts names of members in any case."""

    instead: ClassVar = {
        "codec._object": lambda raw, names, what, depth: OBJECT(_in_any_case(raw, names), names, what, depth),
        "codec._members": lambda raw, of, names, what, depth: MEMBERS(_in_any_case(raw, names), of, names, what, depth),
    }


#: The divergences by their ids.
DIVERGENCES: Final = by_id(Diverging)
