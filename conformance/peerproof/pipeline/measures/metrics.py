"""The metrics and their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Metric -> description.
ABOUT: Final[Mapping[str, str]] = {
    "messages_sent": "messages that a node sent, by round",
    "bytes_sent": "their bytes on the wire",
    "messages_received": "messages that a node received, by round",
    "bytes_received": "their bytes on the wire",
    "unreadable": "events of a node with data that the protocol does not define",
    "coverage": "share of the nodes up at the end that learnt a piece of news; its round and node are those of its origin",
    "convergence": "time until all nodes up at the end had learnt a piece of news",
    "hops": "number of hops of a piece of news to the farthest node",
    "clock_skew": "time by which news was learnt before it was made, because the nodes' clocks differ",
    "detected": "share of the nodes up at the end that took a crashed node for down",
    "detection_first": "time from the last event of a crashed node until the first other node took it for down",
    "detection_last": "time from the last event of a crashed node until all other nodes took it for down",
    "false_positives": "times that others took a node for down while it was up",
    "false_suspicions": "times that others suspected a node while it was up",
    "route_hops": "number of hops of a message until it was delivered",
    "delivered": "share of the routed messages that were delivered; those at the very end of a run have little time",
    "misdelivered": "share of the deliveries at a node that was not the member closest to the key",
    "join_time": "time from a node's join command until it announced itself, including two network timeouts",
    "join_messages": "messages that a joiner sent and received for joining",
    "join_bytes": "their bytes on the wire",
    "routing_table": "nodes in a node's routing table, as it was last sent",
    "leaf_set": "nodes in a node's leaf set, as it was last sent",
    "neighborhood_set": "nodes in a node's neighborhood set, as it was last sent",
    "events_delivered": "share of the events due to subscribers that they received; the others were lost",
    "event_duplicates": "superfluous deliveries of an event to a subscriber",
    "tree_depth": "number of hops of an event from the meeting point to a subscriber",
    "fan_out": "copies of an event that a node sent",
    "link_stress": "messages with events from one node to another, of each pair with such messages",
    "ready_time": "time from a node's start until it was ready",
    "mend_time": "time from a node's first request for consecutive changes until it knew some of them",
    "updates_again": "changes that a node sent again",
}
