"""Models in which no node comes or goes, as rings of real nodes: tables of Wendy that route as the abstract router does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from peerproof.spec import wendy
from peerproof.spec.core import Table, replace
from peerproof.spec.peter.model.abstract_router import Known, Router, node_id, node_of, topic_text
from peerproof.spec.peter.topics import id_of_topic
from peerproof.spec.wendy.ids import REAL, Id
from peerproof.spec.wendy.messages import LeafSet
from peerproof.spec.wendy.routing import next_hop

#: Duration of every message, in microseconds.
SCORE: Final = 1


def texts_of(orders: Mapping[int, Sequence[int]]) -> dict[int, str]:
    """
    Returns the texts of topics, by number, whose ids have the given order of distances to the nodes' ids, if there are any.

    Topics with greater numbers have greater ids, because models take topics in the order of their numbers.
    """
    texts = {topic: next((text for text in _texts(topic, order) if _fits(text, order)), "") for topic, order in orders.items()}
    in_order = [texts[topic] for topic in sorted(texts)]
    return texts if all(in_order) and in_order == sorted(in_order) else {topic: topic_text(topic) for topic in texts}


def _texts(topic: int, order: Sequence[int]) -> Iterable[str]:
    return (topic_text(topic, near) for near in range(max(order) + 1))


def _fits(text: str, order: Sequence[int]) -> bool:
    key = id_of_topic(text)
    return list(order) == sorted(order, key=lambda node: REAL.rank(node_id(node), key))


def tables(nodes: Iterable[Known], router: Router, topics: Iterable[Id]) -> dict[Id, wendy.State] | None:
    """Returns nodes of Wendy, by id, with the same next hops; None if there are none, or a node may choose."""
    found = {node.id: table(node) for node in nodes}
    for node in nodes:
        for topic in topics:
            among, hop = router.candidates(node, topic), next_hop(found[node.id], topic)
            if among[:1] != ([hop.id] if hop else []) or (len(among) > 1 and not router.is_closest):
                return None
    return found


def table(node: Known) -> wendy.State:
    """Returns a node of Wendy whose leaf set has the nodes that this one knows."""
    config = replace(node.config, ring=REAL)
    right = [other for other in node.view if REAL.is_right(node.id, other)]
    sides = (
        sorted(node.view - set(right), key=lambda other: REAL.clockwise(other, node.id)),
        sorted(right, key=lambda other: REAL.clockwise(node.id, other)),
    )
    scores = Table(dict.fromkeys(sorted(node.view), SCORE))
    leaves = LeafSet(*(tuple(map(node_of, side)) for side in sides))
    return replace(wendy.initial(node.self_id, config).state, leaf_set=leaves, scores=scores, cache=scores)
