"""The metrics, and what each says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Metric -> what it says.
ABOUT: Final[Mapping[str, str]] = {
    "messages_sent": "messages that a node sent, by round",
    "bytes_sent": "their bytes on the wire",
    "messages_received": "messages that a node received, by round",
    "bytes_received": "their bytes on the wire",
    "unreadable": "events of a node that hold what the protocol does not know",
    "coverage": "the part of the nodes that were up in the end which learnt a piece of news; its round and node are its maker's",
    "convergence": "from a piece of news until all nodes that were up in the end had learnt it",
    "hops": "over how many nodes a piece of news came to the one farthest away",
    "clock_skew": "news was learnt so long before it was made: the nodes' clocks do not agree",
    "detected": "the part of the nodes that were up in the end which took a crashed node for down",
    "detection_first": "from the last event of a crashed node until the first other took it for down",
    "detection_last": "from the last event of a crashed node until all others took it for down",
    "false_positives": "how often others took a node for down that was up",
    "false_suspicions": "how often others suspected a node that was up",
    "route_hops": "from how many nodes a message went to another until it was delivered",
    "delivered": "the part of the messages that were routed which were delivered; those of the last moments have little time",
    "misdelivered": "the part of the deliveries at a node that was not the closest to the key of those who had joined",
    "join_time": "from when a node asked to join until it announced itself, two network timeouts included",
    "join_messages": "messages that a joiner sent and received for joining",
    "join_bytes": "their bytes on the wire",
    "routing_table": "nodes in a node's routing table, as it was last sent",
    "leaf_set": "nodes in a node's leaf set, as it was last sent",
    "neighborhood_set": "nodes in a node's neighborhood set, as it was last sent",
    "events_delivered": "the part of the events due to subscribers which they got; what is missing was lost",
    "event_duplicates": "how often a subscriber got an event once too often",
    "tree_depth": "over how many nodes an event came from the meeting point to a subscriber",
    "fan_out": "copies of an event that a node sent",
    "link_stress": "messages with events that went from one node to another, of each two with any",
    "ready_time": "from a node's start until it was ready",
    "mend_time": "from when a node first asked for changes in a row until it knew some of them",
    "updates_again": "changes that a node sent again",
}
