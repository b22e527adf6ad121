"""The bounded world of Peter: trees on an abstract router, its bounds, and the same however it is explored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spec.peter.worlds import CHAIN

from peerproof.conformance.models.local_steps import local_steps
from peerproof.spec import peter, wendy
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.peter.model.bounded import Model
from peerproof.spec.peter.model.variants import VARIANTS
from peerproof.spec.peter.properties import PROPERTIES

SUBSCRIBE, UNSUBSCRIBE, PUBLISH = ["subscribe", 1, 0], ["unsubscribe", 1, 0], ["publish", 1, 1]


def explored(**changes: Any) -> Exploration:
    return explore(Model(CHAIN | changes), PROPERTIES, digest=True)


def broken(*replaced: str, **changes: Any) -> tuple[str, int] | None:
    """The first property that a variant breaks, and in how many steps."""
    found = explore(VARIANTS[frozenset(replaced)](CHAIN | changes), PROPERTIES).counterexample
    return (found.property.name, len(found.path)) if found else None


def todo(**things: list[list[Any]]) -> list[list[Any]]:
    """What the nodes have to do, by number: `todo(n1=[SUBSCRIBE])`."""
    return [[int(node[1:]), index, *thing] for node, all_of_it in things.items() for index, thing in enumerate(all_of_it, 1)]


def run(found: Exploration, *labels: str) -> tuple[dict[str, Any], frozenset[Any]]:
    """The nodes' values by variable, and the messages, at the end of the first way with these labels."""
    system, world = found.system, found.system.initial()
    for label in labels:
        world = next(target for name, target in system.moves(world) if name == label)
    nodes = zip(*(system.model.node_values(state) for state in system.cluster(world).nodes.values()), strict=True)
    return dict(zip(system.model.node_variables, nodes, strict=True)), system.net_value(world[len(system.places) + 1 :])


def ends(found: Exploration) -> list[dict[str, Any]]:
    """The nodes' values in the worlds where nothing happens any more."""
    system = found.system
    last = [system.cluster(world).nodes.values() for world in found.depths if not list(system.moves(world))]
    names = system.model.node_variables
    return [dict(zip(names, zip(*map(system.model.node_values, states), strict=True), strict=True)) for states in last]


def test_chain_becomes_a_tree() -> None:
    found = explored(Todo=todo(n1=[SUBSCRIBE]))

    nodes, net = run(found, "Command")
    assert net == {(1, 2, (("subscribe", 1, 0, 0),))}
    assert (nodes["local"], nodes["parent"]) == (
        (frozenset({1}), frozenset(), frozenset()),
        (frozenset({(1, 2)}), *[frozenset()] * 2),
    )
    _, net = run(found, "Command", "Receive")
    assert net == {(2, 3, (("subscribe", 1, 0, 0),))}
    nodes, net = run(found, "Command", "Receive", "Receive")
    assert not net
    assert nodes["children"] == (frozenset(), frozenset({(1, 1)}), frozenset({(1, 2)}))
    assert (len(found.depths), found.edges) == (4, {"Command": 1, "Receive": 2})


def test_event_goes_up_and_comes_down() -> None:
    found = explored(Subscribed=[[1, 1], [3, 1]], Todo=todo(n2=[PUBLISH]))

    assert run(found, "Command")[1] == {(2, 3, (("publish", 1, 1, 0),))}
    assert run(found, "Command", "Receive")[1] == {(3, 2, (("notify", 1, 1, 1),))}
    assert run(found, "Command", "Receive", "Receive")[1] == {(2, 1, (("notify", 1, 1, 2),))}
    assert [nodes["got"] for nodes in ends(found)] == [({(1, 1): 1}, {}, {(1, 1): 1})]


def test_event_that_many_have_received_is_copied_no_more() -> None:
    found = explored(Subscribed=[[1, 1], [2, 1]], Todo=todo(n2=[PUBLISH]), MaxHops=2)

    assert [nodes["got"] for nodes in ends(found)] == [({}, {(1, 1): 1}, {})]


def test_any_next_hop_is_taken_or_the_closest() -> None:
    knows = [[1, 2], [1, 3], [2, 3]]
    either, closest = (explored(Knows=knows, Todo=todo(n1=[SUBSCRIBE]), Hops=hops) for hops in ("any", "closest"))

    parents = {nodes["parent"][0] for nodes in ends(either)}
    assert parents == {frozenset({(1, 2)}), frozenset({(1, 3)})}
    assert {nodes["parent"][0] for nodes in ends(closest)} == {frozenset({(1, 3)})}


def test_whoever_joins_announces_itself_and_looks_for_parents() -> None:
    found = explored(
        Members=[2, 3], Subscribed=[[1, 1]], Todo=todo(n1=[["join", 0, 0]]), Knows=[[1, 2], [1, 3], [2, 3]], Hops="closest"
    )

    before, _ = run(found)
    assert (before["view"][0], before["parent"][0], before["local"][0], before["up"][0]) == (set(), set(), {1}, False)
    nodes, net = run(found, "Command")
    assert net == {(1, 2, (("announce", 0, 0, 0),)), (1, 3, (("announce", 0, 0, 0), ("subscribe", 1, 0, 0)))}
    assert (nodes["view"][0], nodes["parent"][0], nodes["up"][0]) == ({2, 3}, {(1, 3)}, True)
    assert {nodes["view"] for nodes in ends(found)} == {(frozenset({2, 3}), frozenset({1, 3}), frozenset({1}))}


def test_tree_turns_to_whoever_joins_on_the_way() -> None:
    joining = {"Members": [1, 2], "Knows": [[1, 2], [3, 1], [3, 2]], "Hops": "closest", "Todo": todo(n3=[["join", 0, 0]])}
    found = explored(Subscribed=[[1, 1], [2, 1]], **joining)

    assert {nodes["parent"] for nodes in ends(found)} == {(frozenset({(1, 3)}), frozenset({(1, 3)}), frozenset())}
    assert {nodes["children"] for nodes in ends(found)} == {(frozenset(), frozenset(), frozenset({(1, 1), (1, 2)}))}


def test_node_that_does_not_run_joins_once_and_does_nothing_else() -> None:
    things = todo(n1=[["join", 0, 0], ["leave", 0, 0], ["join", 0, 0]], n2=[["join", 0, 0]], n3=[SUBSCRIBE])
    found = explored(Members=[2], Todo=things)

    assert {nodes["todo"] for nodes in ends(found)} == {((("join", 0, 0),), (("join", 0, 0),), (("subscribe", 1, 0),))}
    assert {nodes["up"] for nodes in ends(found)} == {(False, True, False)}


def test_whoever_leaves_tells_whom_it_knows() -> None:
    found = explored(Subscribed=[[1, 1]], Knows=[[1, 2], [2, 3], [1, 3], [2, 1]], Todo=todo(n2=[["leave", 0, 0]]), Hops="closest")
    assert {nodes["children"] for nodes in ends(found)} == {(frozenset(), frozenset(), frozenset({(1, 1)}))}

    gone = explored(Subscribed=[[1, 1]], Todo=todo(n2=[["leave", 0, 0]]))
    assert run(gone, "Command")[1] == {(2, 3, (("exit", 0, 0, 0),))}
    assert {nodes["children"][2] for nodes in ends(gone)} == {frozenset({(1, 2)})}, "3 does not know 2, which is its child"


def test_crash_is_noticed_by_a_heartbeat_that_is_asked_once_at_a_time() -> None:
    crash = {"Subscribed": [[1, 1]], "Knows": [[1, 2], [2, 3], [1, 3]], "Todo": todo(n2=[["crash", 0, 0]])}

    assert {nodes["parent"][0] for nodes in ends(explored(**crash, Hops="closest", Beating=[]))} == {frozenset({(1, 3)})}
    chained = crash | {"Knows": [[1, 2], [2, 3]]}
    assert {nodes["parent"][0] for nodes in ends(explored(**chained))} == {frozenset({(1, 2)})}
    found = explored(**chained, Beating=[[1, 2]])
    assert {nodes["parent"][0] for nodes in ends(found)} == {frozenset()}
    nodes, net = run(found, "Heartbeat")
    assert nodes["asking"][0] == {2}
    assert net == {(1, 2, (("heartbeat", 0, 0, 0),))}
    assert [label for label, _ in found.system.moves(found.system.initial())] == ["Heartbeat", "Command"]
    assert run(found, "Heartbeat", "Receive")[0]["asking"][0] == set()
    assert found.edges.keys() == {"Command", "Heartbeat", "Receive", "Fail"}


def test_publish_that_does_not_arrive_goes_another_way() -> None:
    things = todo(n1=[PUBLISH], n2=[["crash", 0, 0]])
    found = explored(Subscribed=[[3, 1]], Knows=[[1, 2], [1, 3], [2, 3]], Todo=things)

    assert "Fail" in found.edges
    assert all(nodes["got"] == ({}, {}, {(1, 1): 1}) for nodes in ends(found))
    assert {nodes["view"][0] for nodes in ends(found)} == {frozenset({2, 3}), frozenset({3})}


def test_step_beyond_the_bound_does_not_happen() -> None:
    assert explored(Todo=todo(n1=[SUBSCRIBE]), MaxNet=0).edges == {}


def test_two_topics_do_not_meet() -> None:
    two = {"Topic": [1, 2], "Order": [[1, 3, 2, 1], [2, 1, 2, 3]], "Knows": [[1, 2], [2, 1], [2, 3], [3, 2]]}
    found = explored(**two, Todo=todo(n1=[SUBSCRIBE, ["publish", 2, 1]], n3=[["subscribe", 2, 0]]))

    assert {nodes["children"] for nodes in ends(found)} == {
        (frozenset({(2, 2)}), frozenset({(1, 1), (2, 3)}), frozenset({(1, 2)}))
    }


STILL = {"Knows": [[1, 2], [2, 1], [2, 3], [3, 2]], "Hops": "closest"}


def test_steps_of_a_world_where_nobody_comes_or_goes_are_those_of_nodes_on_wendy() -> None:
    things = todo(n1=[SUBSCRIBE, UNSUBSCRIBE], n2=[SUBSCRIBE], n3=[PUBLISH])
    local = local_steps(Model(CHAIN | STILL | {"Todo": things}))

    worlds, ahead = {local.initial()}, [local.initial()]
    while ahead:
        found = {move.target for move in local.moves(ahead.pop())} - worlds
        worlds |= found
        ahead += found
    assert len(worlds) == len(explored(**STILL, Todo=things).depths)
    assert {type(state.lower) for state in local.states} == {wendy.State}
    assert all(peter.STATE.value(plain, state.self_id, state.config) == state for plain, state in shown(local.states))


def shown(states: list[Any]) -> list[tuple[Any, Any]]:
    return [(peter.STATE.plain(state), state) for state in states]


def test_world_where_somebody_comes_or_may_choose_has_no_nodes_on_wendy() -> None:
    for change in ({"Todo": todo(n1=[["crash", 0, 0]])}, {"Members": [2, 3]}, {"Knows": [[1, 2], [1, 3]], "Hops": "any"}):
        model = Model(CHAIN | STILL | change)
        with pytest.raises(ValueError, match="no tables"):
            model.project_state(model.nodes[0][1])


OPERATIONS = {"n1": [SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE], "n2": [SUBSCRIBE, UNSUBSCRIBE]}


def test_trees_are_right_at_rest_whatever_is_asked_of_them() -> None:
    assert broken(Todo=todo(**OPERATIONS)) is None


def test_own_interest_that_does_not_count_as_a_child_cuts_somebody_off() -> None:
    name, steps = broken("LiteralInterests", Todo=todo(**OPERATIONS)) or ("", 0)

    assert name in ("Mutual", "OneRoot", "TreeOfInterested", "NoOrphan", "Alternate")
    assert steps <= 6
    only_orphans = [p for p in PROPERTIES if p.name == "NoOrphan"]
    found = explore(VARIANTS[frozenset({"LiteralInterests"})](CHAIN | {"Todo": todo(**OPERATIONS)}), only_orphans)
    assert found.counterexample is not None


def test_messages_that_overtake_each_other_cut_somebody_off() -> None:
    assert broken(Todo=todo(n1=[SUBSCRIBE, UNSUBSCRIBE]), Fifo=False) is not None
    assert broken(Todo=todo(n1=[SUBSCRIBE, UNSUBSCRIBE])) is None


JOINING = {
    "Members": [1, 2],
    "Knows": [[1, 2], [3, 1], [3, 2]],
    "Subscribed": [[1, 1], [2, 1]],
    "Hops": "closest",
    "Todo": todo(n3=[["join", 0, 0]]),
}


def test_unsubscribe_that_is_routed_leaves_a_second_parent() -> None:
    assert broken(**JOINING) is None
    found = explore(VARIANTS[frozenset({"RoutedUnsubscribe"})](CHAIN | JOINING), [p for p in PROPERTIES if p.name == "OneParent"])
    assert found.counterexample is not None


def test_routes_that_disagree_make_a_circle() -> None:
    routes = {"Knows": [[1, 2], [2, 1]], "Astray": [[2, 1, 1]], "Members": [1, 2], "Node": [1, 2], "Order": [[1, 2, 1]]}
    found = explore(Model(CHAIN | routes | {"Todo": todo(n1=[SUBSCRIBE])}))

    assert {nodes["parent"] for nodes in ends(found)} == {(frozenset({(1, 2)}), frozenset({(1, 1)}))}


def everything(found: Exploration) -> tuple[Any, ...]:
    orders = list(found.depths.items()), list(found.parents.items())
    return *orders, found.edges, str(found.digest), found.system.states, found.system.messages


CHURN = {
    "Subscribed": [[1, 1]],
    "Knows": [[1, 2], [1, 3], [2, 3], [3, 2]],
    "Beating": [[1, 2]],
    "Todo": todo(n1=[PUBLISH, UNSUBSCRIBE, SUBSCRIBE], n2=[SUBSCRIBE, ["crash", 0, 0]]),
}


@pytest.mark.parametrize("is_ordered", [True, False])
def test_graph_is_the_same_by_several_processes_and_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ordered: bool
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)
    model = Model(CHAIN | CHURN | {"Fifo": is_ordered})
    alone = explore(model, digest=True)

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(model, digest=True, checkpoint=tmp_path, processes=2, progress=interrupt)
    resumed = explore(model, digest=True, checkpoint=tmp_path, processes=2)

    assert len(alone.depths) > 200
    assert everything(resumed) == everything(alone)
