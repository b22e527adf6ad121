"""
Proximity: the round-trip times of requests to other nodes, and the places in tables that depend on them. [W-05…W-11]

The sender of tables is known to be alive, and members of a leaf set are needed at once: both are tried in the leaf set when they
are first seen, because there only ids matter. The other tables depend on scores, so a node is measured first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from peerproof.spec.core import NodeId, Send, Step, replace
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Effect, Header, Heartbeat, Mask, Message, Node, Tables
from peerproof.spec.wendy.state import MOST_MEASURED, State, address_of
from peerproof.spec.wendy.tables import in_neighborhood_set, insert_node, nodes_of, update_address

Next: TypeAlias = Step[State, Effect]

_LEAF_SET = Mask(leaf_set=True)


def header(state: State, key: Id | None = None) -> Header:
    """Returns the header of a message of this node; by default, the key is its own id. [W-62, WA-53]"""
    return Header(state.node, state.id if key is None else key, state.versions, state.config.credentials)


def send(state: State, to: Node, message: Message) -> tuple[Send[Message], ...]:
    """Returns a message to a node; nothing if the node has no address, or this node's own. [WA-52]"""
    where = address_of(state.config, to)
    return () if where in (None, state.self_id) else (Send(where, message),)


def consider_node(state: State, node: Node, *, is_leaf: bool) -> State:
    """
    Handles a node that was seen in a message. [W-51…W-56, W-66, WA-69]

    With `is_leaf` it is tried in the leaf set before its score is known [WA-20]. With a known or cached score, it is tried
    in all tables [WA-21, WA-48]; otherwise it is measured first.
    """
    if is_passed_over(state, node):
        return state
    score = state.scores.get(node.id)
    score = state.cache.get(node.id) if score is None else score
    if score is not None:
        return record_score(state, state.known.get(node.id, node), score)
    if is_leaf:
        state = insert_node(state, node, _LEAF_SET)
    if node.id in state.measured or len(state.measured) >= MOST_MEASURED:
        return state  # [WA-54]
    return replace(state, measured=state.measured.put({node.id: node}))


def is_passed_over(state: State, node: Node) -> bool:
    """Whether a node is ignored: it is this one, or has departed, or has no address. [WA-15, WA-30, WA-52]"""
    return node.id == state.id or node.id in state.departed or address_of(state.config, node) in (None, state.self_id)


def record_score(state: State, node: Node, score: int) -> State:
    """Returns the node after trying another one, with this score, in all tables. [W-18, W-34, W-53, W-56]"""
    if state.scores.get(node.id) != score:
        state = replace(state, scores=state.scores.put({node.id: score}))
    return insert_node(state, node)


def learn_tables(state: State, sender: Node, tables: Tables) -> Next:
    """
    Handles the tables of a node: it and the nodes in them are seen. [W-51…W-56, W-66, WA-29, WA-34]

    A node's data about itself replaces the known data; its data about others does not. [WA-68] Each node to be measured gets
    one request, after all have been seen. [W-52, WA-42]
    """
    if not is_passed_over(state, sender):
        state = update_address(state, sender)
        if state.measured.get(sender.id, sender) != sender:
            state = replace(state, measured=state.measured.without((sender.id,)))  # at the wrong address
    leaves, before = {node.id for side in tables.leaf_set or () for node in side}, state.measured
    for node in (sender, *nodes_of(tables).values()):
        state = consider_node(state, node, is_leaf=node is sender or node.id in leaves)
    effects: tuple[Effect, ...] = ()
    for node in (node for node in state.measured.values() if node.id not in before):
        effects += send(state, node, Heartbeat(header(state)))
    return Step(state, effects)


def refresh_score(state: State, address: NodeId, took: int) -> State:
    """
    Records the score of the nodes at an address after a message to it was confirmed. [W-06, W-07, WA-18]

    Nodes that were being measured are tried in the tables; a member of the neighborhood set moves to its new place. [WA-69]
    """
    for node in list(state.at(address)):
        state = replace(state, cache=state.cache.put({node.id: took}))
        if node.id in state.measured:
            state = replace(state, measured=state.measured.without((node.id,)))
            state = record_score(state, state.known.get(node.id, node), took)
        elif state.scores.get(node.id) != took:
            state = replace(state, scores=state.scores.put({node.id: took}))
            others = tuple([member for member in state.neighborhood_set if member.id != node.id])
            if len(others) < len(state.neighborhood_set):
                without = replace(state, neighborhood_set=others)
                state = replace(state, neighborhood_set=in_neighborhood_set(without, node))  # [WA-22]
    return state


def prune(state: State) -> State:
    """Drops scores and versions of nodes that are in no table and not being measured. [W-05, W-63, WA-70]"""
    here = state.known
    scores = [node for node in state.scores if node not in here]
    stored = [node for node in state.stored if node not in here and node not in state.measured]
    if not scores and not stored:
        return state
    return replace(state, scores=state.scores.without(scores), stored=state.stored.without(stored))


def everybody(state: State) -> Iterable[Node]:
    """Returns the nodes in the tables, sorted by id. [W-60]"""
    return state.known.values()
