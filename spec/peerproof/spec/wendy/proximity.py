"""
Proximity: how long a request to another node takes, and who is let into the tables by it. [W-05…W-11]

Who sends its tables has shown that it is there, and who stands in a leaf set is needed at once: both are tried in the leaf set as
soon as they are seen, because ids alone decide there. The other tables go by scores, so that a score is known first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from peerproof.spec.core import NodeId, Send, Step
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Effect, Header, Heartbeat, Mask, Message, Node, Tables
from peerproof.spec.wendy.state import MOST_MEASURED, State, address_of
from peerproof.spec.wendy.tables import in_neighborhood_set, insert_node, nodes_of, update_address

Next: TypeAlias = Step[State, Effect]

_LEAF_SET = Mask(leaf_set=True)


def header(state: State, key: Id | None = None) -> Header:
    """What a message of this node begins with; unless said otherwise, the key is its own id. [W-62, WA-53]"""
    return Header(state.node, state.id if key is None else key, state.versions, state.config.credentials)


def send(state: State, to: Node, message: Message) -> tuple[Send[Message], ...]:
    """A message on its way to a node; nothing if the node has no address. [WA-52]"""
    where = address_of(state.config, to)
    return () if where is None else (Send(where, message),)


def consider_node(state: State, node: Node, *, is_leaf: bool) -> State:
    """
    A node has been seen in a message. [W-51…W-56, W-66, WA-69]

    `is_leaf` if it is tried in the leaf set before its score is known [WA-20]. With a score that is known, or cached, it is tried
    in all tables [WA-21, WA-48]; otherwise it is to be measured, and the rest follows when that is done.
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
    """Whether nothing is done about a node: it is this one, or has departed, or has no address. [WA-15, WA-30, WA-52]"""
    return node.id == state.id or node.id in state.departed or address_of(state.config, node) in (None, state.self_id)


def record_score(state: State, node: Node, score: int) -> State:
    """The node after another, with this score, was tried in all tables. [W-18, W-34, W-53, W-56]"""
    if state.scores.get(node.id) != score:
        state = replace(state, scores=state.scores.put({node.id: score}))
    return insert_node(state, node)


def learn_tables(state: State, sender: Node, tables: Tables) -> Next:
    """
    A node has sent its tables: it and their nodes are seen. [W-51…W-56, W-66, WA-29, WA-34]

    What a node says of itself replaces what is known of it; what it says of others does not. [WA-68] Whoever is to be measured is
    sent one request, when all have been seen. [W-52, WA-42]
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
    The node after a message to an address was confirmed: that is the score of whoever is reached there. [W-06, W-07, WA-18]

    Who was being measured is tried in the tables; a member of the neighborhood set moves to where it belongs now. [WA-69]
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
    """The node without scores and versions of those who are in no table and not being measured. [W-05, W-63, WA-70]"""
    here = state.known
    scores = [node for node in state.scores if node not in here]
    stored = [node for node in state.stored if node not in here and node not in state.measured]
    if not scores and not stored:
        return state
    return replace(state, scores=state.scores.without(scores), stored=state.stored.without(stored))


def everybody(state: State) -> Iterable[Node]:
    """The nodes in the tables, in the order of their ids. [W-60]"""
    return state.known.values()
