"""The nearest difference of two graphs is drawn in the same words for both sides, whatever the values of the protocol are."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from peerproof.conformance.models.difference_diagram import draw_difference
from peerproof.conformance.models.graph_comparison import Difference, Unknown, canonical
from peerproof.spec.model.bounded import System, World
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla.manifest import configurations
from peerproof.tla.output.values import function


def explored(protocol: str) -> Exploration:
    """The smallest graph of a protocol."""
    return explore(PROTOCOLS[protocol].bounded.load().Model(configurations(protocol)["tiny"].constants))


def unknown(system: System, world: World) -> Unknown:
    """A state of the exploration as TLC prints one."""
    model, count = system.model, len(system.places)
    rows = [model.node_values(system.states[number]) for number in world[:count]]
    of_nodes = {
        name: function(dict(zip(model.names, map(canonical, values), strict=True)))
        for name, values in zip(model.node_variables, zip(*rows, strict=True), strict=True)
    }
    return Unknown({**of_nodes, "restarts": world[count], "net": system.net_value(world[count + 1 :])})


def below(lines: list[str], heading: str) -> list[str]:
    """The lines below a heading, to the next one."""
    begin = next(at for at, line in enumerate(lines) if line.endswith(heading)) + 1
    return lines[begin : next((at for at, line in enumerate(lines) if at > begin and line.endswith(" only:")), None)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_step_of_both_sides_has_the_same_lines(protocol: str) -> None:
    exploration = explored(protocol)
    system = exploration.system
    for source in islice(exploration.depths, 0, None, 1 + len(exploration.depths) // 50):
        for label, target in system.moves(source):
            tla, python = (("TLA+", unknown(system, target)), ("Python", target))

            lines = draw_difference(exploration, [Difference(side, source, label, to, 1) for side, to in (tla, python)])

            headings = [f"{exploration.depths[source] + 1}. {label}, in {side} only:" for side in ("TLA+", "Python")]
            assert below(lines, headings[0]) == below(lines, headings[1]) != []


def test_step_is_shown_beside_the_one_of_the_other_side_that_is_most_like_it() -> None:
    exploration = explored("scuttlebutt")
    system, start = exploration.system, exploration.system.initial()
    moves = sorted(system.moves(start))
    changed = Unknown({**unknown(system, next(to for label, to in moves if label == "Update")).variables, "restarts": 1})

    lines = draw_difference(
        exploration, [Difference("TLA+", start, "Update", changed, 2), *(Difference("Python", start, *move, 1) for move in moves)]
    )

    assert lines == [
        "        .         from here: 2 steps in TLA+ only, 4 steps in Python only",
        "        .         1. Update, in TLA+ only, 2 times:",
        "node 2  .         store[2].pairs = {(a, x, 1)}, store[2].version = 1",
        "        .         restarts = 1",
        "        .         1. Update, in Python only:",
        "node 2  .         store[2].pairs = {(a, x, 1)}, store[2].version = 1",
    ]


def test_initial_states_are_shown_by_what_differs() -> None:
    exploration = explored("scuttlebutt")
    system, start = exploration.system, exploration.system.initial()
    after = unknown(system, max((to for _, to in system.moves(start)), key=len))

    lines = draw_difference(
        exploration, [Difference("TLA+", None, "Init", after, 1), Difference("Python", None, "Init", start, 1)]
    )

    assert lines == [
        "        .         initial states: 1 state in TLA+ only, 1 state in Python only",
        "        .         Init, in TLA+ only:",
        "node 2  .         under way to node 1: digest_request [2 0]",
        "        .         Init, in Python only:",
        "node 2  .         not under way to node 1: digest_request [2 0]",
    ]


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [("entries", 7, "n1  .     entries = 7"), ("net", frozenset({(1, 2, "update", "odd")}), "n1  .     sent to n2: update odd")],
)
def test_values_that_the_model_does_not_know_are_shown_plainly(variable: str, value: Any, line: str) -> None:
    """A module under change may have them."""
    exploration = explored("distkv")
    system, start = exploration.system, exploration.system.initial()
    variables = unknown(system, start).variables
    changed = value if variable == "net" else function({1: value, 2: variables[variable][1]})

    lines = draw_difference(exploration, [Difference("TLA+", start, "Command", Unknown({**variables, variable: changed}), 1)])

    assert lines[-3:] == [
        "    .     from here: 1 step in TLA+ only, 0 steps in Python only",
        "    .     1. Command, in TLA+ only:",
        line,
    ]
