"""The compact form has every value of a message but what only addresses a node; what does not fit stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.conformance.diagrams.compact import select_renderer
from peerproof.conformance.diagrams.labels import message_text


def node(digit: str) -> dict[str, Any]:
    return {"id": digit * 32, "local_ip": f"n{digit}", "global_ip": f"n{digit}", "port": 1, "region": ""}


HEADER = {
    "sender": node("a"),
    "key": "b" * 32,
    "versions": {"routing_table": "3", "leaf_set": "2", "neighborhood_set": "1"},
    "credentials": None,
    "hop": 4,
}
TABLES = {
    "routing_table": [{"row": 0, "column": 12, "node": node("c")}, {"row": 1, "column": 2, "node": node("d")}],
    "leaf_set": {"left": [node("c"), node("d")], "right": []},
    "neighborhood_set": None,
}
A, B, C, D = (digit * 32 for digit in "abcd")


@pytest.mark.parametrize(
    ("protocol", "kind", "plain", "text"),
    [
        (
            "wendy",
            "recv",
            {"type": "node_race", "header": HEADER, "tables": TABLES},
            f"node_race {A} {B} [3, 2, 1] 4 [{{(0, 12, {C}), (1, 2, {D})}}, (({C}, {D}), ()), –]",
        ),
        ("wendy", "recv", {"type": "node_join", "header": {**HEADER, "credentials": "0f"}}, f"node_join {A} {B} [3, 2, 1] 0f 4"),
        (
            "wendy",
            "notify",
            {"type": "delivered", "message": {"type": "application", "header": HEADER, "purpose": 16, "value": "ff"}},
            f"delivered [{A}, {B}, (3, 2, 1), 4, 16, ff]",
        ),
        ("wendy", "notify", {"type": "node_joined", "node": node("a")}, f"node_joined {A}"),
        ("wendy", "timer", {"type": "repair_timeout", "row": 1, "column": 2}, "repair_timeout 1 2"),
        ("scuttlebutt", "recv", {"type": "delta", "entries": []}, "delta []"),
        (
            "swim",
            "recv",
            {
                "type": "probe_ack",
                "sender": "11111111-1111-4111-8111-111111111111",
                "incarnation": {"restart": "1", "tx": "2"},
                "probe_tx": "3",
            },
            "probe_ack 11111111-1111-4111-8111-111111111111 [1, 2] 3",
        ),
        (
            "distkv",
            "recv",
            {
                "type": "ping",
                "chain": {"elements": [{"node": "n1", "tick": "2"}, {"node": "n2", "tick": None}], "cut": True},
                "tock": "7",
            },
            "ping [n1@2 n2 …] 7",
        ),
    ],
)
def test_values_of_members_stand_in_their_order(protocol: str, kind: str, plain: dict[str, Any], text: str) -> None:
    assert select_renderer(protocol)(kind, plain) == text
    assert select_renderer(protocol, is_full=True)(kind, plain) == message_text(plain)


@pytest.mark.parametrize(
    ("protocol", "kind", "plain"),
    [
        ("wendy", "recv", {"type": "of_another", "x": {"y": 1}}),
        ("wendy", "recv", {"type": "node_join", "header": {"sender": 1}}),
        ("wendy", "recv", "no message"),
        ("wendy", "of-another-kind", {"type": "node_join"}),
        ("of-another", "recv", {"type": "x", "y": {"z": 1}}),
    ],
)
def test_what_does_not_fit_is_shown_whole(protocol: str, kind: str, plain: Any) -> None:
    assert select_renderer(protocol)(kind, plain) == message_text(plain)
