"""Other readings of Wendy's document."""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Expired, NodeId, Notify, Pick, Send, Sent, SetTimer, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy.codec import ENVELOPE, MASK, NODE, TABLES
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.joining import (
    announce,
    forward_join,
    is_newer,
    on_join,
    on_node_announcement,
    on_node_join,
    on_node_race,
    on_state_data,
)
from peerproof.spec.wendy.messages import (
    NO_LEAVES,
    NO_VERSIONS,
    Application,
    Effect,
    FlushCache,
    Forwarding,
    Heartbeat,
    HeartbeatDue,
    Joined,
    JoinFailed,
    LeafSet,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeExited,
    NodeJoin,
    NodeJoined,
    NodeRace,
    NodeRepair,
    RepairTimeout,
    StateData,
    StateRequest,
    Tables,
    Versions,
)
from peerproof.spec.wendy.proximity import (
    Next,
    consider_node,
    header,
    is_passed_over,
    learn_tables,
    refresh_score,
    send,
)
from peerproof.spec.wendy.repair import advance_repair, record_answer
from peerproof.spec.wendy.routing import leaf_span, next_hop
from peerproof.spec.wendy.state import CACHE_MS, Config, Stage, State, address, address_of
from peerproof.spec.wendy.tables import (
    in_neighborhood_set,
    in_routing_table,
    insert_node,
    nodes_of,
    remove_node,
    select_tables,
    update_address,
    with_tables,
)
from peerproof.spec.wendy.transitions import on_message, on_outcome, on_sent, route_message, step

Right: TypeAlias = Callable[..., Next]
Order: TypeAlias = Callable[[Node, Tables], Iterable[Node]]
#: Lower-case name -> the member's name.
_NAMES: Final = {name.lower(): name for names in (ENVELOPE, NODE, TABLES, MASK) for name in names}
READINGS: Final = Readings()


@READINGS.register("WA-04", "lower", "ids.Ring.is_right")
def _opposite_is_lower(ring: Ring, own: Id, other: Id) -> bool:
    """The id exactly opposite is lower, seen from either end."""
    return 0 < ring.clockwise(own, other) < ring.size // 2


READINGS.add(
    "WA-08",
    "steps-alone",
    "After the document's steps the message is delivered, though a leaf may be closer.",
    instead={"routing.leaf_ends": lambda _: ()},
)


@READINGS.register("WA-09", "above", "ids.Ring.rank")
def rank_above_first(ring: Ring, node: Id, key: Id) -> int:
    """
    Of two nodes that are equally far from a key, the one above it is closer.

    Returns the rank of a node for a key: the smaller, the closer.
    """
    below = (key - node) % ring.size
    above = ring.size - below
    return 2 * below + 1 if below < above else 2 * above


def _closer_by_cells(state: State, key: Id) -> list[tuple[int, int, int, Node]]:
    """Returns row, column, rank and node of the entries that are tried after the cell of the key; none if that is skipped."""
    ring = state.config.ring
    if key == state.id or leaf_span(state, key) is not None or (cell := ring.cell(state.id, key)) in state.routing_table:
        return []
    ranked = [(row, column, ring.rank(node.id, key), node) for (row, column), node in state.routing_table.items()]
    return [found for found in ranked if found[0] >= cell[0] and found[2] < ring.rank(state.id, key)]


@READINGS.register("WA-11", "closest", "routing.next_hop")
def _closest_of_the_row(state: State, key: Id) -> Node | None:
    """Of the nodes in a row that are closer to the key the closest is taken."""
    closer = _closer_by_cells(state, key)
    return min(closer, key=lambda found: (found[0], found[2]))[3] if closer else next_hop(state, key)


@READINGS.register("WA-11", "last", "routing.next_hop")
def _last_of_the_row(state: State, key: Id) -> Node | None:
    """A row is searched from its last column on."""
    closer = _closer_by_cells(state, key)
    return min(closer, key=lambda found: (found[0], -found[1]))[3] if closer else next_hop(state, key)


@READINGS.register("WA-11", "last-row-first", "routing.next_hop")
def _last_row_first(state: State, key: Id) -> Node | None:
    """Of the rows below that of the key's cell the last one is searched first."""
    closer = _closer_by_cells(state, key)
    if not closer:
        return next_hop(state, key)
    row = state.config.ring.prefix(state.id, key)
    return min(closer, key=lambda found: (found[0] > row, -found[0], found[1]))[3]


@READINGS.register("WA-16", "best", "state.State.score")
def _unknown_is_best(state: State, node: Id) -> tuple[bool, int]:
    """An unknown score is better than any that was measured."""
    return False, state.scores.get(node, -1)


@READINGS.register("WA-17", "newcomer", "tables.in_routing_table")
def _newcomer_takes_the_cell(state: State, node: Node) -> Any:
    """Of two nodes with equal scores the one that comes later gets the cell."""
    cell = state.config.ring.cell(state.id, node.id)
    there = state.routing_table.get(cell)
    if there is None or (there.id != node.id and state.score(node.id) <= state.score(there.id)):
        return state.routing_table.put({cell: node})
    return state.routing_table


@READINGS.register("WA-18", "requests-are-cached", "proximity.refresh_score")
def _cache_what_was_asked(state: State, to: NodeId, took: int) -> State:
    """The cache has what the requests to unknown nodes took; other messages are not written to it."""
    asked = [node.id for node in state.at(to) if node.id in state.measured]
    return replace(refresh_score(state, to, took), cache=state.cache.put(dict.fromkeys(asked, took)))


@READINGS.register("WA-18", "tried-again", "transitions.refresh_score")
def _try_again_with_new_score(state: State, to: NodeId, took: int) -> State:
    """A node in the tables that gets a new score is tried in all tables with it at once."""
    here = [node.id for node in state.at(to) if node.id in state.known]
    after = refresh_score(state, to, took)
    for node in here:
        after = insert_node(after, after.known[node])
    return after


def _start_without(timer: type[Any]) -> Right:
    """Returns a start that does not set a timer."""

    def initial(right: Right, self_id: NodeId, config: Config) -> Next:
        first = right(self_id, config)
        kept = (one for one in first.effects if not (isinstance(one, SetTimer) and isinstance(one.timer, timer)))
        return first._replace(effects=tuple(kept))

    return initial


def _flush_an_hour_after_the_first(right: Right, state: State, event: Any, pick: Pick) -> Next:
    after = right(state, event, pick)
    if isinstance(event, Expired) and isinstance(event.timer, FlushCache):
        return after._replace(effects=())
    begins = (SetTimer(FlushCache(), CACHE_MS),) if after.state.cache and not state.cache else ()
    return after._replace(effects=(*after.effects, *begins))


READINGS.add(
    "WA-19",
    "another-hour",
    "The hour of the cache begins at another moment, as with its first entry.",
    initial=_start_without(FlushCache),
    step=_flush_an_hour_after_the_first,
    is_open=True,
)


@READINGS.register("WA-20", "all-wait", "proximity.consider_node")
def _nobody_at_once(state: State, node: Node, *, is_leaf: bool) -> State:  # noqa: ARG001  # leaves wait like the others
    """No node enters the leaf set before its score is known."""
    return consider_node(state, node, is_leaf=False)


@READINGS.register("WA-20", "all-are-leaves", "proximity.consider_node")
def _leaves_at_once(state: State, node: Node, *, is_leaf: bool) -> State:  # noqa: ARG001  # wherever a node was met
    """Every new node is tried in the leaf set at once."""
    return consider_node(state, node, is_leaf=True)


@READINGS.register("WA-20", "everywhere-at-once", "proximity.consider_node")
def _everywhere_at_once(state: State, node: Node, *, is_leaf: bool) -> State:
    """Every new node is tried in all tables at once, and moved when its score is known."""
    after = consider_node(state, node, is_leaf=is_leaf)
    return after if is_passed_over(state, node) else insert_node(after, node)


@READINGS.register("WA-22", "any-order", "tables.in_neighborhood_set", is_open=True)
def _latest_of_equals_first(state: State, node: Node) -> tuple[Node, ...]:
    """Neighbours with equal scores stand in any order."""
    members, score = state.neighborhood_set, state.score(node.id)
    before = in_neighborhood_set(state, node)
    if before == members:
        return members
    others = tuple(member for member in members if member.id != node.id)
    index = next((i for i, member in enumerate(others) if score <= state.score(member.id)), len(others))
    return (*others[:index], node, *others[index:])[: state.config.neighborhood_set]


@READINGS.register("WA-23", "regions", "proximity.refresh_score")
def _far_regions(state: State, to: NodeId, took: int) -> State:
    """Scores of nodes in other regions count five times."""
    is_far = any(node.region != state.config.region for node in state.at(to))
    return refresh_score(state, to, 5 * took if is_far else took)


READINGS.add("WA-24", "without-heartbeats", "Nodes are not pinged at regular times.", initial=_start_without(HeartbeatDue))


@READINGS.register("WA-24", "leaves-otherwise", "transitions.on_leave", is_open=True)
def _leave_silently(state: State) -> Next:
    """The document does not say what a node does when it leaves."""
    return Step(replace(state, stage=Stage.LEFT), ())


@READINGS.register("WA-24", "after-more-failures", "transitions.on_sent")
def _wait_for_more_failures(state: State, sent: Sent[Message]) -> Next:
    """A node that has not confirmed one message has not gone yet; the message takes a way without it."""
    if sent.took is not None:
        return on_sent(state, sent)
    there = [node.id for node in state.at(sent.to)]
    without = state = replace(state, measured=state.measured.without([node for node in there if node in state.measured]))
    for node in there:
        without = remove_node(without, node)
    is_forwarded = isinstance(sent.message, Application) or (
        isinstance(sent.message, NodeJoin) and sent.message.header.sender.id != state.id
    )
    after, effects = on_outcome(without if is_forwarded else state, sent.to, sent.message, failed=True)
    return Step(state if is_forwarded else after, effects)


READINGS.add(
    "WA-26",
    "without-timeout",
    "The next row is asked only when all have answered or have gone.",
    instead={"repair.on_repair_timeout": lambda state, _: Step(state)},
)


@READINGS.register("WA-26", "moves-on", "repair.advance_repair")
def _move_on_while_measuring(state: State, cell: Any) -> Next:
    """The next row is asked though a candidate for the cell is still being measured."""
    step = advance_repair(replace(state, measured=Table()), cell)
    return step._replace(state=replace(step.state, measured=state.measured))


def _next_asked(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Asks the first node of those that have not answered, when it is its turn; their ids have the order of their columns."""
    after = right(state, event, pick)
    effects, now = list(after.effects), after.state
    for cell, repair in now.repairs.items() if now is not state else ():
        if not repair.waiting:
            continue
        mask, first = Mask(routing_table=True, rows=cell[:1], columns=cell[1:]), min(repair.waiting)
        old = state.repairs.get(cell)
        question = send(now, now.known[first], NodeRepair(header(now), mask))
        if old is None or old.row != repair.row:
            effects = [effect for effect in effects if effect in question or not _asks_for(effect, mask)]
        elif old.waiting and min(old.waiting) != first:
            effects += [*question, SetTimer(RepairTimeout(*cell), now.config.network_timeout)]
    return after._replace(effects=tuple(effects))


def _asks_for(effect: Effect, mask: Mask) -> bool:
    return isinstance(effect, Send) and isinstance(effect.message, NodeRepair) and effect.message.mask == mask


def _stop_at_the_first_found(state: State, data: StateData) -> State:
    after, entries = record_answer(state, data), data.tables.routing_table or ()
    found = {state.config.ring.cell(state.id, entry.node.id) for entry in entries if not is_passed_over(state, entry.node)}
    done = {cell: repair._replace(waiting=frozenset()) for cell, repair in after.repairs.items() if cell in found}
    return replace(after, repairs=after.repairs.put(done))


def _give_up_on_the_asked(state: State, cell: Any) -> Next:
    repair = state.repairs.get(cell)
    if repair is None:
        return Step(state)
    left = repair._replace(waiting=repair.waiting - {min(repair.waiting, default=state.id)})
    return advance_repair(replace(state, repairs=state.repairs.put({cell: left})), cell)


READINGS.add(
    "WA-26",
    "one-after-the-other",
    "The nodes of a row are asked for a cell one after the other, until one has a node for it.",
    step=_next_asked,
    instead={"transitions.record_answer": _stop_at_the_first_found, "transitions.on_repair_timeout": _give_up_on_the_asked},
)


@READINGS.register("WA-28", "the-other-side", "repair.query_leaf_set")
def _ask_the_other_side(before: State, state: State, gone: Node) -> tuple[Effect, ...]:
    """If a side is empty, the furthest node of the other one is asked."""
    effects: tuple[Effect, ...] = ()
    for old, new, other in zip(before.leaf_set, state.leaf_set, reversed(state.leaf_set), strict=True):
        if len(new) < len(old) and (left := new or other):
            effects += send(state, left[-1], NodeRepair(header(state, gone.id), Mask(leaf_set=True)))
    return effects


READINGS.add(
    "WA-30",
    "forgotten",
    "A departed node is taken back as soon as others mention it.",
    instead={"repair.add_departed": lambda state, _: state.departed},
)


@READINGS.register("WA-33", "dropped", "transitions.on_outcome")
def _drop_what_fails(state: State, to: NodeId, message: Message, *, failed: bool) -> Next:
    """A message that does not reach its next hop is lost."""
    is_own_join = isinstance(message, NodeJoin) and message.header.sender.id == state.id
    if failed and isinstance(message, Application | NodeJoin) and not is_own_join:
        return Step(state)
    return on_outcome(state, to, message, failed=failed)


@READINGS.register("WA-33", "answered-anew", "transitions.on_join_failed")
def _answer_the_join_anew(state: State, join: NodeJoin) -> Next:
    """A join that could not be forwarded is handled once more as it was when it arrived."""
    return on_node_join(state, replace(join, header=replace(join.header, hop=join.header.hop - 1)))


def _sender_last(sender: Node, tables: Tables) -> Iterator[Node]:
    yield from (node for node in nodes_of(tables).values() if node.id != sender.id)
    yield sender


def _with_address(state: State, sender: Node) -> State:
    if is_passed_over(state, sender):
        return state
    state = update_address(state, sender)
    is_elsewhere = state.measured.get(sender.id, sender) != sender
    return replace(state, measured=state.measured.without((sender.id,))) if is_elsewhere else state


def _leaves(tables: Tables) -> set[Id]:
    return {node.id for side in tables.leaf_set or () for node in side}


def _learning(order: Order) -> Callable[[State, Node, Tables], Next]:
    """Handles received tables with their nodes in another order."""

    def learn(state: State, sender: Node, tables: Tables) -> Next:
        state, leaves = _with_address(state, sender), _leaves(tables)
        before = state.measured
        for node in order(sender, tables):
            state = consider_node(state, node, is_leaf=node is sender or node.id in leaves)
        effects: tuple[Effect, ...] = ()
        for node in (node for node in state.measured.values() if node.id not in before):
            effects += send(state, node, Heartbeat(header(state)))
        return Step(state, effects)

    return learn


READINGS.add(
    "WA-34",
    "after-its-tables",
    "The sender of tables is met after the nodes in them.",
    instead={"proximity.learn_tables": _learning(_sender_last)},
)


def _meeting_senders_of(*kinds: type[Any]) -> Callable[[State, Message], Next]:
    """Returns a handler of messages that also evaluates the senders of these kinds for the tables."""

    def meet(state: State, message: Message) -> Next:
        state, effects = on_message(state, message)
        if not isinstance(message, kinds):
            return Step(state, effects)
        after, requests = learn_tables(state, message.header.sender, Tables())
        return Step(after, effects + requests)

    return meet


_ASKING: Final = (NodeRepair, StateRequest)
READINGS.add(
    "WA-34",
    "askers",
    "The sender of a request for tables is met, too.",
    instead={"transitions.on_message": _meeting_senders_of(*_ASKING)},
)
READINGS.add(
    "WA-34",
    "heartbeats",
    "The sender of a heartbeat is met, too.",
    instead={"transitions.on_message": _meeting_senders_of(Heartbeat)},
)
READINGS.add(
    "WA-34",
    "applications",
    "The node that has made a message of an application is met, too.",
    instead={"transitions.on_message": _meeting_senders_of(Application)},
)
READINGS.add(
    "WA-34",
    "every-sender",
    "The sender of a heartbeat, of a request for tables or of a message of an application is met, too.",
    instead={"transitions.on_message": _meeting_senders_of(Heartbeat, Application, *_ASKING)},
)
READINGS.add(
    "WA-36",
    "like-any-other",
    "A join is routed like any other message, to the joiner too, if it is known.",
    instead={"routing.next_hop_of_join": next_hop},
)


@READINGS.register("WA-36", "own-id", "joining.on_node_join")
def _ignore_the_own_id(state: State, join: NodeJoin) -> Next:
    """A node does nothing about a join that has its own id."""
    return Step(state) if join.header.sender.id == state.id else on_node_join(state, join)


@READINGS.register("WA-37", "each", "joining.on_state_data", is_open=True)
def _wait_again(state: State, data: StateData) -> Next:
    """Later leaf sets of a destination start a wait, too."""
    is_waiting = state.stage is Stage.WAITING and data.destination
    return on_state_data(replace(state, stage=Stage.JOINING) if is_waiting else state, data)


@READINGS.register("WA-39", "without-replacements", "tables.with_tables")
def _count_no_replacement(state: State, routing_table: Any, leaf_set: LeafSet, neighborhood: tuple[Node, ...]) -> State:
    """A node that takes the place of another in a cell does not change the version."""
    after = with_tables(state, routing_table, leaf_set, neighborhood)
    if len(routing_table) != len(state.routing_table) or after is state:
        return after
    return replace(after, versions=after.versions._replace(routing_table=state.versions.routing_table))


def _with_reorder_counted(before: State, after: State) -> State:
    old, new = ([node.id for node in state.neighborhood_set] for state in (before, after))
    if old == new or {*old} != {*new}:
        return after
    return replace(after, versions=after.versions._replace(neighborhood_set=before.versions.neighborhood_set + 1))


def _count_reorder_of_insertion(state: State, routing_table: Any, leaf_set: LeafSet, neighborhood: tuple[Node, ...]) -> State:
    return _with_reorder_counted(state, with_tables(state, routing_table, leaf_set, neighborhood))


READINGS.add(
    "WA-39",
    "reorders",
    "A new order of the neighborhood set changes its version.",
    instead={
        "tables.with_tables": _count_reorder_of_insertion,
        "transitions.refresh_score": lambda state, *given: _with_reorder_counted(state, refresh_score(state, *given)),
    },
)


def _with_tables_of(effect: Effect, tables: Tables) -> Effect:
    if isinstance(effect, Send) and isinstance(effect.message, NodeRace):
        return replace(effect, message=replace(effect.message, tables=tables))
    return effect


@READINGS.register("WA-42", "newer-tables", "joining.on_node_announcement")
def _warn_with_what_is_newer(state: State, announcement: NodeAnnouncement) -> Next:
    """A warning has just the tables that are newer."""
    after, effects = on_node_announcement(state, announcement)
    pairs = zip(state.versions, announcement.header.versions, strict=True)
    rt, ls, ns = (mine > theirs for mine, theirs in pairs)
    newer = Mask(routing_table=rt, leaf_set=ls, neighborhood_set=ns)
    return Step(after, tuple(_with_tables_of(effect, select_tables(state, newer)) for effect in effects))


def _with_versions_of(effect: Effect, versions: Versions) -> Effect:
    if not isinstance(effect, Send):
        return effect
    message = effect.message
    return replace(effect, message=replace(message, header=replace(message.header, versions=versions)))


@READINGS.register("WA-42", "versions-of-before", "proximity.learn_tables")
def _say_versions_of_before(state: State, sender: Node, tables: Tables) -> Next:
    """What a node sends on one event has the versions from before it."""
    after, effects = learn_tables(state, sender, tables)
    return Step(after, tuple(_with_versions_of(effect, state.versions) for effect in effects))


@READINGS.register("WA-43", "taken-in", "joining.on_node_announcement")
def _take_in_who_is_warned(state: State, announcement: NodeAnnouncement) -> Next:
    """An announcer is taken in, also if it is warned."""
    after, effects = on_node_announcement(state, announcement)
    if not is_newer(state.versions, announcement.header.versions):
        return Step(after, effects)
    same = replace(announcement, header=replace(announcement.header, versions=state.versions))
    after, more = on_node_announcement(after, same)
    return Step(after, effects + more)


def _apply_warning(state: State, warning: NodeRace) -> Next:
    """Handles a warning, except for the announcement."""
    after, effects = on_node_race(replace(state, stage=Stage.WAITING), warning)
    return Step(replace(after, stage=state.stage), effects)


@READINGS.register("WA-44", "to-the-warner", "joining.on_node_race")
def _announce_to_the_warner(state: State, warning: NodeRace) -> Next:
    """A node that is warned announces itself again to the node that has warned it."""
    after, effects = _apply_warning(state, warning)
    if after.stage is not Stage.JOINED:
        return Step(after, effects)
    sender = warning.header.sender
    about = replace(header(after), versions=after.stored.get(sender.id, NO_VERSIONS))
    return Step(after, effects + send(after, sender, NodeAnnouncement(about, select_tables(after))))


@READINGS.register("WA-45", "latest", "joining.with_versions")
def _keep_the_latest(state: State, sender: Node, versions: Versions) -> State:
    """Of a kept version the one that came last stays."""
    return state if sender.id == state.id else replace(state, stored=state.stored.put({sender.id: versions}))


@READINGS.register("WA-46", "not-yet", "transitions.route_message")
def _route_when_joined(state: State, message: Application, *, is_allowed: bool = False) -> Next:
    """A node that is joining drops what it should route."""
    is_joining = state.stage in (Stage.JOINING, Stage.WAITING)
    return Step(state) if is_joining else route_message(state, message, is_allowed=is_allowed)


@READINGS.register("WA-47", "joiner-is-met", "joining.on_node_join")
def _try_the_joiner(state: State, join: NodeJoin) -> Next:
    """A node that receives a join evaluates the joiner for its tables."""
    state, effects = on_node_join(state, join)
    after, requests = learn_tables(state, join.header.sender, Tables())
    return Step(after, effects + requests)


def _at_once_or_never(state: State, node: Node, *, is_leaf: bool) -> State:
    if is_leaf and not is_passed_over(state, node):
        state = insert_node(state, node, Mask(leaf_set=True))
    return consider_node(state, node, is_leaf=is_leaf)


def _not_in_the_leaf_set(state: State, node: Node, score: int) -> State:
    state = replace(state, scores=state.scores.put({node.id: score}))
    return insert_node(state, node, Mask(routing_table=True, neighborhood_set=True))


READINGS.add(
    "WA-48",
    "leaves-from-leaf-sets",
    "Only nodes of received leaf sets are tried in the leaf set.",
    instead={"proximity.record_score": _not_in_the_leaf_set, "proximity.consider_node": _at_once_or_never},
)


class _Unplaced(Node):
    """Handles a node that is tried in no cell."""


def _learn_cells_from_cells(state: State, sender: Node, tables: Tables) -> Next:
    cells = {entry.node.id for entry in tables.routing_table or ()} | {sender.id}

    def other(node: Node) -> Node:
        return node if node.id in cells else _Unplaced(*node)

    left, right = (tuple(map(other, side)) for side in tables.leaf_set or NO_LEAVES)
    leaf_set = None if tables.leaf_set is None else LeafSet(left, right)
    neighbours = None if tables.neighborhood_set is None else tuple(map(other, tables.neighborhood_set))
    return learn_tables(state, sender, Tables(tables.routing_table, leaf_set, neighbours))


def _place_in_cell(state: State, node: Node) -> Any:
    return state.routing_table if isinstance(node, _Unplaced) else in_routing_table(state, node)


READINGS.add(
    "WA-48",
    "cells-from-routing-tables",
    "Nodes of received leaf and neighborhood sets are not tried in the routing table.",
    instead={"proximity.learn_tables": _learn_cells_from_cells, "tables.in_routing_table": _place_in_cell},
)


@READINGS.register("WA-51", "greater-first", "encode")
def _write_greater_first(right: Callable[[Any], bytes], message: Any) -> bytes:
    """On the wire, the greater ids come first."""
    tables = getattr(message, "tables", None)
    if tables is not None and tables.leaf_set is not None:
        left, right_side = tables.leaf_set
        message = replace(message, tables=tables._replace(leaf_set=LeafSet(right_side, left)))
    return right(message)


def _send_to_whatever_is_said(config: Config, node: Node) -> NodeId:
    near, far = node.local_ip, node.global_ip
    return address_of(config, node) or address((near or far) if node.region == config.region else (far or near), node.port)


def _only_itself_and_the_departed(state: State, node: Node) -> bool:
    return node.id == state.id or node.id in state.departed


READINGS.add(
    "WA-52",
    "no-address",
    "The document does not say what is done about a node that has no address, or the own one.",
    instead={"state.address_of": _send_to_whatever_is_said, "proximity.is_passed_over": _only_itself_and_the_departed},
    is_open=True,
)
READINGS.add(
    "WA-54",
    "another-limit",
    "More nodes are measured at once, or fewer.",
    instead={"proximity.MOST_MEASURED": 2**20},
    is_open=True,
)


@READINGS.register("WA-56", "rows", "joining.forward_join")
def _rows_count_as_hops(state: State, join: NodeJoin) -> tuple[Effect, ...] | None:
    """The rows that a join has skipped at the contact count as hops."""
    about = join.header
    rows = state.config.ring.prefix(state.id, about.sender.id) if about.hop == 1 else 0
    return forward_join(state, replace(join, header=replace(about, hop=about.hop + rows)))


@READINGS.register("WA-56", "joins-only", "transitions.on_application")
def _count_hops_of_joins(state: State, message: Application) -> Next:
    """Only joins count their hops; a message of an application keeps the count that it came with."""
    return route_message(state, message)


@READINGS.register("WA-56", "counted-again", "transitions.on_outcome")
def _count_again(state: State, to: NodeId, message: Message, *, failed: bool) -> Next:
    """A message of an application that is routed once more is counted again."""
    if failed and isinstance(message, Application):
        return route_message(state, replace(message, header=replace(message.header, hop=message.header.hop + 1)))
    return on_outcome(state, to, message, failed=failed)


def _asking_with(change: Callable[[State, NodeRepair], Message]) -> Right:
    """Returns a step that asks for tables with other messages."""

    def ask(right: Right, state: State, event: Any, pick: Pick) -> Next:
        after = right(state, event, pick)
        changed = (
            replace(effect, message=change(state, effect.message))
            if isinstance(effect, Send) and isinstance(effect.message, NodeRepair)
            else effect
            for effect in after.effects
        )
        return after._replace(effects=tuple(changed))

    return ask


READINGS.add(
    "WA-57",
    "own-key",
    "The key of a repair of the leaf set is the own id, as in other repairs.",
    step=_asking_with(lambda state, question: replace(question, header=replace(question.header, key=state.id))),
)
READINGS.add(
    "WA-57",
    "state-requests",
    "Tables are asked for with state requests, whose key is the own id, and not with repairs.",
    step=_asking_with(lambda state, question: StateRequest(replace(question.header, key=state.id), question.mask)),
)


def _both(one: NodeRepair, other: NodeRepair) -> NodeRepair | None:
    """Returns one request for what two ask for; None if they ask for different cells."""
    if one.mask.rows and other.mask.rows:
        return None
    mask: Any = [mine or theirs for mine, theirs in zip(one.mask, other.mask, strict=True)]
    return NodeRepair(one.header if one.mask.leaf_set else other.header, Mask(*mask))


@READINGS.register("WA-57", "one-request", "step")
def _ask_each_node_once(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """
    All that one event has a node ask another one for is asked with one request.

    Its key is that of a repair of the leaf set, if that is asked for.
    """
    after = right(state, event, pick)
    effects: list[Effect] = []
    asked: dict[NodeId, int] = {}
    for effect in after.effects:
        if isinstance(effect, Send) and isinstance(effect.message, NodeRepair):
            place = asked.setdefault(effect.to, len(effects))
            before = effects[place].message if place < len(effects) else None  # type: ignore[union-attr]  # it was sent
            if isinstance(before, NodeRepair) and (both := _both(before, effect.message)):
                effects[place] = replace(effect, message=both)
                continue
        effects.append(effect)
    return after._replace(effects=tuple(effects))


def _tells(effect: Effect, kinds: tuple[type[Any], ...]) -> bool:
    return isinstance(effect, Notify) and isinstance(effect.notice, kinds)


def _without(*kinds: type[Any]) -> Right:
    """Returns a step that does not report these events to the application."""

    def untold(right: Right, state: State, event: Any, pick: Pick) -> Next:
        after = right(state, event, pick)
        return after._replace(effects=tuple(effect for effect in after.effects if not _tells(effect, kinds)))

    return untold


READINGS.add("WA-58", "untold", "The next hop of a message is not reported to the application.", step=_without(Forwarding))


@READINGS.register("WA-59", "at-any-time", "joining.on_join", is_open=True)
def _join_at_any_time(state: State, contact: NodeId) -> Next:
    """The document does not say when a join is refused."""
    try:
        return on_join(state, contact)
    except NotEnabled:
        return Step(state)


def _routing_table_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    leaves, others = tables._replace(routing_table=None, neighborhood_set=None), tables._replace(leaf_set=None)
    cells = others._replace(neighborhood_set=None)
    yield from {**nodes_of(cells), **nodes_of(leaves), **nodes_of(others)}.values()


READINGS.add(
    "WA-60",
    "routing-table-first",
    "The nodes of received tables are met in the order routing table, leaf set, neighborhood set.",
    instead={"proximity.learn_tables": _learning(_routing_table_first)},
)


def _neighbours_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    yield from {**nodes_of(tables._replace(leaf_set=None, routing_table=None)), **nodes_of(tables)}.values()


READINGS.add(
    "WA-60",
    "neighborhood-set-first",
    "The nodes of a received neighborhood set are met first.",
    instead={"proximity.learn_tables": _learning(_neighbours_first)},
)


def _right_leaves_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    left, right = tables.leaf_set or NO_LEAVES
    yield from nodes_of(tables if tables.leaf_set is None else tables._replace(leaf_set=LeafSet(right, left))).values()


READINGS.add(
    "WA-60",
    "right-leaves-first",
    "The greater ids of a received leaf set are met before the lower ones.",
    instead={"proximity.learn_tables": _learning(_right_leaves_first)},
)


@READINGS.register("WA-61", "any-leaf-set", "joining.on_state_data")
def _any_leaf_set(state: State, data: StateData) -> Next:
    """Any leaf set that comes to a joiner starts the wait."""
    return on_state_data(state, replace(data, destination=data.tables.leaf_set is not None))


@READINGS.register("WA-62", "still-there", "step", is_open=True)
def _stand_still_there(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """The document does not say what a node does that has left."""
    if state.stage is not Stage.LEFT:
        return right(state, event, pick)
    after = step(replace(state, stage=Stage.ALONE), event, pick)
    return after._replace(state=replace(after.state, stage=Stage.LEFT))


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {_NAMES.get(name.lower(), name): _named(part) for name, part in value.items()}
    return [_named(part) for part in value] if isinstance(value, list) else value


@READINGS.register("WA-63", "names-in-any-case", "decode")
def _read_names_in_any_case(right: Callable[[bytes], Any], data: bytes) -> Any:
    """Names of members are read whether their letters are small or capital."""
    try:
        envelope = _named(json.loads(data))
        if isinstance(value := envelope.get("Value"), str) and envelope.get("Purpose") in range(3, 8):
            inner = json.dumps(_named(json.loads(a2b_base64(value)))).encode()
            envelope["Value"] = b2a_base64(inner, newline=False).decode()
    except (ValueError, AttributeError, RecursionError):
        return right(data)
    return right(data if len(data) > 2**20 else json.dumps(envelope).encode())


def _announce_at_once(state: State, warning: NodeRace) -> Next:
    after, effects = _apply_warning(state, warning)
    if after.stage is not Stage.JOINED:
        return Step(after, effects)
    after, announcements = announce(after)
    return Step(after, effects + announcements)


READINGS.add(
    "WA-67",
    "at-once",
    "Each warning leads to an announcement of its own, at once.",
    instead={"joining.on_node_race": _announce_at_once},
)
READINGS.add(
    "WA-67",
    "any-time",
    "The document does not say how long a node waits for further warnings before it announces itself again.",
    instead={"joining.on_node_race": _announce_at_once},
    is_open=True,
)
READINGS.add(
    "WA-68",
    "first",
    "A node is known by the address at which it was met first.",
    instead={"tables.update_address": lambda state, _: state},
)


@READINGS.register("WA-68", "hearsay", "proximity.consider_node")
def _take_hearsay(state: State, node: Node, *, is_leaf: bool) -> State:
    """What others say of a node's address replaces what is known of it, too."""
    return consider_node(state if is_passed_over(state, node) else update_address(state, node), node, is_leaf=is_leaf)


def _learn_one_by_one(state: State, sender: Node, tables: Tables) -> Next:
    state, leaves = _with_address(state, sender), _leaves(tables)
    effects: tuple[Effect, ...] = ()
    for node in (sender, *nodes_of(tables).values()):
        before = state
        state = consider_node(state, node, is_leaf=node is sender or node.id in leaves)
        if node.id in state.measured and node.id not in before.measured:
            effects += send(state, node, Heartbeat(header(before)))
            state = insert_node(state, node)
    return Step(state, effects)


READINGS.add(
    "WA-69",
    "one-by-one",
    "A new node is asked and put into the tables before the next one is handled.",
    instead={"proximity.learn_tables": _learn_one_by_one},
)
READINGS.add(
    "WA-69",
    "any-order",
    "The document does not say in which order nodes are met, asked and counted in versions.",
    instead={"proximity.learn_tables": _learn_one_by_one},
    is_open=True,
)
READINGS.add(
    "WA-70",
    "kept",
    "Scores and versions of nodes that are in no table any more are kept.",
    instead={"proximity.prune": lambda state: state},
)


@READINGS.register("WA-71", "the-cell-alone", "repair.record_answer")
def _count_for_the_cell_in_it(state: State, data: StateData) -> State:
    """A routing table with anything but the cell that was asked for is no answer."""
    who, entries = data.header.sender.id, data.tables.routing_table
    if entries is None or not state.repairs:
        return state
    found = {(entry.row, entry.column) for entry in entries}
    repairs = {cell: repair for cell, repair in state.repairs.items() if found <= {cell}}
    return replace(
        state, repairs=state.repairs.put({cell: of._replace(waiting=of.waiting - {who}) for cell, of in repairs.items()})
    )


READINGS.add("WA-72", "without-joined", "The node does not report to the application that it has joined.", step=_without(Joined))
READINGS.add(
    "WA-72",
    "without-join-failed",
    "The node does not report to the application that the contact cannot be reached.",
    step=_without(JoinFailed),
)
READINGS.add(
    "WA-72",
    "without-node-joined",
    "The node does not report to the application that other nodes join.",
    step=_without(NodeJoined),
)
READINGS.add(
    "WA-72",
    "without-node-exited",
    "The node does not report to the application that other nodes have gone.",
    step=_without(NodeExited),
)


@READINGS.register("WA-72", "joined-with-leaf-set", "step")
def _join_with_the_leaf_set(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """The node reports that it has joined when the leaf set of the destination has arrived."""
    after = _without(Joined)(right, state, event, pick)
    has_leaf_set = (state.stage, after.state.stage) == (Stage.JOINING, Stage.WAITING)
    return after._replace(effects=(*after.effects, Notify(Joined()))) if has_leaf_set else after


@READINGS.register("WA-72", "every-announcer", "joining.on_node_announcement")
def _tell_of_every_announcer(state: State, announcement: NodeAnnouncement) -> Next:
    """Every announcement of a node is reported to the application, even if the node is not taken in."""
    after, effects = on_node_announcement(state, announcement)
    if any(_tells(effect, (NodeJoined,)) for effect in effects):
        return Step(after, effects)
    return Step(after, (Notify(NodeJoined(announcement.header.sender)), *effects))


def _one_table_each(data: StateData) -> Iterator[StateData]:
    """Yields a message for each table of a message, in the order in which the document names them."""
    rt, ls, ns = data.tables
    parts = (Tables(routing_table=rt), Tables(neighborhood_set=ns), Tables(leaf_set=ls))
    for tables in [part for part in parts if any(table is not None for table in part)] or [data.tables]:
        yield replace(data, tables=tables, destination=data.destination and tables.leaf_set is not None)


@READINGS.register("WA-74", "one-table-each", "step")
def _send_each_table_alone(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """Each table that is sent to a joiner, or to a node that asks, goes in a message of its own."""
    after = right(state, event, pick)
    effects: list[Effect] = []
    for effect in after.effects:
        if isinstance(effect, Send) and isinstance(effect.message, StateData):
            effects += [replace(effect, message=part) for part in _one_table_each(effect.message)]
        else:
            effects.append(effect)
    return after._replace(effects=tuple(effects))


#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts a sentence that it quotes, or the clause that it names": (
        "WA-01 WA-02 WA-03 WA-05 WA-06 WA-07 WA-10 WA-12 WA-13 WA-14 WA-15 WA-21 WA-25 WA-27 WA-29 WA-35 WA-38 WA-41"
    ),
    "otherwise a joiner would be said to have tables that it has not been sent": "WA-40",
    "the document has no such thing, so that all vectors about it can only differ": ("WA-49 WA-53 WA-55 WA-64 WA-65 WA-66 WA-73"),
    "it may be done, or not": "WA-31",
    "nothing follows from it, and it is not tested": "WA-32 WA-50",
}
