"""Checks of the models: invariants, expected counterexamples, and temporal properties; by their TLA+ names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any, Final

from peerproof.spec.core import Table
from peerproof.spec.distkv import properties
from peerproof.spec.distkv.chains import Chain, Relation, relation, zero_may_ping
from peerproof.spec.distkv.messages import Info, InitialPingDue, Update
from peerproof.spec.distkv.model.bounded import Model
from peerproof.spec.distkv.recovery import STEP_3
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.ticks import TickSets, intersection, with_elements
from peerproof.spec.model.liveness import Ending
from peerproof.spec.model.questions import (
    Endings,
    OfArrivals,
    Question,
    never_message,
    never_node,
    of_cluster,
    of_nodes,
    one_ending,
)
from peerproof.spec.properties import Cluster, Property, Taken

_NOTHING: Final[TickSets] = Table()


def own_of_lasting(model: Model, cluster: Cluster) -> bool:
    """A node that loses no data knows exactly its own changes about itself. [DI-02]"""
    lasting = {node: state for node, state in cluster.nodes.items() if node not in model.forgetful}
    return properties.own_complete(Cluster(lasting))


def before_is_transitive(_: Model, cluster: Cluster) -> bool:
    """The relation "came before" is transitive. [DX-03]"""
    for updates in properties.changes(cluster).values():
        for one, other, third in permutations({update.chain for update in updates}, 3):
            if _came_before(one, other) and _came_before(other, third) and not _came_before(one, third):
                return False
    return True


def _came_before(one: Chain, other: Chain) -> bool:
    return relation(one, other) is Relation.BEFORE


def nothing_comes_back(_: Model, cluster: Cluster) -> bool:
    """No node that knows of a deletion has a change from before it. [DX-05]"""
    rows = (row for state in cluster.nodes.values() for row in state.entries.rows.items())
    deleted = [(path, entry) for path, entry in rows if entry.is_deleted]
    for state in cluster.nodes.values():
        for path, entry in deleted:
            there = state.entries.rows.get(path)
            knows = intersection(with_elements(_NOTHING, entry.chain.elements[:1]), state.entries.known)
            if there is not None and knows and not there.is_deleted and _came_before(there.chain, entry.chain):
                return False
    return True


def never_has_more(_: Model, cluster: Cluster) -> bool:
    """No node sends ticks that it did not download: in an info that answers no ping and belongs to no recovery. [DA-73]"""
    infos = [(cluster.nodes[sender], message) for sender, _, message in cluster.in_flight if isinstance(message, Info)]
    return not any(
        info.ticks and info.reason is None and not info.chain.prev.elements and sender.recovery is None for sender, info in infos
    )


def _says(member: str) -> Callable[[Any], bool]:
    return lambda message: isinstance(message, Info) and bool(getattr(message, member))


def _is_off_chain(state: State) -> bool:
    chain = state.recovery.mine if state.recovery else state.last.chain if state.last else None
    return STEP_3 in state.timers and state.position(chain) is None


def _is_forbidden(state: State) -> bool:
    is_to_wait = state.last is not None and not state.message_tick and not zero_may_ping(state.last.chain)
    return is_to_wait and InitialPingDue() in state.timers


@OfArrivals
def never_conflict(_: Model, cluster: Cluster) -> bool:
    """No change is under way to a node that has a concurrent one."""
    updates = [(cluster.nodes[to].entries.rows, message) for _, to, message in cluster.in_flight if isinstance(message, Update)]
    entries = [(update, rows[update.path]) for rows, update in updates if update.path in rows]
    return not any(relation(update.chain, entry.chain) is Relation.CONCURRENT for update, entry in entries)


QUESTIONS: Final[Mapping[str, Question]] = {
    "ChainsBounded": of_nodes(properties.chains_bounded),
    "OwnComplete": own_of_lasting,
    "AllOwnComplete": of_cluster(properties.own_complete),
    "PresentIsStored": of_nodes(properties.present_is_known),
    "TicksSeen": of_nodes(properties.present_is_known),
    "ChainsFollowTocks": of_cluster(properties.of_pairs(properties.tocks_follow)),
    "BetterIsOrder": of_cluster(properties.better_is_order),
    "OneTickOneChange": of_cluster(properties.one_tick_one_change),
    "Converged": of_cluster(properties.converged),
    "PingOrder": of_cluster(properties.ping_order),
    "ZeroIsSilent": of_nodes(properties.zero_is_silent),
    "BeforeIsTransitive": before_is_transitive,
    "NothingComesBack": nothing_comes_back,
    "ReadyMissesNothing": of_nodes(lambda state: state.phase is not Phase.READY or not state.misses),
    "NeverGreets": never_node(lambda state: state.newcomer is not None),
    "NeverSettling": never_node(lambda state: state.phase is Phase.SETTLING),
    "NeverAsksNext": never_node(lambda state: len(state.tried) > 1),
    "NeverHasMore": never_has_more,
    "NeverReason": never_message(_says("reason")),
    "NeverBecause": never_node(lambda state: state.recovery is not None and state.recovery.ping is None),
    "NeverCovered": never_node(lambda state: state.recovery is not None and bool(state.recovery.covered)),
    "NeverReplaced": never_message(_says("known")),
    "NeverAnsweredFor": never_node(lambda state: STEP_3 in state.timers and not state.wanted),
    "NeverOffChain": never_node(_is_off_chain),
    "NeverForbidden": never_node(_is_forbidden),
    "NeverConflict": never_conflict,
    "NeverCut": never_node(lambda state: any(entry.chain.cut for entry in state.entries.rows.values())),
}


def tock_always_rises(taken: Taken) -> bool:
    """Every message, also one that is sent again, has a higher tock than all that its sender has received and sent. [DX-02]"""
    return all(message.tock > taken.before.tock for message in properties.messages_sent(taken))


def of_steps(name: str, holds: Callable[[Taken], bool]) -> Property:
    """Holds of every step."""
    return Property(name, name, (), "step", holds)


#: Names of action properties in TLA+ -> properties of every step of a model; some are expected to fail.
STEPS: Final[Mapping[str, Property]] = {
    "TockRises": of_steps("TockRises", properties.tock_rises),
    "TockRisesAlways": of_steps("TockRisesAlways", tock_always_rises),
    "ReadyWithData": of_steps("ReadyWithData", properties.ready_with_data),
}


NOTHING_MISSING: Final = Ending(
    "EventuallyNothingMissing",
    "nothing is missing anywhere",
    ("DL-01", "DL-02", "DL-03"),
    lambda cluster: not any(state.misses for state in properties.running(cluster)),
    frozenset(),
)
ALL_READY: Final = Ending(
    "EventuallyAllReady",
    "all nodes are ready",
    ("DL-04",),
    lambda cluster: all(state.phase is Phase.READY for state in properties.running(cluster)),
    frozenset(),
)

ENDINGS: Final[Mapping[str, Endings]] = {
    "EventuallyNothingMissing": one_ending(NOTHING_MISSING),
    "EventuallyAllReady": one_ending(ALL_READY),
}
