"""
Joining: a node requests the tables of others, waits for the slow ones, and announces itself. [W-45…W-66]

Versions of tables detect races: a node whose tables have changed since it sent them warns the joiner, which announces itself
again.
"""

from __future__ import annotations

from peerproof.spec.core import Duration, NodeId, Notify, Send, SetTimer, Step, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy.messages import (
    MOST_HOPS,
    NO_VERSIONS,
    Announce,
    Effect,
    Joined,
    JoinFailed,
    Mask,
    Message,
    Node,
    NodeAnnouncement,
    NodeJoin,
    NodeJoined,
    NodeRace,
    StateData,
    Versions,
)
from peerproof.spec.wendy.proximity import Next, everybody, header, is_passed_over, learn_tables, send
from peerproof.spec.wendy.routing import next_hop_of_join
from peerproof.spec.wendy.state import Stage, State, host_and_port
from peerproof.spec.wendy.tables import select_tables

#: The wait of a joiner, in network timeouts. [W-58]
WAIT = 2


def on_join(state: State, contact: NodeId) -> Next:
    """Starts a join; a node that is joining or has joined refuses. [W-45, W-47, WA-59]"""
    if state.stage not in (Stage.ALONE, Stage.JOINING) or state.contact is not None:
        raise NotEnabled("not_alone", f"a node joins once, this one is {state.stage.value}")
    host_and_port(contact)
    if contact == state.self_id:
        raise NotEnabled("own_node", "a node cannot join by itself")
    return Step(replace(state, stage=Stage.JOINING, contact=contact), (Send(contact, NodeJoin(header(state))),))


def on_join_sent(state: State, to: NodeId, *, failed: bool) -> Next:
    """The contact has received the join, or is unreachable; then the application may try another one. [WA-59]"""
    if to != state.contact:
        return Step(state)
    state = replace(state, contact=None)
    if not failed or state.stage is not Stage.JOINING:
        return Step(state)
    return Step(replace(state, stage=Stage.ALONE), (Notify(JoinFailed(to)),))


def on_node_join(state: State, join: NodeJoin) -> Next:
    """
    A node wants to join: it gets the routing table, from the first node also the neighborhood set, from the last the leaf set.

    The joiner is added to no table yet [WA-47]. All tables go in one message [WA-74]. A second join is answered again.
    [W-48…W-50]
    """
    hop = min(join.header.hop + 1, MOST_HOPS)
    joiner = join.header.sender
    step = forward_join(state, replace(join, header=replace(join.header, hop=hop)))
    has_arrived = step is None
    mask = Mask(routing_table=True, neighborhood_set=hop == 1, leaf_set=has_arrived)
    answer = send(state, joiner, StateData(header(state), select_tables(state, mask), destination=has_arrived))
    return Step(state, answer + (step or ()))


def forward_join(state: State, join: NodeJoin) -> tuple[Effect, ...] | None:
    """Returns a join forwarded to the next node; None if this is the destination. [W-47, WA-36]"""
    node = next_hop_of_join(state, join.header.sender.id)
    return None if node is None else send(state, node, join)


def on_join_failed(state: State, join: NodeJoin) -> Next:
    """A join that could not be forwarded takes another route, or ends here; the tables were sent before. [WA-33]"""
    effects = forward_join(state, join)
    if effects is None:
        mask = Mask(leaf_set=True)
        effects = send(state, join.header.sender, StateData(header(state), select_tables(state, mask), destination=True))
    return Step(state, effects)


def on_state_data(state: State, data: StateData) -> Next:
    """
    A node has sent its tables and their versions. [W-51…W-56, W-62, W-63]

    The first tables from the destination of the node's own join start the wait; later ones are still applied.
    [W-58, W-59, WA-37, WA-61]
    """
    state, effects = learn_tables(with_versions(state, data.header.sender, data.header.versions), data.header.sender, data.tables)
    if data.destination and state.stage is Stage.JOINING:
        state = replace(state, stage=Stage.WAITING)
        effects += (SetTimer(Announce(), Duration(WAIT * state.config.network_timeout)),)
    return Step(state, effects)


def with_versions(state: State, sender: Node, versions: Versions) -> State:
    """Returns the node with the versions of another's tables; of each, the larger is kept. [W-63, WA-45]"""
    if sender.id == state.id:
        return state
    known = state.stored.get(sender.id, NO_VERSIONS)
    return replace(state, stored=state.stored.put({sender.id: Versions(*map(max, known, versions))}))


def on_announce(state: State) -> Next:
    """The wait is over: the node announces itself to all known nodes. [W-58, W-60, WA-37]"""
    if state.stage is not Stage.WAITING:
        return Step(state)
    state, effects = announce(replace(state, stage=Stage.JOINED))
    return Step(state, (*effects, Notify(Joined())))


def announce(state: State) -> Next:
    """Sends each known node the own tables, and the known versions of its tables. [W-60, W-61, WA-40, WA-44]"""
    tables, own = select_tables(state), header(state)
    effects: tuple[Send[Message], ...] = ()
    for node in everybody(state):
        versions = state.stored.get(node.id, NO_VERSIONS)
        effects += send(state, node, NodeAnnouncement(replace(own, versions=versions), tables))
    return Step(replace(state, announcing=frozenset(effect.to for effect in effects), is_warned=False), effects)


def announce_again(state: State) -> Next:
    """
    Repeats the announcement after a warning, but not before the last one has arrived at all nodes. [W-65, WA-67]

    So several warnings lead to one announcement. If each led to its own, most of these would lack the tables of the others and
    cause more warnings: of twenty nodes that know each other, the last would send thousands of messages to join.
    """
    return announce(state) if state.is_warned and not state.announcing else Step(state)


def on_announcement_sent(state: State, to: NodeId) -> Next:
    """An announcement has arrived, or has failed. [WA-67]"""
    return announce_again(replace(state, announcing=state.announcing - {to}))


def on_node_announcement(state: State, announcement: NodeAnnouncement) -> Next:
    """
    A node has joined. If any own table is newer than it knows, it gets a warning and is not added. [W-64, W-66, WA-41…WA-43]

    Otherwise it and the nodes of its tables are added. The versions in the message are this node's, not the sender's. A duplicate
    announcement is a race if the first one changed a table. A departed node is back [WA-30].
    """
    sender, versions = announcement.header.sender, announcement.header.versions
    state = replace(state, departed=state.departed - {sender.id}) if sender.id in state.departed else state
    if is_newer(state.versions, versions):
        return Step(state, send(state, sender, NodeRace(header(state), select_tables(state))))
    is_taken_in = not is_passed_over(state, sender)
    state, effects = learn_tables(state, sender, announcement.tables)
    return Step(state, (Notify(NodeJoined(sender)), *effects) if is_taken_in else effects)  # [WA-72]


def is_newer(own: Versions, included: Versions) -> bool:
    """Whether any own table is newer than the included version. [W-64, WA-41]"""
    return any(mine > theirs for mine, theirs in zip(own, included, strict=True))


def on_node_race(state: State, warning: NodeRace) -> Next:
    """The announcement met newer tables: the node applies them, and announces itself again. [W-65, WA-44, WA-67]"""
    sender = warning.header.sender
    state, effects = learn_tables(with_versions(state, sender, warning.header.versions), sender, warning.tables)
    if state.stage is not Stage.JOINED:
        return Step(state, effects)
    state, announcements = announce_again(replace(state, is_warned=True))
    return Step(state, effects + announcements)
