"""The proofs of Peter are about the code that runs; what stands in for Python's own is like it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from tests.support.refuting import Mistake, each_of, is_refuted

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, follow
from peerproof.conformance.proofs.peter.proofs import (
    CHILD,
    OTHER,
    PARENT,
    TOPIC,
    AnyTopic,
    Children,
    Said,
    any_event,
    any_node,
    id_on_terms,
    the_latest,
)
from peerproof.spec.core import Notify, Step, Table
from peerproof.spec.peter import Row, id_of_topic, topics, tree
from peerproof.spec.peter.messages import PUBLISH, UNSUBSCRIBE
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request
from peerproof.spec.wendy import Id, Node, Route, ids


def parent_hears_of_each(state: State, topic: Id, row: Row, seek: Any) -> Any:
    """The parent hears of each child that goes."""
    after, effects = TURNED(state, topic, row, seek)
    is_less = len(row.children) == 0 and len(state.row(topic).children) > 0
    return Step(after, tree.tree_message(row.parent, topic, UNSUBSCRIBE) if is_less else effects)


def unsubscribes_with_children(state: State, topic: Id, seek: Any) -> Any:
    """Whoever unsubscribes says so, whether or not it has children."""
    after, effects = TURNED(state, topic, state.row(topic)._replace(is_local=False), seek)
    return Step(after, effects or tree.tree_message(state.row(topic).parent, topic, UNSUBSCRIBE))


def joined_is_parent(state: State, node: Node, seek: Any) -> Any:
    """Who has joined becomes the parent, wherever routing leads."""
    for topic, row in state.topics.items():
        state = state.with_row(topic, row._replace(parent=node))
    return Step(state)


def sends_twice(*given: Any) -> Any:
    """Each child gets two copies."""
    after, effects = FANNED_OUT(*given)
    return Step(after, (*effects, *(effect for effect in effects if isinstance(effect, Request))))


def tells_twice(*given: Any) -> Any:
    """An application is told twice of each event."""
    after, effects = FANNED_OUT(*given)
    return Step(after, (*effects, *(effect for effect in effects if isinstance(effect, Notify))))


def publishes_nothing(state: State, topic: Any, _: bytes) -> Any:
    """An event is sent without its value."""
    return Step(state, (Request(Route(topic, b"", PUBLISH)),))


def takes_the_next_hop(state: State, topic: Any, child: Node, seek: Any) -> Any:
    """The next hop becomes a child, in place of the node that asks."""
    return TAKEN(state, topic, seek(topic) or child, seek)


def stays_subscribed(state: State, _: Any, __: Any) -> Any:
    """To unsubscribe changes nothing."""
    return Step(state)


TURNED, ASKED_FOR, FANNED_OUT, TAKEN = tree.update_row, tree.subscribe_to_parent, tree.fan_out, tree.on_subscribe_message

MISTAKES: list[Mistake] = [
    # The first 15 bytes are enough.
    (topics, "id_of_bytes", lambda octets: vars(ids)["int"].from_bytes(octets[:15], "big"), "PZ-01"),
    *((tree, "update_row", parent_hears_of_each, item) for item in ("PZ-03", "PZ-04")),
    # Nobody is asked.
    *((tree, "subscribe_to_parent", lambda *given: Step(ASKED_FOR(*given).state), item) for item in ("PZ-03", "PZ-04")),
    *((tree, "on_unsubscribe", unsubscribes_with_children, item) for item in ("PZ-03", "PZ-04")),
    (tree, "on_node_joined", joined_is_parent, "PZ-05"),
    (tree, "on_publish", publishes_nothing, "PZ-07"),
    (tree, "on_subscribe_message", takes_the_next_hop, "PZ-08"),
    (tree, "on_unsubscribe", stays_subscribed, "PZ-08"),
    (tree, "fan_out", sends_twice, "PZ-09"),
    (tree, "fan_out", tells_twice, "PZ-09"),
]


@pytest.mark.slow
@each_of(MISTAKES)
def test_a_mistake_in_the_code_fails_its_proof(mistake: Mistake) -> None:
    assert is_refuted("peter", mistake)


@pytest.mark.parametrize("topic", ["0123456789abcdef", "weather/london/today", "é" * 9])
def test_ids_on_terms_are_those_of_texts(topic: str) -> None:
    def statement(path: Path) -> None:
        term = AnyTopic(path, "topic")
        path.know(term.length == len(topic.encode()))
        path.know(*(term.at(index) == octet for index, octet in enumerate(topic.encode())))
        path.claim("the same", id_on_terms(term) == id_of_topic(topic))

    assert follow(statement, 30).verdict == "proved"


def table(*nodes: Node) -> Table[Id, Node]:
    """Children as a node keeps them."""
    return Table({node.id: node for node in nodes})


SETS = [table(*nodes) for size in range(4) for nodes in combinations((CHILD, PARENT, OTHER), size)]


def like(path: Path, children: Table[Id, Node]) -> Children:
    """These children on terms."""
    return Children(path, smt.IntVal(len(children)), smt.BoolVal(CHILD.id in children))


def alike(one: Children, other: Table[Id, Node]) -> bool:
    """Whether all that can be asked of both has the same answer."""
    counted = smt.simplify(one.count).as_long() == len(other)
    return counted and (len(one) > 0) == (len(other) > 0) and (CHILD.id in one) == (CHILD.id in other)


@pytest.mark.parametrize("children", SETS, ids=lambda children: " ".join(str(child) for child in children) or "none")
def test_children_on_terms_are_like_tables(children: Table[Id, Node]) -> None:
    moved = CHILD._replace(port=2)

    def statement(path: Path) -> None:
        terms = like(path, children)
        assert alike(terms, children)
        assert alike(terms.without((CHILD.id,)), children.without((CHILD.id,)))
        assert alike(terms.without([]), children)
        assert (terms.without((CHILD.id,)) == terms) == (children.without((CHILD.id,)) == children)
        more = terms.put({CHILD.id: CHILD})
        node = moved if more.is_moved else CHILD
        assert alike(more, children.put({CHILD.id: node}))
        assert (more == terms) == (children.put({CHILD.id: node}) == children)
        assert [child for child, _ in terms.items()] == [child for child in children if child == CHILD.id]
        path.claim("all of it", smt.BoolVal(val=True))

    outcome = follow(statement, 30)

    assert (outcome.verdict, outcome.detail, outcome.paths) == ("proved", "", 2)


def test_any_node_is_any_with_and_without_a_row() -> None:
    seen: set[tuple[bool, Any]] = set()

    def statement(path: Path) -> None:
        state = any_node(path)
        row = state.row(TOPIC)
        seen.add((bool(row.is_wanted), row.parent))
        path.claim("as it is kept", smt.BoolVal((TOPIC in state.topics) == bool(row.is_wanted)))

    assert follow(statement, 30).verdict == "proved"
    assert seen == {(False, None), (True, None), (True, PARENT), (True, CHILD)}


def test_anything_may_happen() -> None:
    seen: set[str] = set()

    def statement(path: Path) -> None:
        event = any_event(path)
        seen.add(type(getattr(event, "command", None) or getattr(event, "notice", None) or event).__name__)
        path.claim("something", smt.BoolVal(val=True))

    assert follow(statement, 30).paths == 9
    assert seen == {"Subscribe", "Unsubscribe", "Delivered", "NodeJoined", "Rerouted", "NodeExited", "Sent"}


def test_the_latest_of_two_is_the_one_with_the_larger_number() -> None:
    one, other = (Said(smt.IntVal(number), smt.BoolVal(val=number == 2)) for number in (1, 2))

    assert smt.simplify(the_latest(one, other).number).as_long() == 2
    assert smt.is_true(smt.simplify(the_latest(other, one).wants))
