"""
What Peter costs on top of Wendy, step by step.

    python tests/benchmarks/peter_tree.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several rounds.
Passing an event on is compared with Wendy's passing on of the same message, which asks nobody; copies to many children with
their writing as bytes; a node with many topics, or many children, with one that has few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from _ratios import ROUNDS, Comparison, show

from peerproof.spec import peter, wendy
from peerproof.spec.core import Asked, Instant, NodeId, Received, Send, Table
from peerproof.spec.peter import PublishMessage, Row, State, Subscribe, SubscribeMessage, id_of_topic
from peerproof.spec.peter.messages import lower_message
from peerproof.spec.peter.topics import State as Tree
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import Config, Header, Id, LeafSet, Node

TEXT = "weather/london/today"
TOPIC = id_of_topic(TEXT)
FEW, MANY = 10, 10_000


def node_of(number: int) -> Node:
    """A node with this id."""
    return Node(Id(number), f"n{number}", f"n{number}", 1)


def topic_of(number: int) -> str:
    """One of many topics."""
    return f"{number:016d}"


def whole(*, closest: bool = False, children: int = 0, topics: int = 0) -> State:
    """A node whose next hop for the topic is its neighbour, unless it is the closest, with so many children and other topics."""
    own = TOPIC if closest else TOPIC - 2**100
    leaves = LeafSet(right=(node_of(own + 2**101),))
    router = replace(wendy.initial(NodeId("own:1"), Config(Id(own))).state, leaf_set=leaves)
    router = replace(router, config=replace(router.config, is_consulted=True))
    rows = {id_of_topic(topic_of(number)): Row(is_local=True, parent=leaves.right[0]) for number in range(topics)}
    if children:
        rows[TOPIC] = Row(children=Table({Id(number): node_of(number) for number in range(1, 1 + children)}))
    return Stacked(router, Tree(router.self_id, router.config, Table(rows)))


def taken(state: Any, event: Any, step: Any = peter.step) -> Callable[[], Any]:
    """A step, to be measured."""
    return partial(step, state, event, None)


def received(message: Any) -> Received[Any]:
    """A message comes."""
    return Received(Instant(0), NodeId("somewhere:1"), message)


def written(effects: tuple[Any, ...]) -> None:
    """The messages of these effects, as bytes."""
    for effect in effects:
        if isinstance(effect, Send):
            peter.MESSAGE.encode(effect.message)


def main() -> None:
    """Prints the ratios."""
    event = received(PublishMessage(Header(node_of(7), TOPIC), b"rain"))
    asks = received(SubscribeMessage(Header(node_of(7), TOPIC)))
    edge, root, crowd = whole(), whole(closest=True, children=1000), whole(closest=True, children=MANY)
    alone = replace(edge.lower, config=replace(edge.lower.config, is_consulted=False))
    below = received(lower_message(event.message))
    copies = peter.step(root, event, None).effects  # type: ignore[arg-type]  # nobody is asked for a choice
    subscribes = Asked(Instant(0), Subscribe(TEXT))
    print(f"medians of {ROUNDS} rounds; 1 is what it is compared with")
    show(
        Comparison("passing an event on / Wendy passing it on", taken(edge, event), taken(alone, below, wendy.step), 2000),
        Comparison("1,000 copies / writing them", taken(root, event), partial(written, copies), 20),
        Comparison(
            f"a subscription among {MANY:,} topics / among {FEW}",
            taken(whole(topics=MANY), subscribes),
            taken(whole(topics=FEW), subscribes),
            20,
        ),
        Comparison(
            f"a child among {MANY:,} topics / among {FEW}", taken(whole(topics=MANY), asks), taken(whole(topics=FEW), asks), 20
        ),
        Comparison(
            f"a child among {MANY:,} children / among {FEW}",
            taken(crowd, asks_of(MANY + 5)),
            taken(whole(closest=True, children=FEW), asks_of(MANY + 5)),
            20,
        ),
    )


def asks_of(number: int) -> Received[Any]:
    """Somebody wants to be a child."""
    return received(SubscribeMessage(Header(node_of(number), TOPIC)))


if __name__ == "__main__":
    main()
