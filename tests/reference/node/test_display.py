"""What a node of a ring prints for a reader."""

from __future__ import annotations

from peerproof.reference.node.display import table
from peerproof.reference.protocols.wendy.runtime import readable
from peerproof.spec import wendy
from peerproof.spec.core import NodeId, Table
from peerproof.spec.wendy import Id, Node, State

OTHER = Node(Id(0xC << 124), "10.0.0.2", "10.0.0.2", 8121)


def test_a_first_node_has_started_the_ring_and_its_table_has_headings_digits_and_addresses() -> None:
    config = wendy.CONFIG.value({"id": "1" * 32})
    state = State(NodeId("10.0.0.1:8119"), config, routing_table=Table({(0, 12): OTHER}), neighborhood_set=(OTHER,))

    shown = table("10.0.0.1:8119", dict(readable(state)))

    assert "  stage=alone, as it started the ring  " in shown
    assert f"routing_table:\n  ROW  COLUMN  ADDRESS        ID\n  0    c       10.0.0.2:8121  {'c0'.ljust(32, '0')}" in shown
    assert "neighborhood_set:\n  ADDRESS        ID\n" in shown


def test_a_node_without_others_is_alone() -> None:
    state = State(NodeId("10.0.0.1:8119"), wendy.CONFIG.value({"id": "1" * 32}))

    assert "  stage=alone  " in table("10.0.0.1:8119", dict(readable(state)))
