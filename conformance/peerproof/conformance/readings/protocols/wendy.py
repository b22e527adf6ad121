"""Other readings of Wendy's document."""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from peerproof.conformance.readings.reading import Reading
from peerproof.spec.core import Expired, NodeId, Notify, Pick, Send, SetTimer, Step, Table
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
    StateData,
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
from peerproof.spec.wendy.repair import advance_repair
from peerproof.spec.wendy.routing import leaf_span, next_hop
from peerproof.spec.wendy.state import CACHE_MS, Config, Stage, State, address, address_of
from peerproof.spec.wendy.tables import (
    in_neighborhood_set,
    in_routing_table,
    insert_node,
    nodes_of,
    select_tables,
    update_address,
    with_tables,
)
from peerproof.spec.wendy.transitions import on_outcome, route_message, step

Right: TypeAlias = Callable[..., Next]


def _without(*kinds: type[Any]) -> Right:
    """Returns a step that does not report these events to the application."""

    def untold(right: Right, state: State, event: Any, pick: Pick) -> Next:
        after = right(state, event, pick)
        return after._replace(effects=tuple(effect for effect in after.effects if not _tells(effect, kinds)))

    return untold


def _tells(effect: Effect, kinds: tuple[type[Any], ...]) -> bool:
    return isinstance(effect, Notify) and isinstance(effect.notice, kinds)


def _opposite_is_lower(ring: Ring, own: Id, other: Id) -> bool:
    return 0 < ring.clockwise(own, other) < ring.size // 2


def rank_above_first(ring: Ring, node: Id, key: Id) -> int:
    """Returns the rank of a node for a key, the smaller the closer; of two equally close ones the one above is closer."""
    below = (key - node) % ring.size
    above = ring.size - below
    return 2 * below + 1 if below < above else 2 * above


def _unknown_is_best(state: State, node: Id) -> tuple[bool, int]:
    return False, state.scores.get(node, -1)


def _newcomer_takes_the_cell(state: State, node: Node) -> Any:
    cell = state.config.ring.cell(state.id, node.id)
    there = state.routing_table.get(cell)
    if there is None or (there.id != node.id and state.score(node.id) <= state.score(there.id)):
        return state.routing_table.put({cell: node})
    return state.routing_table


def _cache_what_was_asked(state: State, to: NodeId, took: int) -> State:
    asked = [node.id for node in state.at(to) if node.id in state.measured]
    return replace(refresh_score(state, to, took), cache=state.cache.put(dict.fromkeys(asked, took)))


def _flush_only_when_set(right: Right, self_id: NodeId, config: Config) -> Next:
    first = right(self_id, config)
    return first._replace(effects=tuple(effect for effect in first.effects if not _sets(effect, FlushCache)))


def _flush_an_hour_after_the_first(right: Right, state: State, event: Any, pick: Pick) -> Next:
    after = right(state, event, pick)
    if isinstance(event, Expired) and isinstance(event.timer, FlushCache):
        return after._replace(effects=())
    begins = (SetTimer(FlushCache(), CACHE_MS),) if after.state.cache and not state.cache else ()
    return after._replace(effects=(*after.effects, *begins))


def _sets(effect: Effect, timer: type[Any]) -> bool:
    return isinstance(effect, SetTimer) and isinstance(effect.timer, timer)


def _nobody_at_once(state: State, node: Node, *, is_leaf: bool) -> State:  # noqa: ARG001  # leaves wait like the others
    return consider_node(state, node, is_leaf=False)


def _leaves_at_once(state: State, node: Node, *, is_leaf: bool) -> State:  # noqa: ARG001  # wherever a node was met
    return consider_node(state, node, is_leaf=True)


def _everywhere_at_once(state: State, node: Node, *, is_leaf: bool) -> State:
    after = consider_node(state, node, is_leaf=is_leaf)
    return after if is_passed_over(state, node) else insert_node(after, node)


def _latest_of_equals_first(state: State, node: Node) -> tuple[Node, ...]:
    members, score = state.neighborhood_set, state.score(node.id)
    before = in_neighborhood_set(state, node)
    if before == members:
        return members
    others = tuple(member for member in members if member.id != node.id)
    index = next((i for i, member in enumerate(others) if score <= state.score(member.id)), len(others))
    return (*others[:index], node, *others[index:])[: state.config.neighborhood_set]


def _far_regions(state: State, to: NodeId, took: int) -> State:
    is_far = any(node.region != state.config.region for node in state.at(to))
    return refresh_score(state, to, 5 * took if is_far else took)


def _no_heartbeats(right: Right, self_id: NodeId, config: Config) -> Next:
    first = right(self_id, config)
    return first._replace(effects=tuple(effect for effect in first.effects if not _sets(effect, HeartbeatDue)))


def _leave_silently(state: State) -> Next:
    return Step(replace(state, stage=Stage.LEFT), ())


def _move_on_while_measuring(state: State, cell: Any) -> Next:
    step = advance_repair(replace(state, measured=Table()), cell)
    return step._replace(state=replace(step.state, measured=state.measured))


def _ask_the_other_side(before: State, state: State, gone: Node) -> tuple[Effect, ...]:
    effects: tuple[Effect, ...] = ()
    for old, new, other in zip(before.leaf_set, state.leaf_set, reversed(state.leaf_set), strict=True):
        if len(new) < len(old) and (left := new or other):
            effects += send(state, left[-1], NodeRepair(header(state, gone.id), Mask(leaf_set=True)))
    return effects


def _drop_what_fails(state: State, to: NodeId, message: Message, *, failed: bool) -> Next:
    is_own_join = isinstance(message, NodeJoin) and message.header.sender.id == state.id
    if failed and isinstance(message, Application | NodeJoin) and not is_own_join:
        return Step(state)
    return on_outcome(state, to, message, failed=failed)


def _stand_still_there(right: Right, state: State, event: Any, pick: Pick) -> Next:
    if state.stage is not Stage.LEFT:
        return right(state, event, pick)
    after = step(replace(state, stage=Stage.ALONE), event, pick)
    return after._replace(state=replace(after.state, stage=Stage.LEFT))


def _closest_of_the_row(state: State, key: Id) -> Node | None:
    closer = _closer_by_cells(state, key)
    return min(closer, key=lambda found: (found[0], found[2]))[3] if closer else next_hop(state, key)


def _last_of_the_row(state: State, key: Id) -> Node | None:
    closer = _closer_by_cells(state, key)
    return min(closer, key=lambda found: (found[0], -found[1]))[3] if closer else next_hop(state, key)


def _closer_by_cells(state: State, key: Id) -> list[tuple[int, int, int, Node]]:
    """Returns row, column, rank and node of the entries that are tried after the cell of the key; none if that is skipped."""
    ring = state.config.ring
    if key == state.id or leaf_span(state, key) is not None or (cell := ring.cell(state.id, key)) in state.routing_table:
        return []
    ranked = [(row, column, ring.rank(node.id, key), node) for (row, column), node in state.routing_table.items()]
    return [found for found in ranked if found[0] >= cell[0] and found[2] < ring.rank(state.id, key)]


Order: TypeAlias = Callable[[Node, Tables], Iterable[Node]]


def _sender_last(sender: Node, tables: Tables) -> Iterator[Node]:
    yield from (node for node in nodes_of(tables).values() if node.id != sender.id)
    yield sender


def _routing_table_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    leaves, others = tables._replace(routing_table=None, neighborhood_set=None), tables._replace(leaf_set=None)
    cells = others._replace(neighborhood_set=None)
    yield from {**nodes_of(cells), **nodes_of(leaves), **nodes_of(others)}.values()


def _neighbours_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    yield from {**nodes_of(tables._replace(leaf_set=None, routing_table=None)), **nodes_of(tables)}.values()


def _right_leaves_first(sender: Node, tables: Tables) -> Iterator[Node]:
    yield sender
    left, right = tables.leaf_set or NO_LEAVES
    yield from nodes_of(tables if tables.leaf_set is None else tables._replace(leaf_set=LeafSet(right, left))).values()


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


def _with_address(state: State, sender: Node) -> State:
    if is_passed_over(state, sender):
        return state
    state = update_address(state, sender)
    is_elsewhere = state.measured.get(sender.id, sender) != sender
    return replace(state, measured=state.measured.without((sender.id,))) if is_elsewhere else state


def _leaves(tables: Tables) -> set[Id]:
    return {node.id for side in tables.leaf_set or () for node in side}


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


def _say_versions_of_before(state: State, sender: Node, tables: Tables) -> Next:
    after, effects = learn_tables(state, sender, tables)
    return Step(after, tuple(_with_versions_of(effect, state.versions) for effect in effects))


def _with_versions_of(effect: Effect, versions: Versions) -> Effect:
    if not isinstance(effect, Send):
        return effect
    message = effect.message
    return replace(effect, message=replace(message, header=replace(message.header, versions=versions)))


def _ignore_the_own_id(state: State, join: NodeJoin) -> Next:
    return Step(state) if join.header.sender.id == state.id else on_node_join(state, join)


def _wait_again(state: State, data: StateData) -> Next:
    is_waiting = state.stage is Stage.WAITING and data.destination
    return on_state_data(replace(state, stage=Stage.JOINING) if is_waiting else state, data)


def _count_no_replacement(state: State, routing_table: Any, leaf_set: LeafSet, neighborhood: tuple[Node, ...]) -> State:
    after = with_tables(state, routing_table, leaf_set, neighborhood)
    if len(routing_table) != len(state.routing_table) or after is state:
        return after
    return replace(after, versions=after.versions._replace(routing_table=state.versions.routing_table))


def _warn_with_what_is_newer(state: State, announcement: NodeAnnouncement) -> Next:
    after, effects = on_node_announcement(state, announcement)
    pairs = zip(state.versions, announcement.header.versions, strict=True)
    rt, ls, ns = (mine > theirs for mine, theirs in pairs)
    newer = Mask(routing_table=rt, leaf_set=ls, neighborhood_set=ns)
    return Step(after, tuple(_with_tables_of(effect, select_tables(state, newer)) for effect in effects))


def _with_tables_of(effect: Effect, tables: Tables) -> Effect:
    if isinstance(effect, Send) and isinstance(effect.message, NodeRace):
        return replace(effect, message=replace(effect.message, tables=tables))
    return effect


def _take_in_who_is_warned(state: State, announcement: NodeAnnouncement) -> Next:
    after, effects = on_node_announcement(state, announcement)
    if not is_newer(state.versions, announcement.header.versions):
        return Step(after, effects)
    same = replace(announcement, header=replace(announcement.header, versions=state.versions))
    after, more = on_node_announcement(after, same)
    return Step(after, effects + more)


def _tell_of_every_announcer(state: State, announcement: NodeAnnouncement) -> Next:
    after, effects = on_node_announcement(state, announcement)
    if any(_tells(effect, (NodeJoined,)) for effect in effects):
        return Step(after, effects)
    return Step(after, (Notify(NodeJoined(announcement.header.sender)), *effects))


def _announce_at_once(state: State, warning: NodeRace) -> Next:
    after, effects = _apply_warning(state, warning)
    if after.stage is not Stage.JOINED:
        return Step(after, effects)
    after, announcements = announce(after)
    return Step(after, effects + announcements)


def _announce_to_the_warner(state: State, warning: NodeRace) -> Next:
    after, effects = _apply_warning(state, warning)
    if after.stage is not Stage.JOINED:
        return Step(after, effects)
    sender = warning.header.sender
    about = replace(header(after), versions=after.stored.get(sender.id, NO_VERSIONS))
    return Step(after, effects + send(after, sender, NodeAnnouncement(about, select_tables(after))))


def _apply_warning(state: State, warning: NodeRace) -> Next:
    """Handles a warning, except for the announcement."""
    after, effects = on_node_race(replace(state, stage=Stage.WAITING), warning)
    return Step(replace(after, stage=state.stage), effects)


def _keep_the_latest(state: State, sender: Node, versions: Versions) -> State:
    return state if sender.id == state.id else replace(state, stored=state.stored.put({sender.id: versions}))


def _route_when_joined(state: State, message: Application, *, is_allowed: bool = False) -> Next:
    is_joining = state.stage in (Stage.JOINING, Stage.WAITING)
    return Step(state) if is_joining else route_message(state, message, is_allowed=is_allowed)


def _try_the_joiner(state: State, join: NodeJoin) -> Next:
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


def _write_greater_first(right: Callable[[Any], bytes], message: Any) -> bytes:
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


def _rows_count_as_hops(state: State, join: NodeJoin) -> tuple[Effect, ...] | None:
    about = join.header
    rows = state.config.ring.prefix(state.id, about.sender.id) if about.hop == 1 else 0
    return forward_join(state, replace(join, header=replace(about, hop=about.hop + rows)))


def _join_at_any_time(state: State, contact: NodeId) -> Next:
    try:
        return on_join(state, contact)
    except NotEnabled:
        return Step(state)


def _any_leaf_set(state: State, data: StateData) -> Next:
    return on_state_data(state, replace(data, destination=data.tables.leaf_set is not None))


#: Lower-case name -> the member's name.
_NAMES: Final = {name.lower(): name for names in (ENVELOPE, NODE, TABLES, MASK) for name in names}


def _read_names_in_any_case(right: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        envelope = _named(json.loads(data))
        if isinstance(value := envelope.get("Value"), str) and envelope.get("Purpose") in range(3, 8):
            inner = json.dumps(_named(json.loads(a2b_base64(value)))).encode()
            envelope["Value"] = b2a_base64(inner, newline=False).decode()
    except (ValueError, AttributeError, RecursionError):
        return right(data)
    return right(data if len(data) > 2**20 else json.dumps(envelope).encode())


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        return {_NAMES.get(name.lower(), name): _named(part) for name, part in value.items()}
    return [_named(part) for part in value] if isinstance(value, list) else value


def _take_hearsay(state: State, node: Node, *, is_leaf: bool) -> State:
    return consider_node(state if is_passed_over(state, node) else update_address(state, node), node, is_leaf=is_leaf)


def _count_for_the_cell_in_it(state: State, data: StateData) -> State:
    who, entries = data.header.sender.id, data.tables.routing_table
    if entries is None or not state.repairs:
        return state
    found = {(entry.row, entry.column) for entry in entries}
    repairs = {cell: repair for cell, repair in state.repairs.items() if found <= {cell}}
    return replace(
        state, repairs=state.repairs.put({cell: of._replace(waiting=of.waiting - {who}) for cell, of in repairs.items()})
    )


READINGS: Final = (
    Reading(
        clause="WA-04",
        name="lower",
        text="The id exactly opposite is lower, seen from either end.",
        instead={"ids.Ring.is_right": _opposite_is_lower},
    ),
    Reading(
        clause="WA-08",
        name="steps-alone",
        text="After the document's steps the message is delivered, though a leaf may be closer.",
        instead={"routing.leaf_ends": lambda _: ()},
    ),
    Reading(
        clause="WA-09",
        name="above",
        text="Of two nodes that are equally far from a key, the one above it is closer.",
        instead={"ids.Ring.rank": rank_above_first},
    ),
    Reading(
        clause="WA-11",
        name="closest",
        text="Of the nodes in a row that are closer to the key the closest is taken.",
        instead={"routing.next_hop": _closest_of_the_row},
    ),
    Reading(
        clause="WA-11",
        name="last",
        text="A row is searched from its last column on.",
        instead={"routing.next_hop": _last_of_the_row},
    ),
    Reading(
        clause="WA-16",
        name="best",
        text="An unknown score is better than any that was measured.",
        instead={"state.State.score": _unknown_is_best},
    ),
    Reading(
        clause="WA-17",
        name="newcomer",
        text="Of two nodes with equal scores the one that comes later gets the cell.",
        instead={"tables.in_routing_table": _newcomer_takes_the_cell},
    ),
    Reading(
        clause="WA-18",
        name="requests-are-cached",
        text="The cache has what the requests to unknown nodes took; other messages are not written to it.",
        instead={"proximity.refresh_score": _cache_what_was_asked},
    ),
    Reading(
        clause="WA-19",
        name="another-hour",
        text="The hour of the cache begins at another moment, as with its first entry.",
        initial=_flush_only_when_set,
        step=_flush_an_hour_after_the_first,
        is_open=True,
    ),
    Reading(
        clause="WA-20",
        name="all-wait",
        text="No node enters the leaf set before its score is known.",
        instead={"proximity.consider_node": _nobody_at_once},
    ),
    Reading(
        clause="WA-20",
        name="all-are-leaves",
        text="Every new node is tried in the leaf set at once.",
        instead={"proximity.consider_node": _leaves_at_once},
    ),
    Reading(
        clause="WA-20",
        name="everywhere-at-once",
        text="Every new node is tried in all tables at once, and moved when its score is known.",
        instead={"proximity.consider_node": _everywhere_at_once},
    ),
    Reading(
        clause="WA-22",
        name="any-order",
        text="Neighbours with equal scores stand in any order.",
        instead={"tables.in_neighborhood_set": _latest_of_equals_first},
        is_open=True,
    ),
    Reading(
        clause="WA-23",
        name="regions",
        text="Scores of nodes in other regions count five times.",
        instead={"proximity.refresh_score": _far_regions},
    ),
    Reading(
        clause="WA-24",
        name="without-heartbeats",
        text="Nodes are not pinged at regular times.",
        initial=_no_heartbeats,
    ),
    Reading(
        clause="WA-24",
        name="leaves-otherwise",
        text="The document does not say what a node does when it leaves.",
        instead={"transitions.on_leave": _leave_silently},
        is_open=True,
    ),
    Reading(
        clause="WA-26",
        name="without-timeout",
        text="The next row is asked only when all have answered or have gone.",
        instead={"repair.on_repair_timeout": lambda state, _: Step(state)},
    ),
    Reading(
        clause="WA-26",
        name="moves-on",
        text="The next row is asked though a candidate for the cell is still being measured.",
        instead={"repair.advance_repair": _move_on_while_measuring},
    ),
    Reading(
        clause="WA-28",
        name="the-other-side",
        text="If a side is empty, the furthest node of the other one is asked.",
        instead={"repair.query_leaf_set": _ask_the_other_side},
    ),
    Reading(
        clause="WA-30",
        name="forgotten",
        text="A departed node is taken back as soon as others mention it.",
        instead={"repair.add_departed": lambda state, _: state.departed},
    ),
    Reading(
        clause="WA-33",
        name="dropped",
        text="A message that does not reach its next hop is lost.",
        instead={"transitions.on_outcome": _drop_what_fails},
    ),
    Reading(
        clause="WA-34",
        name="after-its-tables",
        text="The sender of tables is met after the nodes in them.",
        instead={"proximity.learn_tables": _learning(_sender_last)},
    ),
    Reading(
        clause="WA-36",
        name="like-any-other",
        text="A join is routed like any other message, to the joiner too, if it is known.",
        instead={"routing.next_hop_of_join": next_hop},
    ),
    Reading(
        clause="WA-36",
        name="own-id",
        text="A node does nothing about a join that has its own id.",
        instead={"joining.on_node_join": _ignore_the_own_id},
    ),
    Reading(
        clause="WA-37",
        name="each",
        text="Later leaf sets of a destination start a wait, too.",
        instead={"joining.on_state_data": _wait_again},
        is_open=True,
    ),
    Reading(
        clause="WA-39",
        name="without-replacements",
        text="A node that takes the place of another in a cell does not change the version.",
        instead={"tables.with_tables": _count_no_replacement},
    ),
    Reading(
        clause="WA-42",
        name="newer-tables",
        text="A warning has just the tables that are newer.",
        instead={"joining.on_node_announcement": _warn_with_what_is_newer},
    ),
    Reading(
        clause="WA-42",
        name="versions-of-before",
        text="What a node sends on one event has the versions from before it.",
        instead={"proximity.learn_tables": _say_versions_of_before},
    ),
    Reading(
        clause="WA-43",
        name="taken-in",
        text="An announcer is taken in, also if it is warned.",
        instead={"joining.on_node_announcement": _take_in_who_is_warned},
    ),
    Reading(
        clause="WA-44",
        name="to-the-warner",
        text="A node that is warned announces itself again to the node that has warned it.",
        instead={"joining.on_node_race": _announce_to_the_warner},
    ),
    Reading(
        clause="WA-45",
        name="latest",
        text="Of a kept version the one that came last stays.",
        instead={"joining.with_versions": _keep_the_latest},
    ),
    Reading(
        clause="WA-46",
        name="not-yet",
        text="A node that is joining drops what it should route.",
        instead={"transitions.route_message": _route_when_joined},
    ),
    Reading(
        clause="WA-47",
        name="joiner-is-met",
        text="A node that receives a join evaluates the joiner for its tables.",
        instead={"joining.on_node_join": _try_the_joiner},
    ),
    Reading(
        clause="WA-48",
        name="leaves-from-leaf-sets",
        text="Only nodes of received leaf sets are tried in the leaf set.",
        instead={"proximity.record_score": _not_in_the_leaf_set, "proximity.consider_node": _at_once_or_never},
    ),
    Reading(
        clause="WA-48",
        name="cells-from-routing-tables",
        text="Nodes of received leaf and neighborhood sets are not tried in the routing table.",
        instead={"proximity.learn_tables": _learn_cells_from_cells, "tables.in_routing_table": _place_in_cell},
    ),
    Reading(
        clause="WA-51",
        name="greater-first",
        text="On the wire, the greater ids come first.",
        encode=_write_greater_first,
    ),
    Reading(
        clause="WA-52",
        name="no-address",
        text="The document does not say what is done about a node that has no address, or the own one.",
        instead={"state.address_of": _send_to_whatever_is_said, "proximity.is_passed_over": _only_itself_and_the_departed},
        is_open=True,
    ),
    Reading(
        clause="WA-54",
        name="another-limit",
        text="More nodes are measured at once, or fewer.",
        instead={"proximity.MOST_MEASURED": 2**20},
        is_open=True,
    ),
    Reading(
        clause="WA-56",
        name="rows",
        text="The rows that a join has skipped at the contact count as hops.",
        instead={"joining.forward_join": _rows_count_as_hops},
    ),
    Reading(
        clause="WA-58",
        name="untold",
        text="The next hop of a message is not reported to the application.",
        step=_without(Forwarding),
    ),
    Reading(
        clause="WA-59",
        name="at-any-time",
        text="The document does not say when a join is refused.",
        instead={"joining.on_join": _join_at_any_time},
        is_open=True,
    ),
    Reading(
        clause="WA-60",
        name="routing-table-first",
        text="The nodes of received tables are met in the order routing table, leaf set, neighborhood set.",
        instead={"proximity.learn_tables": _learning(_routing_table_first)},
    ),
    Reading(
        clause="WA-60",
        name="neighborhood-set-first",
        text="The nodes of a received neighborhood set are met first.",
        instead={"proximity.learn_tables": _learning(_neighbours_first)},
    ),
    Reading(
        clause="WA-60",
        name="right-leaves-first",
        text="The greater ids of a received leaf set are met before the lower ones.",
        instead={"proximity.learn_tables": _learning(_right_leaves_first)},
    ),
    Reading(
        clause="WA-61",
        name="any-leaf-set",
        text="Any leaf set that comes to a joiner starts the wait.",
        instead={"joining.on_state_data": _any_leaf_set},
    ),
    Reading(
        clause="WA-62",
        name="still-there",
        text="The document does not say what a node does that has left.",
        step=_stand_still_there,
        is_open=True,
    ),
    Reading(
        clause="WA-63",
        name="names-in-any-case",
        text="Names of members are read whether their letters are small or capital.",
        decode=_read_names_in_any_case,
    ),
    Reading(
        clause="WA-67",
        name="at-once",
        text="Each warning leads to an announcement of its own, at once.",
        instead={"joining.on_node_race": _announce_at_once},
    ),
    Reading(
        clause="WA-67",
        name="any-time",
        text="The document does not say how long a node waits for further warnings before it announces itself again.",
        instead={"joining.on_node_race": _announce_at_once},
        is_open=True,
    ),
    Reading(
        clause="WA-68",
        name="first",
        text="A node is known by the address at which it was met first.",
        instead={"tables.update_address": lambda state, _: state},
    ),
    Reading(
        clause="WA-68",
        name="hearsay",
        text="What others say of a node's address replaces what is known of it, too.",
        instead={"proximity.consider_node": _take_hearsay},
    ),
    Reading(
        clause="WA-69",
        name="one-by-one",
        text="A new node is asked and put into the tables before the next one is handled.",
        instead={"proximity.learn_tables": _learn_one_by_one},
    ),
    Reading(
        clause="WA-69",
        name="any-order",
        text="The document does not say in which order nodes are met, asked and counted in versions.",
        instead={"proximity.learn_tables": _learn_one_by_one},
        is_open=True,
    ),
    Reading(
        clause="WA-70",
        name="kept",
        text="Scores and versions of nodes that are in no table any more are kept.",
        instead={"proximity.prune": lambda state: state},
    ),
    Reading(
        clause="WA-71",
        name="the-cell-alone",
        text="A routing table with anything but the cell that was asked for is no answer.",
        instead={"repair.record_answer": _count_for_the_cell_in_it},
    ),
    Reading(
        clause="WA-72",
        name="without-joined",
        text="The node does not report to the application that it has joined.",
        step=_without(Joined),
    ),
    Reading(
        clause="WA-72",
        name="without-join-failed",
        text="The node does not report to the application that the contact cannot be reached.",
        step=_without(JoinFailed),
    ),
    Reading(
        clause="WA-72",
        name="without-node-joined",
        text="The node does not report to the application that other nodes join.",
        step=_without(NodeJoined),
    ),
    Reading(
        clause="WA-72",
        name="without-node-exited",
        text="The node does not report to the application that other nodes have gone.",
        step=_without(NodeExited),
    ),
    Reading(
        clause="WA-72",
        name="every-announcer",
        text="Every announcement of a node is reported to the application, even if the node is not taken in.",
        instead={"joining.on_node_announcement": _tell_of_every_announcer},
    ),
)

#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts a sentence that it quotes, or the clause that it names": (
        "WA-01 WA-02 WA-03 WA-05 WA-06 WA-07 WA-10 WA-12 WA-13 WA-14 WA-15 WA-21 WA-25 WA-27 WA-29 WA-35 WA-38 WA-41"
    ),
    "otherwise a joiner would be said to have tables that it has not been sent": "WA-40",
    "the document has no such thing, so that all vectors about it can only differ": (
        "WA-49 WA-53 WA-55 WA-57 WA-64 WA-65 WA-66 WA-73"
    ),
    "it may be done, or not": "WA-31",
    "nothing follows from it, and it is not tested": "WA-32 WA-50",
}
