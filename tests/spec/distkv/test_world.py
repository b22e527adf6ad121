"""The bounded world of DistKV: what its constants mean, its bounds, and the same however it is explored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spec.distkv.worlds import PAIR, TRIO, ends, explored, firing, run, shown, starting, todo

from peerproof.spec.distkv.model.bounded import Model
from peerproof.spec.distkv.model.variants import VARIANTS
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore

NOTHING: frozenset[Any] = frozenset()

ONE = ((1, 1),), False  #: the chain of the first change of node 1


def test_change_goes_to_all_others_and_not_back() -> None:
    found = explored(TRIO | {"Todo": todo(n1=[["set", 1, 5]])})

    nodes, net = run(found, "Command")
    assert net == {(1, 2, "update", 1, ONE, 5, 1), (1, 3, "update", 1, ONE, 5, 1)}
    assert nodes["entries"] == ({(1, ONE, 5, 1)}, NOTHING, NOTHING)
    assert (nodes["tock"], nodes["ticks"], nodes["todo"]) == ((1, 0, 0), ({(1, 1)}, NOTHING, NOTHING), ((), (), ()))
    assert [nodes["entries"] for nodes in ends(found)] == [(frozenset({(1, ONE, 5, 1)}),) * 3]
    assert (len(found.depths), found.edges) == (5, {"Command": 1, "Receive": 4})


def test_things_to_do_wait_until_the_node_is_ready_and_are_done_in_order() -> None:
    waiting = explored(PAIR | {"Starting": starting("new", "ready"), "Todo": todo(n1=[["set", 1, 1]])})
    found = explored(PAIR | {"Todo": todo(n1=[["set", 1, 1], ["delete", 1, 0], ["set", 0, 2]])})

    assert waiting.edges == {}
    (nodes,) = ends(found)
    assert nodes["entries"][1] == {(1, (((1, 2),), False), 0, 2), (0, (((1, 3),), False), 2, 3)}
    assert nodes["superseded"][1] == {(1, 1)}


def test_node_that_has_crashed_does_nothing_and_what_comes_to_it_vanishes() -> None:
    things = todo(n1=[["crash", 0, 0], ["set", 1, 1]], n2=[["set", 1, 2]])
    found = explored(PAIR | {"Todo": things, "Last": [[1, 1, 0, 1, 0]], "Firing": firing(n1="ping"), "MaxTock": 3})

    assert {(nodes["up"], nodes["todo"][0]) for nodes in ends(found)} == {((False, True), (("set", 1, 1),))}
    assert {len(nodes["entries"][0]) for nodes in ends(found)} == {0, 1}
    assert "Ping" not in {
        label for world in found.depths if not shown(found, world)[0]["up"][0] for label, _ in found.system.moves(world)
    }


def test_only_timers_that_are_let_expire_do_and_only_while_they_run() -> None:
    last = PAIR | {"Last": [[1, 1, 0, 1, 0], [2, 1, 0, 1, 0]], "MaxTock": 3}

    assert explored(last).edges == {}
    assert explored(last | {"Firing": firing(n1="initial known over")}).edges == {}
    assert explored(last | {"Firing": firing(n1="ping")}).edges.keys() == {"Ping", "Receive"}


def test_bounds_are_on_whole_steps() -> None:
    things = {"Todo": todo(n1=[["set", 1, 1], ["set", 1, 2]])}

    assert explored(PAIR | things | {"MaxTock": 1}).edges == {"Command": 1, "Receive": 1}
    assert explored(PAIR | things | {"MaxNet": 0}).edges == {}
    under_way = {"UnderWay": [[1, 2, 7, 0, 1, 0]], "Loss": True}
    assert explored(PAIR | under_way | {"MaxTock": 6}).edges == {"Lose": 1}
    assert explored(PAIR | under_way | {"MaxTock": 7}).edges == {"Receive": 1, "Lose": 1}


def test_node_has_at_first_what_the_constants_say() -> None:
    constants = PAIR | {
        "Had": [[1, 1, 5, 6, 1, 1, 3, 2, 1], [1, 0, 4, 2, 0, 2, 2]],
        "Gone": [[1, 1, 1], [1, 1, 2], [1, 2, 3]],
        "Shown": [[1, 2, 4], [2, 1, 2]],
        "Last": [[1, 9, 1, 1, 3, 2, 0], [2, 4, 0, 1, 3]],
        "Heard": [[1, 2, 8]],
        "Tock": [[2, 3]],
    }
    nodes, _ = run(explored(constants))

    assert nodes["entries"][0] == {(1, (((1, 3), (2, 1)), True), 5, 6), (0, (((2, 2),), False), 4, 2)}
    assert nodes["superseded"][0] == {(1, 1), (1, 2), (2, 3)}
    assert nodes["ticks"] == ({(1, 3), (2, 4)}, {(1, 3)})
    assert nodes["tock"] == (9, 3)
    assert nodes["heard"] == ({(2, 8)}, {(1, 4)})
    assert nodes["last"][0] == ((((1, 3), (2, 0)), True), 9)
    assert nodes["timers"] == ({"ping", "repair"}, {"ping", "repair"})


@pytest.mark.parametrize(
    ("how", "had", "phase", "timers"),
    [
        ("new", [], "empty", {"initial"}),
        ("first", [], "empty", {"founding"}),
        ("old", [[1, 1, 1, 1, 0, 1, 1]], "old", {"initial", "olddata"}),
        ("ready", [[1, 1, 1, 1, 0, 1, 1]], "ready", {"initial"}),
    ],
)
def test_node_starts_as_the_constants_say(how: str, had: list[Any], phase: str, timers: set[str]) -> None:
    nodes, _ = run(explored(PAIR | {"Starting": starting(how, "ready"), "Had": had}))

    assert (nodes["phase"][0], nodes["timers"][0]) == (phase, timers)


def test_first_node_founds_the_network_with_the_value_one_at_the_root() -> None:
    found = explored(PAIR | {"Starting": starting("first", "new"), "Firing": firing(n1="founding")})

    nodes, net = run(found, "Founding")
    assert nodes["entries"][0] == {(0, ONE, 1, 1)}
    assert (nodes["phase"][0], nodes["timers"][0]) == ("ready", {"initial"})
    assert net == {(1, 2, "update", 0, ONE, 1, 1), (1, 2, "ping", ONE, 2)}


LOADING = PAIR | {
    "Starting": starting("ready", "new"),
    "Had": [[1, 1, 5, 3, 0, 1, 2]],
    "Gone": [[1, 1, 1]],
    "Last": [[1, 4, 0, 1, 2]],
    "UnderWay": [[1, 2, 4, 0, 1, 2]],
}


def test_download_is_asked_for_given_and_taken_in_three_steps() -> None:
    found = explored(LOADING)

    nodes, net = run(found, "Receive")
    assert (nodes["source"][1], nodes["tried"][1]) == (1, {1})
    assert net == {(2, 1, "load")}
    _, net = run(found, "Receive", "Receive")
    assert net == {(1, 2, "loaded", frozenset({(1, (((1, 2),), False), 5, 3)}), frozenset({(1, 1)}), frozenset({(1, 2)}), 4)}
    nodes, net = run(found, "Receive", "Receive", "Receive")
    assert (nodes["phase"][1], nodes["source"][1], net) == ("ready", 0, NOTHING)
    assert nodes["entries"][0] == nodes["entries"][1]


def test_download_is_refused_by_who_has_no_data() -> None:
    found = explored(LOADING | {"Starting": starting("new", "new"), "Had": [], "Gone": [], "Last": []})

    assert run(found, "Receive", "Receive")[1] == {(1, 2, "refused")}
    nodes, net = run(found, "Receive", "Receive", "Receive")
    assert (nodes["phase"][1], nodes["source"][1], nodes["tried"][1], net) == ("empty", 0, {1}, NOTHING)


def test_download_that_comes_after_a_restart_is_nobodys() -> None:
    found = explored(LOADING | {"Restarting": [2], "MaxRestarts": 1})

    nodes, net = run(found, "Receive", "Receive", "Restart", "Receive")
    assert (nodes["phase"][1], nodes["entries"][1], net) == ("empty", NOTHING, NOTHING)


def test_restart_keeps_what_is_on_disk_and_what_is_still_to_be_done() -> None:
    restart = {"Restarting": [2], "MaxRestarts": 1, "Todo": todo(n2=[["crash", 0, 0], ["set", 1, 1]])}
    lasting = PAIR | {"Had": [[2, 1, 5, 3, 0, 1, 2]], "Tock": [[2, 6]]}
    kept, lost = (explored(lasting | restart | {"Forgetful": forgetful}) for forgetful in ([], [2]))

    nodes, _ = run(kept, "Command", "Restart")
    assert (nodes["up"][1], nodes["phase"][1], nodes["tock"][1]) == (True, "old", 6)
    assert (nodes["timers"][1], nodes["todo"][1]) == ({"initial", "olddata"}, (("set", 1, 1),))
    assert nodes["entries"][1] == {(1, (((1, 2),), False), 5, 3)}
    nodes, _ = run(lost, "Restart")
    assert (nodes["phase"][1], nodes["tock"][1], nodes["timers"][1]) == ("empty", 0, {"initial"})
    assert (nodes["entries"][1], nodes["ticks"][1]) == (NOTHING, NOTHING)
    assert kept.edges["Restart"] == 2
    assert {world[2] for world in kept.depths} == {0, 1}


def test_first_node_that_starts_again_is_a_new_one() -> None:
    found = explored(PAIR | {"Starting": starting("first", "new"), "Restarting": [1], "MaxRestarts": 1})

    nodes, _ = run(found, "Restart")
    assert nodes["timers"][0] == {"initial"}


SPLIT = PAIR | {
    "Path": [1, 2],
    "Had": [[1, 1, 1, 6, 0, 1, 1], [2, 2, 2, 5, 0, 2, 1]],
    "Last": [[1, 8, 0, 1, 1], [2, 7, 0, 2, 1, 2, 0]],
    "UnderWay": [[1, 2, 8, 0, 1, 1, 1, 0], [2, 1, 7, 0, 2, 1, 2, 0]],
    "MaxTock": 13,
    "MaxNet": 3,
    "Firing": firing(n1="missing", n2="missing"),
}


def test_split_that_has_healed_is_recovered_from() -> None:
    found = explored(SPLIT)

    both = {nodes["entries"] for nodes in ends(found)}
    everything = frozenset({(1, ONE, 1, 6), (2, (((2, 1),), False), 2, 5)})
    assert (everything, everything) in both
    nodes, net = run(found, "Receive")
    mine, other = (((2, 1), (2, 0)), False), (((1, 1), (1, 0)), False)
    assert nodes["recovery"][1] == (mine, {2}, True, (other,), NOTHING)
    ticks = frozenset(
        {
            (1, 1),
            (2, 1),
        }
    )
    assert (2, 1, "info", 1, (other,), 9, NOTHING, ticks | {(1, 1)}, NOTHING, (mine,)) in net


def test_what_is_lost_is_asked_for_and_sent_again() -> None:
    things = {"Todo": todo(n1=[["set", 1, 1], ["set", 2, 2]]), "Path": [1, 2]}
    found = explored(PAIR | things | {"Loss": True, "MaxNet": 2, "MaxTock": 5, "Firing": firing(n2="repair", n1="known")})

    assert {"Repair", "RecoverKnown", "Lose"} <= found.edges.keys()
    whole = [nodes for nodes in ends(found) if nodes["entries"][0] == nodes["entries"][1] != NOTHING]
    assert any("allowed" in nodes["timers"][1] for nodes in whole)


def everything(found: Exploration) -> tuple[Any, ...]:
    orders = list(found.depths.items()), list(found.parents.items())
    return *orders, found.edges, str(found.digest), found.system.states, found.system.messages


CHURN = SPLIT | {"Todo": todo(n1=[["set", 2, 3]], n2=[["crash", 0, 0]]), "Restarting": [2], "MaxRestarts": 1, "MaxTock": 9}


def test_graph_is_the_same_by_several_processes_and_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerproof.spec.model.explorer.WORTH_SHARING", 2)
    alone = explore(Model(CHURN), digest=True)

    def interrupt(_seen: int, _waiting: int, depth: int) -> None:
        if depth == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(Model(CHURN), digest=True, checkpoint=tmp_path, processes=2, progress=interrupt)
    resumed = explore(Model(CHURN), digest=True, checkpoint=tmp_path, processes=2)

    assert len(alone.depths) > 100
    assert everything(resumed) == everything(alone)


def test_model_without_changes_is_the_specification() -> None:
    assert str(explored(SPLIT).digest) == str(explore(VARIANTS[frozenset()](SPLIT), digest=True).digest)
    assert str(explored(SPLIT).digest) == str(explore(Model(SPLIT), digest=True).digest)
