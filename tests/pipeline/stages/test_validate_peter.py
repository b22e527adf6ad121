"""Peter through the pipeline: with and without effects, by messages alone, all nodes together; right, and wrong in one way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import Row, foreign, of_node, place_of, simulated, validated
from tests.pipeline.stages.test_validate import checked
from tests.pipeline.stages.test_validate_wendy import lots, of_type, sent

from peerproof.spec import peter
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.traces.trace import Line

CHURN: dict[str, Any] = {"config": {"heartbeat": 30_000}, "apart": 2, "churn": 0.06}


def trees(nodes: int = 5, rounds: int = 30, **plan: Any) -> list[Line]:
    return simulated(nodes, rounds, "w", "peter", topics=3, **plan)


def test_what_a_node_did_is_accepted() -> None:
    """Also what it did about messages that did not arrive, and after a restart."""
    lines = trees(rounds=50, **CHURN)
    assert any(line.kind == "sent" and '"took":null' in line.json() for line in lines)
    assert sum(line.kind == "start" for line in lines) > 5

    for number in range(5):
        events = of_node(lines, f"n{number}:1")
        verdict, rows = checked(events)
        assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "replay", "accepted", len(events))


@pytest.mark.parametrize("sends", [True, False], ids=["with what was sent", "without"])
def test_a_log_without_effects_is_explained(sends: bool) -> None:
    events = foreign(trees(rounds=40, **CHURN), sends=sends)

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


def test_a_message_that_nothing_explains_is_rejected() -> None:
    events = foreign(trees())
    at = next(event.seq for event in events if event.msg_type in ("subscribe", "notify") and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["property"], row["seq"] < at) == ("rejected", "Step", True)


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    lines = trees(nodes=6, rounds=40)
    events = [event for event in foreign(lines) if event.kind in ("send", "recv")]
    events = [event._replace(seq=n) for n, event in enumerate(events)]
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))


# One message that is wrong, in a log that has everything.


def count_a_hop_more(message: Row) -> None:
    message["header"]["hop"] += 1


def never_end(message: Row) -> None:
    message["header"]["hop"] = MOST_HOPS


def come_from_another(message: Row) -> None:
    message["header"]["sender"]["id"] = "5" * 32


WRONG = [
    (of_type("notify"), count_a_hop_more, "CopyHopsCounted", "PA-25"),
    (of_type("notify"), never_end, "CopiesEnd", "PA-25"),
    (of_type("subscribe"), come_from_another, "Alternate", "PI-08"),
]


@pytest.mark.parametrize(("fits", "change", "name", "clause"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_divergence_is_named_by_what_it_contradicts(
    fits: Callable[[Row], bool], change: Callable[[Row], None], name: str, clause: str
) -> None:
    for events in lots(trees(nodes=8, rounds=40)):
        for number, messages, effects in reversed(list(sent(events, fits))):
            if events[number].kind == "recv":
                change(messages[-1])
                events[number] = events[number]._replace(effects=json.dumps(effects, separators=(",", ":")))

                verdict, (row,) = checked(events)

                assert (verdict.verdict, row["severity"], row["seq"]) == ("rejected", "violates", number)
                assert name in row["property"].split(", ")
                assert clause in row["clause"]
                return
    raise AssertionError("no message fits")


# All nodes together.


def test_all_nodes_are_looked_at_at_every_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def look(cluster: Cluster) -> bool:
        seen.append(sum(len(state.upper.topics) for state in cluster.nodes.values()))
        return True

    look_at = Property("Looking", "somebody looks", ("PI-03",), "cluster", look)
    monkeypatch.setattr(peter, "PROPERTIES", (*peter.PROPERTIES, look_at))
    lines = trees()

    violations, verdicts = validated(place_of(tmp_path, lots(lines)))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert (verdicts[""]["judged"], verdicts[""]["remark"], len(seen)) == (len(lines), None, len(lines))
    assert max(seen) >= 10


def test_clocks_and_ports_need_not_agree(tmp_path: Path) -> None:
    """As of real nodes: a message is received after it was sent, and confirmed after it was received."""
    events = [
        [
            event._replace(
                t_us=event.t_us + 90_000_000 * (4 - n),
                peer=f"127.0.0.1:{40_000 + event.seq}" if event.kind == "recv" else event.peer,
            )
            for event in lot
        ]
        for n, lot in enumerate(lots(trees()))
    ]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert verdicts[""]["remark"] is None
