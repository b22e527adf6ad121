"""The replay of text comes to what the replay of lines comes to, whatever is wrong with them, and most of it at once."""

from __future__ import annotations

import json
from random import Random

import pytest
from tests.support.changed_traces import CHANGES, edited
from tests.support.watched import recorded

from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.replay import LINES_BEFORE, MOST_TOLD, Replay, replay
from peerproof.spec.traces.trace import parse
from peerproof.spec.traces.trace import replay as replay_lines

SPEC: Specification = scuttlebutt


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """A trace that agrees, of a small cluster with loss, duplication and a restart."""
    faults = Faults(loss=0.1, duplication=0.1)
    return recorded("scuttlebutt", "replay", 4, 12, 5, {"max_payload": 90}, faults=faults, crashes=((1, 4),), restarts=((1, 6),))


#: What changes nothing that is said.
ALIKE = {
    "nothing": CHANGES["scuttlebutt"]["nothing"],
    "nothing, once more": CHANGES["scuttlebutt"]["nothing, once more"],
    "spaces": edited('"picks":[', '"picks": ['),
    "a number written as no integer": edited('"after":1000', '"after":1000.0'),
}
CHANGED = {
    **{name: change for name, change in CHANGES["scuttlebutt"].items() if name != "the file ends within a line"},
    **ALIKE,
    "another peer": edited('"peer":"n0:1"', '"peer":"n3:1"'),
    "another time": edited('"t_us":1', '"t_us":2'),
    "a configuration out of bounds": edited('"interval":1000', '"interval":0'),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("change", CHANGED)
def test_it_finds_what_the_replay_of_lines_finds(change: str, seed: int, lines: list[str]) -> None:
    wrong = CHANGED[change](lines, Random(f"{change} {seed}"))

    found = [divergence for line in [Replay(SPEC)] for text in wrong if (divergence := line.text(text))]

    assert found == list(replay_lines(SPEC, map(parse, wrong)))
    assert replay(wrong, SPEC).divergences == tuple(found)
    assert (change in ALIKE) <= (not found)


def members(text: str, *, sort: bool) -> list[object]:
    """What `agrees` gets of a line."""
    line = json.loads(text)
    parts = {
        name: json.dumps(line[name], separators=(",", ":"), sort_keys=sort, ensure_ascii=False)
        for name in ("args", "picks", "effects")
    }
    return [{**line, **parts}[name] for name in ("run", "node", "seq", "t_us", "kind", "peer", *parts, "state")]


@pytest.mark.parametrize("sort", [False, True])
def test_a_recorded_line_agrees_at_once_unless_it_is_a_start(sort: bool, lines: list[str]) -> None:
    replayed = Replay(SPEC, sort=sort)

    slow = []
    for text in lines:
        if not replayed.agrees(members(text, sort=sort)):
            slow.append(parse(text).kind)
            assert replayed.line(parse(text)) is None

    assert set(slow) == {"start"}


def test_what_cannot_be_seen_at_once_has_not_happened(lines: list[str]) -> None:
    replayed, start = Replay(SPEC), parse(lines[0])
    replayed.line(start)
    node = replayed.nodes[start.run, start.node]
    before = node.course.state, node.course.seq, node.events
    own = [text for text in lines[1:] if parse(text).node == start.node]

    for place, other in ((4, "start"), (6, "{"), (6, '{"type":"gossip"}'), (7, "[["), (8, "[{}]"), (9, "0")):
        told = members(own[0], sort=False)
        told[place] = other
        assert not replayed.agrees(told)

    assert (node.course.state, node.course.seq, node.events) == before
    assert replayed.agrees(members(own[0], sort=False))


def test_members_in_another_place_are_not_taken_for_those_of_the_line(lines: list[str]) -> None:
    """A line is cut at the names of its members; a name inside of another member must not be cut at."""
    start = lines[0]
    inner = start.replace('"args":{', '"args":{"x":{"picks":[],"effects":[]},', 1)

    (divergence,) = replay([inner], SPEC).divergences

    assert divergence.what == "args"
    assert "expected one of seeds, interval" in divergence.actual


def test_a_line_that_is_none_is_counted_and_changes_nothing(lines: list[str]) -> None:
    bad = ["", "{", "null", lines[3][:-5], lines[3].replace('"protocol":"scuttlebutt"', '"protocol":"swim"')]
    mixed = [*lines[:10], *bad, *lines[10:]]

    verdict = replay(mixed, SPEC)

    assert not verdict
    assert (verdict.events, verdict.nodes, verdict.unreadable, verdict.divergences) == (len(lines), 4, len(bad), ())
    assert replay(lines, SPEC)


def test_a_line_of_another_protocol_is_refused(lines: list[str]) -> None:
    with pytest.raises(MalformedMessage, match="a line of the protocol 'swim', not of scuttlebutt"):
        Replay(SPEC).text(lines[0].replace('"protocol":"scuttlebutt"', '"protocol":"swim"'))


def test_of_a_node_it_keeps_a_state_and_the_lines_before_a_divergence(lines: list[str]) -> None:
    replayed = Replay(SPEC)
    own = [text for text in lines if parse(text).node == "n2:1"]
    for text in lines:
        if replayed.text(text.replace('"state":"', '"state":"0') if text == own[7] else text):
            break
    assert list(replayed.nodes["seed-replay", "n2:1"].recent) == own[2:7]

    replayed = Replay(SPEC)
    for text in lines:
        replayed.text(text)
    for (_, name), node in replayed.nodes.items():
        own = [text for text in lines if parse(text).node == name]
        assert (list(node.recent), node.events) == (own[-LINES_BEFORE:], len(own))


def test_of_many_divergences_the_first_are_told_and_all_are_counted(lines: list[str]) -> None:
    wrong = [lines[0].replace('"state":"', '"state":"0').replace('"run":"', f'"run":"{run}') for run in range(MOST_TOLD + 5)]

    verdict = replay(wrong, SPEC)

    assert verdict.diverged == verdict.nodes == MOST_TOLD + 5
    assert len(verdict.divergences) == MOST_TOLD
