"""
Who has sent a message that was seen on a connection. [WA-52, WA-64]

Each message has a connection of its own, from a port that says nothing. Who made a message stands in it. A join or a message of
an application is passed on, and who passes it on does not stand in it: that is who received the same message before, with
one hop less [WA-56].
"""

from __future__ import annotations

from collections import deque
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from peerproof.spec.core import NodeId
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.wendy.messages import Application, Message, Node, NodeJoin
from peerproof.spec.wendy.state import address

#: Messages whose way is remembered, and the last stations of each.
WAYS: Final = 4096
STATIONS: Final = 64

#: A message, whatever its count of hops.
Parcel: TypeAlias = tuple[Any, ...]


def parcel_of(message: NodeJoin | Application) -> Parcel:
    """What stays the same while a message is passed on, unless an application changes it. [WA-58]"""
    header = message.header
    if isinstance(message, Application):
        return header.sender.id, header.key, message.purpose, message.value
    return (header.sender.id,)


class Senders:
    """Follows the messages of a cluster."""

    def __init__(self) -> None:
        self._ways: Final = BoundedDict[Parcel, deque[tuple[int, NodeId]]](WAYS)

    def sender(self, message: Message, source: NodeId, target: NodeId) -> NodeId:
        """Its address; only its host if nobody was seen to receive what it passes on."""
        if not isinstance(message, (NodeJoin, Application)):
            return address_of_maker(message.header.sender, source)
        parcel, hop = parcel_of(message), message.header.hop
        way = self._ways.get(parcel)
        if way is None:
            way = deque(maxlen=STATIONS)
        self._ways[parcel] = way
        if hop == 0:
            who = address_of_maker(message.header.sender, source)
        else:
            before = [station for station in reversed(way) if station[1] != target]
            who = next((node for count, node in before if count == hop - 1), before[0][1] if before else host_of(source))
        way.append((hop, target))
        return who


def address_of_maker(maker: Node, source: NodeId) -> NodeId:
    """Where who made a message can be reached: its port, at the host that it comes from, or says to be at if that is a number."""
    host = host_of(source)
    for said in (maker.local_ip, maker.global_ip):
        if said == host:
            return address(said, maker.port)
    try:
        is_real = not ip_address(maker.local_ip).is_unspecified
    except ValueError:
        is_real = False
    return address(maker.local_ip if is_real else host, maker.port)


def host_of(source: NodeId) -> NodeId:
    """The host of an address."""
    host, _, _ = source.rpartition(":")
    return NodeId(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
