"""A walk through a model takes the edges of its state graph and no others, and a path leads to the same world everywhere."""

from __future__ import annotations

import json
from collections import deque
from random import Random

import pytest

from peerproof.cli.main import main
from peerproof.conformance.explorer.walk import NoSuchModel, NoSuchPath, TooMany, Walk, explorable
from peerproof.conformance.models.counterexamples import questions_of
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import models

#: Of each protocol the smallest, one with faults, and one whose nodes are not those of the protocol.
MODELS = [
    ("scuttlebutt", "tiny"),
    ("scuttlebutt", "small-b"),
    ("scuttlebutt", "BX-05-newest-first"),
    ("swim", "small-relay"),
    ("swim", "SX-02-stale-rumour"),
    ("wendy", "small-crash"),
    ("wendy", "small-restart"),
    ("peter", "small-crash"),
    ("peter", "small-bag"),
    ("distkv", "small-loss"),
    ("distkv", "small-split"),
]


def strolled(walk: Walk, seed: str, steps: int = 15) -> list[str]:
    """A path that takes moves at random."""
    chance, path = Random(seed), list[str]()
    for _ in range(steps):
        moves = list(walk.moves(walk.follow(path)[-1][1]))
        if not moves:
            break
        path.append(chance.choice(moves))
    return path


@pytest.mark.parametrize(("protocol", "name"), MODELS)
@pytest.mark.parametrize("seed", ["a", "b"])
def test_the_moves_are_the_edges_of_the_graph(protocol: str, name: str, seed: str) -> None:
    walk = Walk(protocol, name)

    for _, world in walk.follow(strolled(walk, seed)):
        moves = walk.moves(world)
        assert {(move.label, move.target) for move in moves.values()} == set(walk.system.moves(world))
        assert len(set(moves)) == len(moves)


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), MODELS)
def test_a_path_leads_to_the_same_world_whatever_was_explored_before(protocol: str, name: str) -> None:
    """What a page shows of it is equal, and is plain data."""
    first, second = Walk(protocol, name), Walk(protocol, name)
    path = strolled(first, "somewhere")
    strolled(second, "elsewhere"), strolled(second, "farther", 40)

    shown, again = (json.loads(json.dumps(walk.view(path))) for walk in (first, second))

    for view in (shown, again):
        view["net"] = sorted((one["from"], one["to"], one["text"]) for one in view["net"])
        view["moves"] = sorted((one["id"], one["event"], json.dumps(one["changes"], sort_keys=True)) for one in view["moves"])
        view["blocked"] = sorted(
            (one["kind"], one["node"], one["event"], one["message"]["text"] if one["message"] else "") for one in view["blocked"]
        )
        for done in view["steps"]:
            done["message"] = done["message"] and done["message"]["text"]
            done["sends"] = sorted(one["text"] for one in done["sends"])
    assert shown == again


def test_a_change_is_marked_at_the_node_that_has_it() -> None:
    walk = Walk("scuttlebutt", "tiny")
    update = next(name for name, move in walk.moves(walk.system.initial()).items() if move.event.startswith("update_local"))

    view = walk.view([update])

    changed = {node["name"]: [field["name"] for field in node["fields"] if field["changed"]] for node in view["nodes"]}
    assert [fields for fields in changed.values() if fields] == [["store[1].version", "store[1].pairs"]]
    assert [said["kind"] for said in view["steps"]] == ["local"]


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        ("scuttlebutt", "BX-01-round-sync"),  # remembers the way
        ("scuttlebutt", "BX-05-newest-first"),
        ("peter", "PX-02-overtaken"),
        ("distkv", "DX-04-own"),
    ],
)
def test_the_shortest_way_to_a_violation_leads_there(protocol: str, name: str) -> None:
    (model,) = [model for model in models(protocol) if model.name == name]
    walk = Walk(protocol, name)
    assert model.violated in {reach.name for reach in walk.reaches()}

    path = walk.way_to(str(model.violated))

    assert path is not None
    views = [walk.view(path[:steps]) for steps in range(len(path) + 1)]
    held = [[each["holds"] for each in view["properties"] if each["name"] == model.violated] for view in views]
    assert held == [[True]] * len(path) + [[False]]


@pytest.mark.parametrize(
    ("name", "question", "shows"),
    [
        ("sometimes-refuted", "NeverRefuted", "table[3].status = normal"),  # the last step is the arrival that refutes
        ("sometimes-indirect-ack", "NeverIndirectAck", "[indirect-ack 3 0 2"),  # a message under way shows it
        ("small-suspicion", "NeverSuspicious", "table[2].status = suspicious"),  # the state of a node shows it
    ],
)
def test_the_way_to_an_answer_ends_where_it_can_be_seen(name: str, question: str, shows: str) -> None:
    """The page says why: because of messages under way, because of what one will do, or because of the nodes alone."""
    walk = Walk("swim", name)

    path = walk.way_to(question)

    assert path is not None
    view = json.loads(json.dumps(walk.view(path, question)))
    asked, last = view["asked"], view["steps"][-1]
    assert shows in json.dumps([last["changes"], last["sends"]])
    caused = next(at for at, cause in enumerate(asked["causes"]) if cause is not None)
    assert caused == len(path) - (asked["of"] == "arrival")
    if asked["of"] == "arrival":
        assert asked["causes"][caused] == [last["message"]["number"]]
    else:
        assert asked["causes"][caused] == [message["number"] for message in last["sends"] if shows in message["text"]]


def test_an_arrival_by_chance_is_the_one_that_the_question_asks_for() -> None:
    """Of all arrivals of the message that leave this world, the last step is one that makes the question true."""
    walk = Walk("wendy", "sometimes-back")

    path = walk.way_to("NeverBack")

    assert path is not None
    assert "departed = {}" in json.dumps(walk.view(path)["steps"][-1])


@pytest.mark.parametrize(
    ("model", "name", "about"),
    [
        ("small-churn", "GoneStaysAway", "Does a node that has gone stay out of the tables if departed nodes are remembered?"),
        ("small-churn", "AtMostOneOwner", "Has a key at most one owner?"),
        ("small-churn", "NeverForwarded", "Can a join be forwarded?"),
        (
            "WX-01-two-owners",
            "AtMostOneOwner",
            "Has a key at most one owner? No: the old owner has not heard of the new one yet.",
        ),
    ],
)
def test_a_question_has_no_answer_and_no_premise_of_another_model(model: str, name: str, about: str) -> None:
    assert {reach.name: reach.about for reach in Walk("wendy", model).reaches()}[name] == about


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_question_has_a_text(protocol: str) -> None:
    assert all(len(reach.about) > 5 for reach in Walk(protocol, next(iter(explorable(protocol)))).reaches())


def test_what_cannot_happen_has_no_way() -> None:
    walk = Walk("scuttlebutt", "tiny")
    reachable = {reach.name for reach in walk.reaches()}

    assert reachable <= questions_of("scuttlebutt").QUESTIONS.keys()
    assert walk.way_to("OwnerDominates") is None


def test_a_path_with_a_move_that_is_not_there_is_refused() -> None:
    walk = Walk("swim", "small-a")
    path = strolled(walk, "a", 3)

    with pytest.raises(NoSuchPath, match="no move 'beef' at step 3 of the path"):
        walk.view([*path[:2], "beef"])


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_can_be_explored_opens_and_other_models_are_refused(protocol: str) -> None:
    """Models of whole rings, and of time, have no nodes of the specification: TLC alone runs them."""
    for name in [*explorable(protocol)][::9]:
        assert Walk(protocol, name).view([])["moves"]

    with pytest.raises(NoSuchModel) as refused:
        Walk(protocol, "routing" if protocol == "wendy" else "nothing")
    assert "tiny" in refused.value.known


def test_a_state_that_is_described_is_found_by_a_shortest_way() -> None:
    """Of any node, or of the named one; no state has a value that no node ever has."""
    walk = Walk("swim", "small-suspicion")

    path = walk.way_to_state("table[2].status", "suspicious", "node 1")

    assert path is not None
    views = [walk.view(path[:-1]), walk.view(path)]
    seen = [{field["name"]: field["value"] for field in view["nodes"][0]["fields"]} for view in views]
    assert [fields["table[2].status"] for fields in seen] == ["normal", "suspicious"]
    assert walk.way_to_state("table[2].status", "suspicious") == path
    assert walk.way_to_state("table[2].status", "suspicious", "node 2") is None
    assert walk.way_to_state("table[2].status", "asleep") is None


def test_the_whole_model_has_the_worlds_and_moves_of_the_walk() -> None:
    """What a page without a server shows is made from it: the worlds are numbered as they are found."""
    walk = Walk("swim", "small-suspicion")
    data = json.loads(json.dumps(walk.whole()))
    worlds, waiting = {walk.system.initial(): 0}, deque([walk.system.initial()])

    while waiting:
        world = waiting.popleft()
        moves = walk.moves(world)
        for move in moves.values():
            if move.target not in worlds:
                worlds[move.target] = len(worlds)
                waiting.append(move.target)
        wanted = {name: (move.kind, walk.names[move.place], move.event, worlds[move.target]) for name, move in moves.items()}
        found = {
            name: (data["kinds"][kind], data["nodes"][node], data["events"][event], target)
            for name, kind, node, _, event, _, target in data["moves"][worlds[world]]
        }
        assert found == wanted
    assert len(data["worlds"]) == len(data["broken"]) == len(worlds)


def test_a_file_has_the_questions_of_its_model_and_the_step_that_shows_the_answer() -> None:
    """By the first world that answers with no, the page goes the way that the server goes."""
    walk = Walk("swim", "small-suspicion")
    path = walk.way_to("NeverRefuted")
    assert path is not None

    data = walk.whole()

    number = [each["name"] for each in data["questions"]].index("NeverRefuted")
    world = 0
    for name in path[:-1]:
        world = next(move[-1] for move in data["moves"][world] if move[0] == name)
    (answer,) = [(cause, shown) for place, cause, shown in data["answers"][world] if place == number]
    assert (len(answer[0]), answer[1]) == (1, path[-1])


@pytest.mark.parametrize(("protocol", "name"), [("swim", "tiny"), ("scuttlebutt", "BX-01-round-sync")])  # it remembers the way
def test_a_model_that_is_too_large_for_a_file_is_refused(protocol: str, name: str) -> None:
    with pytest.raises(TooMany, match="more than 100 states"):
        Walk(protocol, name).whole(most=100)


@pytest.mark.parametrize(
    ("protocol", "name", "problem"),
    [
        ("swim", "SL-02-crash", "the model SL-02-crash cannot be explored: its runs are endless"),
        (
            "distkv",
            "ping-two",
            "the model ping-two cannot be explored: it models a part of the protocol, not the state of whole ",
        ),
        ("wendy", "WX-04-late-versions", "the model WX-04-late-versions cannot be explored: only its TLA+ module has the steps "),
        ("swim", "absent", "unknown model 'absent'\ntip: there are tiny, "),
    ],
)
def test_a_model_that_cannot_be_explored_is_refused(
    protocol: str, name: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "explore", protocol, "--model", name]) == 2
    assert capsys.readouterr().err.startswith(f"error: {problem}")
