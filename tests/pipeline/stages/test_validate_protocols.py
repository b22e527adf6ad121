"""Every protocol through the pipeline: with and without effects, by messages alone, all nodes together; right and wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.pipeline.clusters import Row, foreign, lots, of_node, place_of, simulated, validated
from tests.pipeline.stages.test_validate import checked

from peerproof.conformance.traces.events import Event
from peerproof.spec.core import EVERYBODY
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Line
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.properties import is_quiet

Nodes = Sequence[str]

#: Clusters that have no faults, but for DistKV's, which is split; and clusters with faults: by protocol or name.
CALM: dict[str, dict[str, Any]] = {
    "scuttlebutt": {"nodes": 4},
    "swim": {"nodes": 5},
    "wendy": {"nodes": 5, "rounds": 30, "seed": "w"},
    "peter": {"nodes": 5, "rounds": 30, "seed": "w", "topics": 3},
    "distkv": {"nodes": 4, "rounds": 40, "seed": "d", "partition": (10, 20)},
}
RARELY = {"config": {"heartbeat": 30_000}, "apart": 2}
FAULTY: dict[str, dict[str, Any]] = {
    "swim": {"crashes": ((2, 5),), "restarts": ((2, 12),)},
    "wendy": {**RARELY, "rounds": 40, "crashes": ((2, 25),), "restarts": ((2, 35),)},
    "peter": {**RARELY, "rounds": 50, "churn": 0.06},
    "distkv": {"partition": None, "crashes": ((1, 15),), "restarts": ((1, 20),)},
}


def calm(protocol: str, **plan: Any) -> list[Line]:
    return simulated(protocol=protocol, **CALM[protocol] | plan)


def faulty(protocol: str, **plan: Any) -> list[Line]:
    return calm(protocol, **FAULTY[protocol] | plan)


# One node.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "nodes"),
    [("swim", ["n1:1"]), ("wendy", ["n1:1", "n2:1"]), *((p, [f"n{n}:1" for n in range(4)]) for p in ("peter", "distkv"))],
)
def test_what_a_node_did_is_accepted(protocol: str, nodes: Nodes) -> None:
    """Also what it did about messages that did not arrive, and after a restart."""
    lines = faulty(protocol)
    assert len({line.node for line in lines}) < sum(line.kind == "start" for line in lines)
    assert protocol in ("swim", "distkv") or any(line.kind == "sent" and '"took":null' in line.json() for line in lines)

    for node in nodes:
        events = of_node(lines, node)
        verdict, rows = checked(events)
        assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "replay", "accepted", len(events))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "plan", "sends"),
    [
        pytest.param("swim", {"nodes": 12, **FAULTY["swim"]}, True, id="swim, whose rounds have more orders than are carried"),
        pytest.param("wendy", FAULTY["wendy"], True, id="wendy"),
        pytest.param("wendy", {}, False, id="wendy without what was sent"),
        pytest.param("peter", {**FAULTY["peter"], "rounds": 40}, True, id="peter"),
        pytest.param("peter", {**FAULTY["peter"], "rounds": 40}, False, id="peter without what was sent"),
        pytest.param("distkv", {}, True, id="distkv, which has drawn one of thousands of moments"),
        pytest.param("distkv", {}, False, id="distkv without what was sent"),
    ],
)
def test_a_log_without_effects_is_explained(protocol: str, plan: dict[str, Any], sends: bool) -> None:
    events = foreign(calm(protocol, **plan), sends=sends)

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == sum(event.kind != "send" for event in events)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "after", "kinds"),
    [("swim", 60, ["ping"]), ("wendy", 40, ["heartbeat"]), ("peter", 0, ["subscribe", "notify"])],
)
def test_a_message_that_nothing_explains_is_rejected_with_what_was_allowed(protocol: str, after: int, kinds: list[str]) -> None:
    events = foreign(calm(protocol))
    at = next(event.seq for event in events[after:] if event.msg_type in kinds and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["property"], row["seq"] < at) == ("rejected", "violates", "Step", True)
    assert json.loads(row["expected"])


def test_a_log_that_does_not_say_what_became_of_messages_is_not_judged() -> None:
    """What a node of Wendy does depends on it."""
    events = [event for event in foreign(calm("wendy")) if event.kind != "sent"]

    verdict, (row,) = checked(numbered(events))

    assert (verdict.verdict, row["severity"], row["property"]) == ("undetermined", "undetermined", "Outcomes")
    assert "kind sent" in row["message"]


def numbered(events: Sequence[Event]) -> list[Event]:
    return [event._replace(seq=number) for number, event in enumerate(events)]


def repeat_a_payload(events: list[Event]) -> int:
    """A ping is an earlier one."""
    sent = [event.seq for event in events if event.kind == "send"]
    events[sent[9]] = events[sent[9]]._replace(payload=events[sent[2]].payload)
    return sent[9]


def announce_early(events: list[Event]) -> int:
    """An announcement comes a second after the answer to the join; the log says when it was sent."""
    announced = next(n for n, event in enumerate(events) if (event.kind, event.msg_type) == ("send", "node_announcement"))
    marked = next(n for n, e in enumerate(events) if e.kind == "recv" and e.args and '"destination":true' in e.args)
    events.insert(marked + 1, events.pop(announced)._replace(t_us=events[marked].t_us + 1_000_000))
    return marked + 1


def repeat_the_last_ping(events: list[Event]) -> int:
    last = max(number for number, event in enumerate(events) if event.msg_type == "ping" and event.kind == "send")
    events.insert(last + 1, events[last])
    return last + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "plan", "change", "name"),
    [
        ("swim", {}, repeat_a_payload, "CounterGrows"),
        ("wendy", {"nodes": 6, "rounds": 40}, announce_early, "AnnouncedInTime"),
        ("peter", {"nodes": 6, "rounds": 40}, None, ""),
        ("distkv", {}, repeat_the_last_ping, "TockRises"),
    ],
)
def test_messages_alone_are_held_to_the_protocols_rules(
    protocol: str, plan: dict[str, Any], change: Callable[[list[Event]], int] | None, name: str
) -> None:
    events = numbered([event for event in foreign(calm(protocol, **plan)) if event.kind in ("send", "recv")])
    verdict, rows = checked(events)
    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))

    if change:
        at = change(events)
        verdict, rows = checked(numbered(events))
        assert verdict.verdict == "rejected"
        assert (name, at) in {(row["property"], row["seq"]) for row in rows}


# One message that is wrong, in a log that has everything.


class Wrong(NamedTuple):
    """What is changed in the last message that fits, or the first, and by which properties and clause that is named."""

    protocol: str
    fits: Callable[[Row], bool]
    change: Callable[[Row], object]
    names: str
    clause: str
    kind: str = ""  #: of event, if it matters
    first: bool = False


def of_type(kind: str) -> Callable[[Row], bool]:
    return lambda message: bool(message["type"] == kind)


def answers_a_join(message: Row) -> bool:
    return bool(message["type"] == "state_data" and message["tables"]["routing_table"] is not None)


def is_passed_on(message: Row) -> bool:
    return message["type"] in ("node_join", "application") and message["header"]["hop"] > 0


def go_back(message: Row) -> None:
    message["incarnation"]["tx"] = "1"


def list_twice(message: Row) -> None:
    (members,) = (vector["members"] for vector in message["vectors"] if vector["type"] == "anti_entropy")
    members.append(members[0])


def forget_the_versions(message: Row) -> None:
    message["header"]["versions"] = dict.fromkeys(message["header"]["versions"], "0")


def leave_out_the_routing_table(message: Row) -> None:
    message["tables"]["routing_table"] = None


def add_a_mark(message: Row) -> None:
    message.update(destination=True)
    message["tables"]["leaf_set"] = None


def list_oneself(message: Row) -> None:
    message["tables"]["neighborhood_set"].append(message["header"]["sender"])


def change_sides(message: Row) -> None:
    leaves = message["tables"]["leaf_set"]
    leaves["left"], leaves["right"] = leaves["right"], leaves["left"]


def count_a_hop_more(message: Row) -> None:
    message["header"]["hop"] += 1


def never_end(message: Row) -> None:
    message["header"]["hop"] = MOST_HOPS


def come_from_another(message: Row) -> None:
    message["header"]["sender"]["id"] = "5" * 32


def say_the_first_tock(message: Row) -> None:
    message["tock"] = "1"


WRONG = [
    Wrong("swim", of_type("ping"), go_back, "CounterGrows", "SA-09"),
    Wrong("swim", of_type("ping"), list_twice, "MembersAreOthers, FewMembers", "SA-28"),
    Wrong("wendy", of_type("node_race"), forget_the_versions, "Effects", "W-64", first=True),
    Wrong("wendy", answers_a_join, leave_out_the_routing_table, "JoinAnswered, DataIsAsked", "W-48", first=True),
    Wrong("wendy", answers_a_join, add_a_mark, "JoinAnswered, MarkWithLeafSet, DataIsAsked", "WA-61", first=True),
    Wrong("wendy", of_type("node_announcement"), list_oneself, "SelfFree", "WA-15", first=True),
    Wrong("wendy", of_type("node_announcement"), change_sides, "LeftLeavesFirst", "WA-51", first=True),
    Wrong("wendy", is_passed_on, count_a_hop_more, "HopsCounted", "WA-56", first=True),
    Wrong("peter", of_type("notify"), count_a_hop_more, "CopyHopsCounted", "PA-25", kind="recv"),
    Wrong("peter", of_type("notify"), never_end, "CopiesEnd, CopyHopsCounted", "PA-25", kind="recv"),
    Wrong("peter", of_type("subscribe"), come_from_another, "Alternate", "PI-08", kind="recv"),
    Wrong("distkv", of_type("ping"), say_the_first_tock, "TockRises", "DI-04"),
]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.protocol}-{wrong.change.__name__}")
def test_a_divergence_is_named_by_what_it_contradicts_and_nothing_else(wrong: Wrong) -> None:
    plan = {"wendy": {"nodes": 8}, "peter": {"nodes": 8, "rounds": 40}}
    for events in lots(calm(wrong.protocol, **plan.get(wrong.protocol, {}))):
        found = [one for one in sent(events, wrong.fits) if wrong.kind in ("", events[one[0]].kind)]
        if found:
            number, messages, effects = found[0 if wrong.first else -1]
            wrong.change(messages[-1])
            events[number] = events[number]._replace(effects=json.dumps(effects, separators=(",", ":")))

            verdict, (row,) = checked(events)

            assert (verdict.verdict, row["severity"], row["seq"]) == ("rejected", "violates", number)
            assert row["property"] == wrong.names
            assert wrong.clause in row["clause"].split(", ")
            return
    raise AssertionError("no message fits")


def sent(events: list[Event], fits: Callable[[Row], bool]) -> Iterator[tuple[int, list[Row], list[Row]]]:
    """Events that send such messages, these messages, and all effects."""
    for number, event in enumerate(events):
        effects = json.loads(event.effects or "[]")
        messages = [effect["send"]["message"] for effect in effects if "send" in effect]
        if fitting := [message for message in messages if fits(message)]:
            yield number, fitting, effects


# All nodes together.


def under_way(cluster: Cluster) -> tuple[int, int]:
    """Nodes and messages: one for everybody is under way to each of them, its sender too."""
    assert EVERYBODY not in {to for _, to, _ in cluster.in_flight}
    return len(cluster.nodes), len(list(cluster.in_flight))


def subscriptions(cluster: Cluster) -> int:
    return sum(len(state.upper.topics) for state in cluster.nodes.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "look", "is_interesting"),
    [
        pytest.param("wendy", lambda c: is_quiet(c) and len(c.nodes), lambda seen: seen.count(5) > 10, id="wendy, also at rest"),
        pytest.param(
            "peter",
            lambda c: sum(len(state.upper.topics) for state in c.nodes.values()),
            lambda seen: max(seen) >= 10,
            id="peter",
        ),
        pytest.param(
            "distkv",
            under_way,
            lambda seen: max(seen)[0] == 4 and (3, 4) in seen and max(messages for _, messages in seen) > 4,
            id="distkv",
        ),
    ],
)
def test_all_nodes_are_looked_at_at_every_instant(
    protocol: str, look: Callable[[Cluster], Any], is_interesting: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def holds(cluster: Cluster) -> bool:
        seen.append(look(cluster))
        return True

    looking = Property("Looking", "somebody looks", ("WI-09",), "cluster", holds)
    specification: Any = PROTOCOLS[protocol].specification.load()
    monkeypatch.setattr(specification, "PROPERTIES", (*specification.PROPERTIES, looking))
    lines = calm(protocol)

    violations, verdicts = validated(place_of(tmp_path, lots(lines)))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert (verdicts[""]["judged"], verdicts[""]["remark"], len(seen)) == (len(lines), None, len(lines))
    assert is_interesting(seen)


def on_another_clock(event: Event, node: int) -> Event:
    return event._replace(t_us=event.t_us + 90_000_000 * (4 - node))


def from_a_port_of_a_connection(event: Event, node: int) -> Event:
    peer = f"127.0.0.1:{40_000 + event.seq}" if event.kind == "recv" else event.peer
    return on_another_clock(event, node)._replace(peer=peer)


def from_nobody(event: Event, _: int) -> Event:
    return event._replace(peer=EVERYBODY) if event.kind == "recv" else event


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "plan", "change"),
    [
        pytest.param(
            "scuttlebutt", {"config": {"detector": None}}, on_another_clock, id="no state has a time without a detector"
        ),
        pytest.param("wendy", {}, from_a_port_of_a_connection, id="who has connected to Wendy, on clocks of their own"),
        pytest.param("peter", {}, from_a_port_of_a_connection, id="who has connected to Peter, on clocks of their own"),
        pytest.param("distkv", {}, from_nobody, id="Serf does not say who has sent an event"),
    ],
)
def test_logs_need_not_say_what_nodes_do_not_know(
    protocol: str, plan: dict[str, Any], change: Callable[[Event, int], Event], tmp_path: Path
) -> None:
    """Clocks need not agree: a message is received after it was sent, and confirmed after it was received."""
    told = [[change(event, number) for event in events] for number, events in enumerate(lots(calm(protocol, **plan)))]

    violations, verdicts = validated(place_of(tmp_path, told))

    assert violations == []
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"accepted"}
    assert (verdicts[""]["judged"], verdicts[""]["remark"]) == (sum(map(len, told)), None)


@pytest.mark.parametrize("protocol", ["wendy", "distkv"])
def test_a_log_that_ends_early_is_a_fault_of_the_log(protocol: str, tmp_path: Path) -> None:
    events = lots(calm(protocol))
    events[0] = events[0][: len(events[0]) // 3]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert {(row["severity"], row["property"]) for row in violations} == {("log", "NeverSent")}
    assert {verdict["verdict"] for node, verdict in verdicts.items() if node} == {"accepted"}
    assert verdicts[""]["verdict"] == "undetermined"


@pytest.mark.parametrize(
    ("protocol", "plan", "verdict", "remark"),
    [
        ("scuttlebutt", {"rounds": 30, "crashes": ((1, 10),), "restarts": ((1, 12),)}, "undetermined", "restart of n1:1"),
        ("wendy", {"nodes": 4, "crashes": ((2, 15),)}, "accepted", "by which n2:1 is gone"),
        ("distkv", FAULTY["distkv"], "undetermined", "restart"),
    ],
    ids=["a restart [BX-03]", "one has gone", "a restart of DistKV"],
)
def test_a_cluster_is_looked_at_as_long_as_its_properties_are_promised(
    protocol: str, plan: dict[str, Any], verdict: str, remark: str, tmp_path: Path
) -> None:
    violations, verdicts = validated(place_of(tmp_path, lots(calm(protocol, **plan))))

    assert violations == []
    assert {verdicts[node]["verdict"] for node in verdicts if node} == {"accepted"}
    assert (verdicts[""]["verdict"], remark in verdicts[""]["remark"]) == (verdict, True)


@pytest.mark.slow
def test_neighbours_that_never_meet_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes that all take announcements without a look at versions. [WX-04]"""
    monkeypatch.setattr(joining, "is_newer", lambda *_: False)
    found = set()
    for seed in "abcdefgh":
        violations, _ = validated(place_of(tmp_path / seed, lots(simulated(6, 8, seed, "wendy"))))
        found |= {(row["severity"], row["property"], row["node"]) for row in violations}

    assert ("violates", "QuietNeighbours", "") in found
