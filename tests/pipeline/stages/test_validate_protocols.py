"""Every protocol through the pipeline: with and without effects, by messages alone, all nodes together; right and wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.pipeline.clusters import Row, foreign, lots, place_of, simulated, validated
from tests.pipeline.stages.test_validate import checked

from peerproof.conformance.traces.events import Event
from peerproof.spec.core import EVERYBODY
from peerproof.spec.properties import Cluster, Property, is_decision
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import Line
from peerproof.spec.wendy import joining
from peerproof.spec.wendy.properties import is_quiet

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


# One node.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "plan", "sends"),
    [
        ("scuttlebutt", {}, True),
        ("swim", {"nodes": 12, **FAULTY["swim"]}, True),  # whose rounds have more orders than are carried
        ("wendy", FAULTY["wendy"], True),
        ("peter", {**FAULTY["peter"], "rounds": 40}, True),
        ("distkv", {}, True),  # which has drawn one of thousands of moments
        ("wendy", {}, False),
        ("peter", {**FAULTY["peter"], "rounds": 40}, False),
        ("distkv", {}, False),
    ],
)
def test_a_log_without_effects_is_explained(protocol: str, plan: dict[str, Any], sends: bool) -> None:
    events = foreign(calm(protocol, **plan), sends=sends)

    verdict, rows = checked(events, lot=1 if protocol == "scuttlebutt" else 7)

    assert (rows, verdict.way, verdict.verdict) == ([], "relation", "accepted")
    assert verdict.judged == len(events)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "after", "kinds", "clause"),
    [
        ("scuttlebutt", 30, ["digest_request"], "B-08"),
        pytest.param("swim", 60, ["ping"], "S-", marks=pytest.mark.minute),
        ("wendy", 40, ["application"], "W-"),
        ("peter", 0, ["subscribe", "notify"], "P-"),
    ],
)
def test_a_message_that_nothing_explains_is_rejected_with_what_was_allowed(
    protocol: str, after: int, kinds: list[str], clause: str
) -> None:
    events = foreign(calm(protocol))
    at = next(event.seq for event in events[after:] if event.msg_type in kinds and event.kind == "send")
    events[at] = events[at]._replace(peer="stranger:1")

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["property"], row["seq"] < at) == ("rejected", "violates", "Step", True)
    assert clause in row["clause"]
    assert ("stranger:1" in row["actual"], "stranger:1" in row["expected"]) == (True, False)
    assert json.loads(row["expected"])


def test_a_log_that_does_not_say_what_became_of_messages_is_not_judged() -> None:
    """What a node of Wendy does depends on it."""
    events = [event for event in foreign(calm("wendy")) if event.kind != "sent"]

    verdict, (row,) = checked(numbered(events))

    assert (verdict.verdict, row["severity"], row["property"]) == ("undetermined", "undetermined", "Outcomes")
    assert "kind sent" in row["message"]


def test_a_message_that_is_none_accuses_no_node_that_it_came_to() -> None:
    events = foreign(calm("scuttlebutt"))
    at = next(event.seq for event in events[20:] if event.kind == "recv")
    events[at] = events[at]._replace(args='{"type":"gossip"}')

    verdict, (row,) = checked(events)

    assert (verdict.verdict, row["severity"], row["property"], row["seq"]) == ("undetermined", "log", "Event", at)
    assert row["message"].startswith("this recv is no event of the protocol: type: expected one of digest_request, ")


@pytest.mark.parametrize("protocol", ["scuttlebutt", "swim"])
@pytest.mark.parametrize("dropped", ["all", "one"])
def test_a_log_without_the_line_of_a_timer_accuses_no_node(protocol: str, dropped: str) -> None:
    """What the node sends by the timer stands behind the line before, which does not explain it."""
    events = foreign(calm(protocol))
    timers = [event.seq for event in events if event.kind == "timer"]
    timers = timers if dropped == "all" else timers[3:4]

    verdict, (row,) = checked(numbered([event for event in events if event.seq not in timers]))

    assert (verdict.verdict, row["severity"], row["property"]) == ("undetermined", "undetermined", "NoTimer")
    assert re.search(r"a timer \(\w+.*\) was due at [\d,]+ ms, and the log has no line for it", row["message"])
    assert "a timer" in (verdict.remark or "")


@pytest.mark.parametrize(("restarts", "way"), [(False, "monitor"), (True, "relation")])
def test_a_log_that_begins_in_the_middle_is_reported(restarts: bool, way: str) -> None:
    """What is checked then, messages alone or nothing, is less than the log holds."""
    whole = foreign(calm("scuttlebutt"))
    end = next(at for at, event in enumerate(whole) if at > 20 and event.kind != "send")
    later = [event._replace(t_us=event.t_us + 10**8) for event in whole[:end]]
    events = whole[1:20] + (later if restarts else [])

    verdict, (row,) = checked(numbered(events), lot=len(events))

    assert (verdict.way, verdict.verdict, row["severity"], row["property"]) == (way, "undetermined", "log", "NoStart")
    assert 0 < verdict.judged < len(events)


def numbered(events: Sequence[Event]) -> list[Event]:
    return [event._replace(seq=number) for number, event in enumerate(events)]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_messages_alone_are_accepted(protocol: str) -> None:
    events = numbered([event for event in foreign(calm(protocol)) if event.kind in ("send", "recv")])

    verdict, rows = checked(events)

    assert (rows, verdict.way, verdict.verdict, verdict.judged) == ([], "monitor", "accepted", len(events))


def test_messages_alone_are_held_to_the_protocols_rules() -> None:
    """The last ping comes once more. Each rule is shown by hand-made messages in `tests/spec`."""
    events = [event for event in foreign(calm("distkv")) if event.kind in ("send", "recv")]
    last = max(number for number, event in enumerate(events) if event.msg_type == "ping" and event.kind == "send")

    verdict, rows = checked(numbered([*events[: last + 1], *events[last:]]))

    assert verdict.verdict == "rejected"
    assert ("TockRises", last + 1) in {(row["property"], row["seq"]) for row in rows}


# One message that is wrong, in a log that has everything.


class Wrong(NamedTuple):
    """
    What is changed in the last message that fits, or the first, and by which properties and clause that is named.

    What only a decision demands can only differ.
    """

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


def forget_the_versions(message: Row) -> None:
    message["header"]["versions"] = dict.fromkeys(message["header"]["versions"], "0")


def leave_out_the_routing_table(message: Row) -> None:
    message["tables"]["routing_table"] = None


def count_a_hop_more(message: Row) -> None:
    message["header"]["hop"] += 1


def say_the_first_tock(message: Row) -> None:
    message["tock"] = "1"


WRONG = [
    Wrong("swim", of_type("ping"), go_back, "CounterGrows", "SZ-10"),
    Wrong("wendy", of_type("node_race"), forget_the_versions, "Effects", "W-64", first=True),
    Wrong("wendy", answers_a_join, leave_out_the_routing_table, "JoinAnswered, DataIsAsked", "W-48", first=True),
    Wrong("wendy", is_passed_on, count_a_hop_more, "HopsCounted", "WA-56", first=True),
    Wrong("peter", of_type("notify"), count_a_hop_more, "CopyHopsCounted", "PA-25", kind="recv"),
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

            demanded = ("undetermined", "differs") if is_decision(wrong.clause) else ("rejected", "violates")
            assert (verdict.verdict, row["severity"], row["seq"]) == (*demanded, number)
            assert row["property"] == wrong.names
            assert wrong.clause in row["clause"].split(", ")
            return
    raise AssertionError("no message fits")


@pytest.mark.parametrize(("kind", "clause"), [("recv", "S-32"), ("timer", "S-43")])
def test_a_datagram_that_is_missing_contradicts_no_property_of_numbers(kind: str, clause: str) -> None:
    """The node's own counter is not known: only that it does not send what it has to."""
    events = next(iter(lots(calm("swim"))))
    number, _, effects = [
        one for one in sent(events, of_type("ack" if kind == "recv" else "ping")) if events[one[0]].kind == kind
    ][-1]
    events[number] = events[number]._replace(effects=json.dumps([one for one in effects if "send" not in one]))

    _, (row,) = checked(events)

    assert (row["severity"], row["seq"], row["property"]) == ("violates", number, "Effects")
    assert clause in row["clause"].split(", ")


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
        ("wendy", lambda c: is_quiet(c) and len(c.nodes), lambda seen: seen.count(5) > 10),  # also at rest
        ("peter", subscriptions, lambda seen: max(seen) >= 10),
        ("distkv", under_way, lambda seen: max(seen)[0] == 4 and (3, 4) in seen and max(count for _, count in seen) > 4),
    ],
    ids=["wendy", "peter", "distkv"],
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
        ("scuttlebutt", {"config": {"detector": None}}, on_another_clock),  # no state has a time without a detector
        ("wendy", {}, from_a_port_of_a_connection),
        ("peter", {}, from_a_port_of_a_connection),
        ("distkv", {}, from_nobody),  # Serf does not say who has sent an event
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


@pytest.mark.parametrize("protocol", ["scuttlebutt", "wendy", "distkv"])
def test_a_log_that_ends_early_is_a_fault_of_the_log(protocol: str, tmp_path: Path) -> None:
    events = lots(calm(protocol))
    events[0] = events[0][: len(events[0]) // 3]

    violations, verdicts = validated(place_of(tmp_path, events))

    assert {(row["severity"], row["property"], row["node"]) for row in violations} == {("log", "NeverSent", "")}
    assert events[0][0].node in violations[0]["message"]
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
