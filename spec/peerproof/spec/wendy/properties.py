"""
Properties of every run of Wendy, and reachability checks.

WI- names are those of `spec/wendy.md`. Properties of a cluster at rest hold only if no node has left it, and only on rings where
no node has all others on one side of itself and more of them than fit [WX-07].
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from peerproof.spec.core import Asked, Expired, Notify, Received, Send, Sent
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.wendy import messages
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.joining import is_newer
from peerproof.spec.wendy.routing import closest, next_hop_of_join
from peerproof.spec.wendy.snapshot import find_inconsistency
from peerproof.spec.wendy.state import Stage, State, address_of
from peerproof.spec.wendy.transitions import is_admitted


def tables_right(state: State) -> bool:
    """No node is in its own tables; all entries are in their proper places, in tables within their size limits."""
    return find_inconsistency(state) is None


def scores_of_known(state: State) -> bool:
    """Scores and versions are of nodes in the tables, versions also of nodes being measured; no departed node is known."""
    known = set(state.known)
    return (
        set(state.scores) <= known
        and set(state.stored) <= known | set(state.measured)
        and not state.departed & (known | set(state.measured))
    )


def versions_grow(taken: Taken) -> bool:
    """No version decreases, and a version stays the same only if its table has the same members."""
    before, after = taken.before, taken.after
    return all(
        new >= old and (new > old or one == other)
        for old, new, one, other in zip(before.versions, after.versions, members(before), members(after), strict=True)
    )


def members(state: State) -> tuple[frozenset[Id], frozenset[Id], frozenset[Id]]:
    """Returns the ids in each table."""
    return (
        frozenset(node.id for node in state.routing_table.values()),
        frozenset(node.id for side in state.leaf_set for node in side),
        frozenset(node.id for node in state.neighborhood_set),
    )


def stored_versions_real(cluster: Cluster) -> bool:
    """No node knows a larger version of a node's table than the node's own."""
    own = {state.id: state.versions for state in cluster.nodes.values()}
    return all(
        not is_newer(versions, own[node])
        for state in cluster.nodes.values()
        for node, versions in state.stored.items()
        if node in own
    )


def only_fresh_accepted(taken: Taken) -> bool:
    """An announcement without the newest version of each table changes no table, and is answered with a warning."""
    message = _incoming_message(taken)
    if not isinstance(message, messages.NodeAnnouncement) or not is_newer(taken.before.versions, message.header.versions):
        return True
    return taken.after.versions == taken.before.versions and (
        any(isinstance(sent, messages.NodeRace) for sent in _messages_sent(taken))
        or address_of(taken.before.config, message.header.sender) is None
    )


def join_answered(taken: Taken) -> bool:
    """Each receiver of a join sends its routing table, the first its neighborhood set, and only the last its leaf set."""
    message = _incoming_message(taken)
    if not isinstance(message, messages.NodeJoin) or address_of(taken.before.config, message.header.sender) is None:
        return True
    answers = [sent for sent in _messages_sent(taken) if isinstance(sent, messages.StateData)]
    is_last = next_hop_of_join(taken.before, message.header.sender.id) is None
    return len(answers) == 1 and (
        answers[0].tables.routing_table is not None
        and (answers[0].tables.neighborhood_set is not None) == (message.header.hop == 0)
        and (answers[0].tables.leaf_set is not None) == answers[0].destination == is_last
        and taken.after.known.keys() == taken.before.known.keys()
    )


def announced_in_time(taken: Taken) -> bool:
    """Announcements are sent at the end of the wait, and later after warnings; never before."""
    if not any(isinstance(sent, messages.NodeAnnouncement) for sent in _messages_sent(taken)):
        return True
    if isinstance(_incoming_message(taken), messages.NodeRace) or isinstance(taken.event, Sent):
        return bool(taken.before.stage is Stage.JOINED)
    return isinstance(taken.event, Expired) and taken.event.timer == messages.Announce() and taken.before.stage is Stage.WAITING


def quiet_after_leaving(taken: Taken) -> bool:
    """A node that has left sends nothing and does not change."""
    return taken.before.stage is not Stage.LEFT or (taken.after == taken.before and not taken.effects)


def delivered_when_closest(taken: Taken) -> bool:
    """A message is delivered only at a node that knows no leaf closer to its key."""
    notices = [effect.notice for effect in taken.effects if isinstance(effect, Notify)]
    keys = [notice.message.header.key for notice in notices if isinstance(notice, messages.Delivered)]
    leaves = tuple(node for side in taken.after.leaf_set for node in side)
    return all(closest(taken.after, key, leaves) is None for key in keys)


def is_quiet(cluster: Cluster) -> bool:
    """Only heartbeats are under way, no node will act by itself, all have joined or began the ring, and none has gone."""
    is_anybody_busy = any(state.stage is Stage.LEFT or is_busy(state) for state in cluster.nodes.values())
    return has_only_heartbeats(cluster) and not is_anybody_busy and is_one_ring(cluster) and not is_leaf_gone(cluster)


def is_leaf_gone(cluster: Cluster) -> bool:
    """Whether a node has gone without a word and is still in a leaf set."""
    there = {state.id for state in cluster.nodes.values()}
    return any(leaf.id not in there for state in cluster.nodes.values() for side in state.leaf_set for leaf in side)


def has_only_heartbeats(cluster: Cluster) -> bool:
    """Whether no messages but heartbeats are under way."""
    return all(isinstance(message, messages.Heartbeat) for _, _, message in cluster.in_flight)


#: The messages of a node that joins, and the answers to them.
_OF_JOINS: Final = (messages.NodeJoin, messages.StateData, messages.NodeAnnouncement, messages.NodeRace)


def all_joined(cluster: Cluster) -> bool:
    """All nodes are in one ring, none is about to act by itself, and no message of a join is under way. [WL-01]"""
    is_under_way = any(isinstance(message, _OF_JOINS) for _, _, message in cluster.in_flight)
    return not is_under_way and is_one_ring(cluster) and not any(map(is_busy, cluster.nodes.values()))


def is_busy(state: State) -> bool:
    """Whether the node will act by itself."""
    is_joining = state.stage in (Stage.JOINING, Stage.WAITING)
    return bool(is_joining or state.measured or state.repairs or state.announcing or state.is_warned)


def is_one_ring(cluster: Cluster) -> bool:
    """Whether all started nodes have asked to join: a node that knows no other, and that no other knows, is of no ring."""
    alone = {state.id for state in cluster.nodes.values() if state.stage is Stage.ALONE and not state.known}
    return len(cluster.nodes) == 1 or not alone - {node for state in cluster.nodes.values() for node in state.known}


def neighbours_known(cluster: Cluster) -> bool:
    """At rest, each leaf set has the same members as if all nodes were known."""
    if not is_quiet(cluster):
        return True
    ids = {state.id for state in cluster.nodes.values()}
    return all(nearest(state, ids) <= members(state)[1] for state in cluster.nodes.values())


def nearest(state: State, ids: set[Id]) -> set[Id]:
    """Returns those of these ids that belong into a node's leaf set."""
    ring, own, side = state.config.ring, state.id, state.config.leaf_set_side
    others = ids - {own}
    both = state.config.is_two_sided
    right = sorted((i for i in others if both or ring.is_right(own, i)), key=lambda i: ring.clockwise(own, i))
    left = sorted((i for i in others if both or not ring.is_right(own, i)), key=lambda i: ring.clockwise(i, own))
    return {*right[:side], *left[:side]}


def one_owner(cluster: Cluster) -> bool:
    """At rest each key is claimed by one node, the closest, unless the ring is skewed. Only keys at borders are checked."""
    if not is_quiet(cluster):
        return True
    states = cluster.nodes.values()
    config = next(iter(states)).config
    ring = config.ring
    if not config.is_two_sided and is_skewed(ring, config.leaf_set_side, frozenset(state.id for state in states)):
        return True
    return is_owned_once(ring, tuple((state.id, tuple(node.id for side in state.leaf_set for node in side)) for state in states))


@lru_cache(maxsize=16)
def is_skewed(ring: Ring, side: int, nodes: frozenset[Id]) -> bool:
    """Whether some node has all others on one side of itself, and they fill that side or exceed it. [WX-07]"""
    rights = [sum(ring.is_right(own, node) for node in nodes) for own in nodes]
    return len(nodes) > side and any(right in (0, len(nodes) - 1) for right in rights)


@lru_cache(maxsize=16)
def is_owned_once(ring: Ring, leaves: tuple[tuple[Id, tuple[Id, ...]], ...]) -> bool:
    """
    Whether for every key exactly one node knows no closer leaf, and that node is the closest.

    Cached, because a ring at rest is checked again and again while its leaf sets stay the same.
    """
    ids = [node for node, _ in leaves]
    for key in borders(ring, ids):
        rank = {node: ring.rank(node, key) for node in {*ids, *(leaf for _, known in leaves for leaf in known)}}
        owners = [node for node, known in leaves if all(rank[node] < rank[leaf] for leaf in known)]
        if owners != [min(ids, key=rank.__getitem__)]:
            return False
    return True


def borders(ring: Ring, nodes: Iterable[Id]) -> list[Id]:
    """Returns each id, and the keys half way between two consecutive ones."""
    ids = sorted(nodes)
    keys = []
    for one, other in zip(ids, [*ids[1:], *ids[:1]], strict=True):
        half = ring.clockwise(one, other) // 2 if len(ids) > 1 else ring.size // 2
        keys += [one, *(Id((one + half + more) % ring.size) for more in (0, 1))]
    return keys


def race_warned(taken: Taken) -> bool:
    """A race warning is sent."""
    return any(isinstance(sent, messages.NodeRace) for sent in _messages_sent(taken))


def joins(taken: Taken) -> bool:
    """A node has joined."""
    return bool(taken.before.stage is Stage.WAITING and taken.after.stage is Stage.JOINED)


def sends_on(taken: Taken) -> bool:
    """A message is forwarded to another node."""
    return any(isinstance(getattr(effect, "notice", None), messages.Forwarding) for effect in taken.effects)


def somebody_gone(taken: Taken) -> bool:
    """A message has not arrived, and its receiver is no longer known."""
    return isinstance(taken.event, Sent) and bool(taken.after.departed - taken.before.departed)


def leaves(taken: Taken) -> bool:
    """A node leaves and announces it."""
    is_asked = isinstance(taken.event, Asked) and isinstance(taken.event.command, messages.Leave)
    return is_asked and any(isinstance(sent, messages.NodeExit) for sent in _messages_sent(taken))


def _incoming_message(taken: Taken) -> object:
    """Returns the received message, if the node accepts it."""
    if not isinstance(taken.event, Received) or taken.before.stage is Stage.LEFT:
        return None
    return taken.event.message if is_admitted(taken.before, taken.event.message) else None


def _messages_sent(taken: Taken) -> list[object]:
    return [effect.message for effect in taken.effects if isinstance(effect, Send)]


PROPERTIES: Final = (
    Property("TablesRight", "all entries are in their proper places", ("WI-01", "WI-02", "WI-03", "WI-04"), "node", tables_right),
    Property("ScoresOfKnown", "scores and versions are of known nodes", ("WI-01", "WA-30"), "node", scores_of_known),
    Property("VersionsGrow", "versions never decrease and show every change", ("WI-08", "WA-39"), "step", versions_grow),
    Property("StoredVersionsReal", "no known version is ahead of its table", ("WI-07", "WA-45"), "cluster", stored_versions_real),
    Property(
        "OnlyFreshAccepted", "outdated announcements are answered by warnings", ("WI-13", "W-64"), "step", only_fresh_accepted
    ),
    Property("JoinAnswered", "each node on the way of a join answers it", ("WI-11", "W-48"), "step", join_answered),
    Property("AnnouncedInTime", "no node announces itself before its wait is over", ("WI-12", "W-58"), "step", announced_in_time),
    Property("QuietAfterLeaving", "a node that has left does nothing", ("WA-62",), "step", quiet_after_leaving),
    Property("DeliveredWhenClosest", "no node delivers if a leaf is closer", ("WA-08", "W-44"), "step", delivered_when_closest),
    Property(
        "QuietNeighbours", "at rest, if no node has gone, neighbours know each other", ("WI-09",), "cluster", neighbours_known
    ),
    Property("QuietOneOwner", "at rest, if no node has gone, each key has one owner", ("WI-10", "W-37"), "cluster", one_owner),
    Property("AllJoined", "all nodes have joined, and announcements cease", ("WL-01",), "cluster", all_joined, "eventually"),
    Property("RaceWarned", "a race is detected", ("W-64",), "step", race_warned, "sometimes"),
    Property("SomebodyJoins", "a node joins", ("W-60",), "step", joins, "sometimes"),
    Property("SomebodyForwards", "a message is forwarded", ("W-38",), "step", sends_on, "sometimes"),
    Property("SomebodyGone", "a departed node is detected", ("WA-24",), "step", somebody_gone, "sometimes"),
    Property("SomebodyLeaves", "a node announces that it leaves", ("WA-24",), "step", leaves, "sometimes"),
)
