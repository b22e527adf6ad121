"""The topics of a node, with routes that change as they like, against a model that keeps sets of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.spec.wendy.nodes import peer

from peerproof.spec.core import Notify, Step, Table
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe, tree
from peerproof.spec.peter.messages import Rerouted
from peerproof.spec.peter.snapshot import find_inconsistency
from peerproof.spec.stack import Request
from peerproof.spec.wendy import Forward, Joined, NodeExited, NodeJoined, Route, SendTo

from .nodes import OTHER, TEXT, T, U, arrived, asked, failed, notify, publish, said, subscribe, to, told, tree_of, unsubscribe

MOST_CHILDREN = 4

TOPICS = {"t": (TEXT, T), "u": (OTHER, U)}
TOPIC = st.sampled_from(sorted(TOPICS))
NODES = ["c0", "d0", "10", "20"]
NODE = st.sampled_from(NODES)
HOP = st.sampled_from(["c0", "d0", "c0", "d0", ""])


class Model:
    """What a node keeps, as sets of pairs, and what it says."""

    def __init__(self) -> None:
        self.local: set[str] = set()
        self.children: set[tuple[str, str]] = set()
        self.parents: dict[str, str] = {}
        self.routes = dict.fromkeys(TOPICS, "")
        self.said: list[str] = []

    def interested(self, topic: str) -> bool:
        """Whether it is in the tree."""
        return topic in self.local or any(of == topic for of, _ in self.children)

    def say(self, to: str, what: str, topic: str) -> None:
        """A message, if there is somebody to send it to."""
        if to:
            self.said.append(f"{to} {what}{' of U' if topic == 'u' else ''}")

    def ask(self, topic: str) -> None:
        """The next hop becomes the parent."""
        self.parents[topic] = self.routes[topic]
        self.say(self.parents[topic], "SUBSCRIBE", topic)

    def changed(self, topic: str, change: Callable[[], Any], gone: str = "") -> None:
        """Something changes, and interest with it perhaps."""
        before = self.interested(topic)
        change()
        if self.interested(topic) and not before:
            self.ask(topic)
        elif before and not self.interested(topic):
            parent = self.parents.pop(topic)
            self.say("" if parent == gone else parent, "UNSUBSCRIBE", topic)

    def join(self, node: str) -> None:
        """Somebody has joined."""
        for topic in sorted(self.parents):
            old = self.parents[topic]
            if old == node:
                self.say(node, "SUBSCRIBE", topic)
            elif self.routes[topic] == node:
                self.say(old, "UNSUBSCRIBE", topic)
                self.ask(topic)

    def go(self, node: str) -> None:
        """Somebody has gone."""
        for topic in sorted(self.parents):
            self.changed(topic, lambda topic=topic: self.children.discard((topic, node)), node)  # type: ignore[misc]
            if self.parents.get(topic) == node:
                self.ask(topic)

    def reroute(self, new: set[str] | None) -> None:
        """Meeting points look again, and whoever has another parent goes over to a hop that is new; None: all are."""
        for topic, parent in sorted(self.parents.items()):
            hop = self.routes[topic]
            if hop and hop != parent and (not parent or new is None or hop in new):
                self.say(parent, "UNSUBSCRIBE", topic)
                self.ask(topic)

    def spread(self, topic: str, hop: int, source: str = "") -> None:
        """An event arrives at this node."""
        of = " of U" if topic == "u" else ""
        if topic in self.local:
            self.said.append(f"update{of} rain")
        if hop < 255 and source in ("", self.parents.get(topic)):
            children = sorted(child for of, child in self.children if of == topic and child != source)
            self.said += [f"{child} NOTIFY{of} rain {hop}" for child in children]


class Topics(RuleBasedStateMachine):
    """A node, and the model of it."""

    @initialize()
    def start(self) -> None:
        """It wants nothing, and is the meeting point of all."""
        self.state = tree_of()
        self.model = Model()

    def seek(self) -> Any:
        """Where routing leads now."""
        return to(**self.model.routes)

    def same(self, taken: Any, *notices: Any) -> None:
        """The node does as the model says, after it has told its application what there is to tell."""
        self.state, effects = taken
        assert list(effects[: len(notices)]) == [Notify(notice) for notice in notices]
        assert said(effects[len(notices) :]) == self.model.said
        self.model.said = []

    @rule(topic=TOPIC, hop=HOP)
    def route(self, topic: str, hop: str) -> None:
        """Routes change, and nobody is told."""
        self.model.routes[topic] = hop

    @rule(topic=TOPIC, hop=HOP)
    def subscribe(self, topic: str, hop: str) -> None:
        """The application wants events."""
        self.route(topic, hop)
        self.model.changed(topic, lambda: self.model.local.add(topic))
        self.same(asked(self.state, Subscribe(TOPICS[topic][0]), self.seek()))

    @rule(topic=TOPIC, hop=HOP)
    def unsubscribe(self, topic: str, hop: str) -> None:
        """The application wants them no more."""
        self.route(topic, hop)
        self.model.changed(topic, lambda: self.model.local.discard(topic))
        self.same(asked(self.state, Unsubscribe(TOPICS[topic][0]), self.seek()))

    @rule(topic=TOPIC, node=NODE)
    def take(self, topic: str, node: str) -> None:
        """A SUBSCRIBE; those of the node itself do not count, nor too many."""
        if len(self.model.children) < MOST_CHILDREN:
            self.model.changed(topic, lambda: self.model.children.add((topic, node)))
        self.same(arrived(self.state, subscribe(node, TOPICS[topic][1]), self.seek()))

    @rule(topic=TOPIC, node=NODE)
    def drop(self, topic: str, node: str) -> None:
        """An UNSUBSCRIBE."""
        self.model.changed(topic, lambda: self.model.children.discard((topic, node)))
        self.same(arrived(self.state, unsubscribe(node, TOPICS[topic][1]), self.seek()))

    @rule(topic=TOPIC)
    def own(self, topic: str) -> None:
        """Its own messages come back."""
        for message in (subscribe, unsubscribe, notify):
            self.same(arrived(self.state, message("b0", topic=TOPICS[topic][1]), self.seek()))

    @rule(topic=TOPIC, node=NODE, hop=st.sampled_from([1, 2, 254, 255]))
    def copy(self, topic: str, node: str, hop: int) -> None:
        """A NOTIFY."""
        self.model.spread(topic, hop, node)
        self.same(arrived(self.state, notify(node, hop=hop, topic=TOPICS[topic][1]), self.seek()))

    @rule(topic=TOPIC, node=NODE, hop=st.sampled_from([0, 1, 255]))
    def event(self, topic: str, node: str, hop: int) -> None:
        """A PUBLISH."""
        message = publish(node, hop=hop, topic=TOPICS[topic][1])
        taken = arrived(self.state, message, self.seek())
        if self.model.routes[topic]:
            assert [type(effect.command) for effect in taken.effects if isinstance(effect, Request)] == [Forward]
            assert taken.state is self.state
        else:
            self.model.spread(topic, hop)
            self.same(taken)

    @rule(topic=TOPIC)
    def publish(self, topic: str) -> None:
        """The application has an event."""
        text, key = TOPICS[topic]
        assert asked(self.state, Publish(text, b"rain"), self.seek()) == (self.state, (Request(Route(key, b"rain", 19)),))

    @rule(node=NODE, topics=st.sets(TOPIC))
    def join(self, node: str, topics: set[str]) -> None:
        """Somebody has joined, and now stands on the way to some topics."""
        self.model.routes.update(dict.fromkeys(topics, node))
        self.model.join(node)
        self.same(told(self.state, NodeJoined(peer(node)), self.seek()), NodeJoined(peer(node)))

    @rule(node=NODE, topic=TOPIC, is_told=st.booleans())
    def go(self, node: str, topic: str, is_told: bool) -> None:
        """Somebody has gone, as Wendy says or a message; routes lead elsewhere."""
        routes = self.model.routes
        routes.update({of: "" for of, hop in routes.items() if hop == node})
        self.model.go(node)
        if is_told:
            self.same(told(self.state, NodeExited(peer(node)), self.seek()), NodeExited(peer(node)))
        else:
            self.same(failed(self.state, node, notify("b0", topic=TOPICS[topic][1]), self.seek()))

    @rule(new=st.none() | st.sets(NODE))
    def reroute(self, new: set[str] | None) -> None:
        """It has joined, or its tables have changed."""
        self.model.reroute(new)
        if new is None:
            self.same(told(self.state, Joined(), self.seek()), Joined())
        else:
            self.same(told(self.state, Rerouted(frozenset(peer(node).id for node in new)), self.seek()))

    @invariant()
    def rows(self) -> None:
        """It keeps what the model keeps."""
        rows, model = self.state.topics, self.model
        keys = {key: topic for topic, (_, key) in TOPICS.items()}
        assert {keys[key] for key in rows} == set(model.parents)
        assert {keys[key] for key, row in rows.items() if row.is_local} == model.local
        assert {(keys[key], node.local_ip[1:]) for key, row in rows.items() for node in row.children.values()} == model.children
        assert {keys[key]: row.parent.local_ip[1:] if row.parent else "" for key, row in rows.items()} == model.parents
        assert find_inconsistency(self.state) is None


@pytest.fixture(autouse=True)
def few_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there are too many sometimes."""
    monkeypatch.setattr(tree, "MOST_CHILDREN", MOST_CHILDREN)


@pytest.mark.slow
def test_a_node_does_as_the_model_says() -> None:
    run_state_machine_as_test(Topics)


def hops_on(state: Any, topic: Any, value: bytes, hop: int, source: Any = None) -> Any:
    """Copies start to count anew (PA-25)."""
    return right_spread(state, topic, value, min(hop, 1), source)


def by_routing(state: Any, topic: Any, row: Any, seek: Any) -> Any:
    """Who unsubscribes says so where routing leads now (PX-04)."""
    kept = state.row(topic)
    if kept.is_wanted and not row.is_wanted:
        state, row = state.with_row(topic, kept._replace(parent=seek(topic))), row._replace(parent=seek(topic))
    return right_turned(state, topic, row, seek)


def old_first(state: Any, node: Any, seek: Any) -> Any:
    """The new parent is asked before the old one is told (PA-33)."""
    taken = right_joined(state, node, seek)
    return Step(taken.state, tuple(sorted(taken.effects, key=purpose)))


def purpose(effect: Any) -> int:
    """Of a request to send."""
    return effect.command.purpose if isinstance(effect.command, SendTo) else 0


def everybody(state: Any, is_gone: Any, seek: Any) -> Any:
    """Who has gone takes with it all other children (PA-14)."""
    taken = right_departed(state, is_gone, seek)
    topics = {key: row._replace(children=Table()) for key, row in taken.state.topics.items()}
    for key, row in topics.items():
        if row.is_local:
            taken = taken._replace(state=taken.state.with_row(key, row))
    return taken


right_spread, right_turned, right_joined, right_departed = tree.fan_out, tree.update_row, tree.on_node_joined, tree.on_departure

MISTAKES = {"fan_out": hops_on, "update_row": by_routing, "on_node_joined": old_first, "on_departure": everybody}


def search() -> None:
    """Some campaigns: what is drawn depends on the code around."""
    for number in range(10):
        few = settings(max_examples=100, stateful_step_count=25, phases=[Phase.generate])
        run_state_machine_as_test(seed(number)(Topics), settings=few)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    with overriding(names_in(tree, **{name: MISTAKES[name]})), pytest.raises(AssertionError):
        search()
