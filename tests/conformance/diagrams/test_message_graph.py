"""Pictures of what happened say who told whom what, in which order, and what came of it."""

from __future__ import annotations

from typing import Any, Final

import pytest

from peerproof.conformance.diagrams.labels import message_text, visible
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.models.run_diagram import of_path, value_text
from peerproof.conformance.runner.trial import on_connection
from peerproof.spec.distkv.model.bounded import Model as DistKVModel
from peerproof.spec.model.bounded import FAIL, LOSE, System
from peerproof.spec.model.exploration import Edge
from peerproof.spec.peter.model.bounded import Model as PeterModel
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.spec.swim.model.bounded import Model as SwimModel
from peerproof.spec.wendy.model.bounded import Model as WendyModel
from peerproof.tla.manifest import configurations
from peerproof.tla.output.values import function

CONSTANTS = configurations("scuttlebutt")["tiny"].constants


def walked(constants: Any, *labels: str, of: Any = Model) -> tuple[System, list[Edge]]:
    """The system of a model, and the first edge with each label that changes anything, in turn."""
    system = System(of(constants))
    world, path = system.initial(), []
    for label in labels:
        path.append(next(Edge(*move) for move in system.moves(world) if move[0] == label and move[1] != world))
        world = path[-1].target
    return system, path


def test_what_others_named_and_said_is_made_visible() -> None:
    assert MessageGraph(("a\udcff",), (Note("a\udcff", "\x1b[2J"),)).text() == "a\\u{dcff}  .     \\u{1b}[2J"


def test_four_kinds_of_arrows_and_the_notes_can_be_told_apart() -> None:
    arrows = [Arrow("a", "b:1", "x", judged, lost) for judged in (False, True) for lost in (False, True)]
    graph = MessageGraph(("a", "b:1"), (*arrows, Note("a", "m;n"), Note("", "all")))

    assert graph.text().splitlines() == [
        "  a -> b:1  x",
        "  a -x b:1  x",
        "  a => b:1  x",
        "  a -x b:1  x",
        "  a  .      m;n",
        "     .      all",
    ]
    assert graph.mermaid().splitlines() == [
        "sequenceDiagram",
        "    participant p0 as a",
        "    participant p1 as b:1",
        "    p0->>p1: x",
        "    p0-xp1: x",
        "    p0-->>p1: x",
        "    p0--xp1: x",
        "    Note over p0: m#59;n",
        "    Note over p0,p1: all",
    ]
    assert MessageGraph.from_mermaid(graph.mermaid()) == graph
    with pytest.raises(ValueError, match="not a line of a diagram"):
        MessageGraph.from_mermaid("sequenceDiagram\n    loop")


@pytest.mark.parametrize(
    ("label", "mermaid"),
    [
        ("a;b#c", "a#59;b#35;c"),
        ("<br/>x", "#60;br/>x"),
        ("%%{init}%% $$x$$", "#37;#37;{init}#37;#37; #36;#36;x#36;#36;"),
        ("wrap: x", "wrap#58; x"),
        ("lifestyle: x;y", "lifestyle#58; x#59;y"),
        ("at 5: x", "at 5: x"),
        ("one\ntwo\x00", "one two\\u{0}"),
        ("x" * 59 + " y", "x" * 59 + "<br/>y"),
    ],
)
def test_no_label_breaks_a_mermaid_diagram(label: str, mermaid: str) -> None:
    """Mermaid 11 shows each of them as it is; without the signs' numbers it drops a part, or all of the diagram."""
    drawn = MessageGraph(("a",), (Arrow("a", "a", label), Note("", label))).mermaid()

    assert drawn.splitlines()[-2] == f"    p0->>p0: {mermaid}"
    assert MessageGraph.from_mermaid(drawn).mermaid().splitlines()[:-1] == drawn.splitlines()[:-1]


def test_what_would_not_be_seen_is_written_out() -> None:
    assert visible("a\x00b\u200bc\nd") == "a\\u{0}b\\u{200b}c\nd"


def test_run_is_drawn_where_messages_arrive_with_what_they_change() -> None:
    graph = of_path(*walked(CONSTANTS, "Update", "Round", "Receive"))

    assert graph.text().splitlines() == [
        "node 1  .         1. Update",
        "node 1  .         store[1].version = 1, store[1].pairs = {(a, x, 1)}",
        "node 2  .         2. Round",
        "node 2 -> node 1  3. digest_request [2 0]",
        "node 1  .         store[2] = {version: 0, pairs: {}}",
        "node 1  .         still under way to node 2, sent in 3: delta []",
    ]


def test_run_of_another_protocol_is_in_the_terms_of_its_model_without_what_is_not_wanted() -> None:
    system = System(SwimModel(configurations("swim")["tiny"].constants))
    world = system.initial()
    path = [Edge(*next(system.moves(world)))]
    path.append(next(Edge(*move) for move in system.moves(path[-1].target) if move[0] == "Receive"))

    whole, reduced = of_path(system, path), of_path(system, path, ("own", "pinged", "unanswered", "queue", "payload", "misses"))

    assert whole.happenings[1] == Note("node 2", "own = (0, 1), table[1].unanswered = (1), pinged = {1}")
    assert whole.happenings[2] == reduced.happenings[1] == Arrow("node 2", "node 1", "2. ping [0, 1] [joining 2 0 1]")
    assert reduced.happenings[2] == Note(
        "node 1", "table[2] = {status: joining, incarnation: (0, 1), exchange: done, indirect: 0, asked: False}"
    )


def test_long_labels_are_broken_into_lines_for_mermaid_only() -> None:
    graph = MessageGraph(("a",), (Note("a", " ".join(["word"] * 20)),))

    assert graph.text().count("\n") == 0
    assert graph.mermaid().count("<br/>") == 1


def test_message_that_is_lost_or_comes_twice_or_late_says_so() -> None:
    twice = {**CONSTANTS, "Duplication": True}

    lost = of_path(*walked(CONSTANTS, "Round", "Update", LOSE))
    again = of_path(*walked(twice, "Round", "ReceiveAgain"))

    assert lost.happenings[-1] == Arrow("node 2", "node 1", "3. digest_request [2 0] (sent in 1)", lost=True)
    assert again.happenings[1] == Arrow("node 2", "node 1", "2. digest_request [2 0] (once more)")


#: Two nodes, of which one may crash, and the other may join it.
RING: Final[dict[str, Any]] = {
    "Node": [0, 2],
    "Digits": 2,
    "DigitBits": 2,
    "LeafSide": 1,
    "Neighborhood": 1,
    "TwoSided": False,
    "Start": "stable",
    "Founders": [],
    "Todo": [[0, "crash", 0], [2, "join", 0]],
    "Acquainted": True,
    "Score": [],
    "Flush": False,
    "Heartbeats": [],
    "MaxNet": 2,
    "MaxVersion": 2,
    "MaxRestarts": 0,
    "Restarting": [],
}


def test_message_over_a_connection_changes_both_ends_or_fails_at_its_sender() -> None:
    system = System(WendyModel(RING))
    crashed, asked = (
        next(Edge(*move) for move in system.moves(system.initial()) if move[1][at] != system.fresh[at]) for at in (0, 1)
    )
    arrived = next(Edge(*move) for move in system.moves(asked.target) if move[0] == "Receive")
    answered = next(Edge(*move) for move in system.moves(arrived.target) if move[0] == "Receive")
    without = ("todo", "cache", "scores", "rt", "ns", "versions", "stored")

    assert of_path(system, [asked, arrived, answered], without).text().splitlines() == [
        "node 2  .         1. Command: join through node 0",
        "node 2  .         stage = joining, contact = (0)",
        "node 2 -> node 0  2. join 2 2 [0, 0, 0] 0 []",
        "node 2  .         contact = ()",
        "node 0 -> node 2  3. state 0 0 [0, 0, 0] 0 [{}, ((), ()), (), True]",
        "node 2  .         stage = waiting, ls = ((0), ())",
    ]
    late = next(Edge(*move) for move in system.moves(crashed.target) if move[1][1] != system.fresh[1])
    failed = next(Edge(*move) for move in system.moves(late.target) if move[0] == FAIL)
    assert of_path(system, [crashed, late, failed], without).text().splitlines()[-2:] == [
        "node 2 -x node 0  3. join 2 2 [0, 0, 0] 0 []",
        "node 2  .         stage = alone, contact = ()",
    ]


def test_of_equal_messages_in_an_ordered_network_the_one_that_was_sent_first_arrives_first() -> None:
    constants = configurations("peter")["in-order"].constants

    happenings = of_path(*walked(constants, "Command", "Command", "Command", "Receive", of=PeterModel)).happenings

    assert [each for each in happenings if isinstance(each, Arrow)] == [
        Arrow("node 1", "node 2", "4. subscribe 1 0 0 (sent in 1)")
    ]
    assert [each.label for each in happenings[-3:]] == [
        "still under way to node 2, sent in 2: unsubscribe 1 0 0",
        "still under way to node 2, sent in 3: subscribe 1 0 0",
        "still under way to node 3, sent in 4: subscribe 1 0 0",
    ]


def test_restart_is_told_by_what_is_forgotten() -> None:
    constants = {**CONSTANTS, "MaxRestarts": 1, "Restarting": [1]}

    graph = of_path(*walked(constants, "Round", "Receive", "Restart"))

    assert graph.happenings[3:5] == (Note("node 1", "3. Restart"), Note("node 1", "store[2] is gone"))


def test_messages_and_values_are_short_but_whole() -> None:
    assert message_text({"type": "delta", "entries": [{"addr": "a", "version": 3}]}) == "delta [a 3]"
    assert message_text("no message: truncated") == "no message: truncated"
    assert value_text(function({2: frozenset({("b", 1), ("a", 2)})})) == "{2: {(a, 2), (b, 1)}}"


def test_model_may_say_in_its_own_way_what_messages_hold_and_what_is_new() -> None:
    system, path = walked(configurations("distkv")["tiny"].constants, "Command", "Receive", "Command", of=DistKVModel)

    shown = of_path(system, path, without=("tock", "todo")).text().splitlines()

    assert shown == [
        "n1  .     1. Command: set /1 = 1",
        "n1  .     ticks n1@1, /1 = 1 [n1@1] tock 1",
        "n1 -> n2  2. update: /1 = 1 [n1@1] tock 1",
        "n2  .     ticks n1@1, /1 = 1 [n1@1] tock 1",
        "n1  .     3. Command: delete /1",
        "n1  .     ticks n1@2, /1 = Null [n1@2] tock 2, superseded n1@1",
        "n1  .     still under way to n2, sent in 3: update: /1 = Null [n1@2] tock 2",
    ]
    assert of_path(system, path, without=("tock", "todo", "net")).text().splitlines() == shown[:-1]


def test_of_many_bytes_on_a_connection_the_first_are_shown() -> None:
    assert on_connection({"conn": "c1", "event": "open"}) == "connection c1: open"
    assert on_connection({"conn": "c1", "event": "data", "bytes": "7b7d"}) == "connection c1: data 7b7d"
    shown = on_connection({"conn": "c1", "event": "data", "bytes": "7b" + "20" * 2**20})
    assert shown.startswith("connection c1: data 7b2020")
    assert shown.endswith("20… (1048577 bytes)")
    assert len(shown) < 500
