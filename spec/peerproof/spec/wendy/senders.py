"""
The senders of messages on connections. [WA-52, WA-64]

Each message has a connection of its own, from an arbitrary port. A message names its maker. A join or a message of an application
is forwarded, and does not name the forwarder: that is the node that has received the same message before, with one hop
less [WA-56].
"""

from __future__ import annotations

from collections import deque
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from peerproof.spec.core import NodeId
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.wendy.messages import Application, Message, Node, NodeJoin
from peerproof.spec.wendy.state import address

#: The number of messages to track, and of the last stations of each.
WAYS: Final = 4096
STATIONS: Final = 64

#: A message without its hop count.
Parcel: TypeAlias = tuple[Any, ...]


def parcel_of(message: NodeJoin | Application) -> Parcel:
    """Returns the part of a message that stays the same when it is forwarded, unless an application changes it. [WA-58]"""
    header = message.header
    if isinstance(message, Application):
        return header.sender.id, header.key, message.purpose, message.value
    return (header.sender.id,)


class Senders:
    """Follows the messages of a cluster to determine their senders."""

    def __init__(self) -> None:
        self._ways: Final = BoundedDict[Parcel, deque[tuple[int, NodeId]]](WAYS)

    def sender(self, message: Message, source: NodeId, target: NodeId) -> NodeId:
        """Returns the sender's address; only its host if no observed node has received the message that it forwards."""
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
    """Returns the address of a message's maker: its port, at its own host if that is an IP address, else at the source's host."""
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
    """Returns the host of an address."""
    host, _, _ = source.rpartition(":")
    return NodeId(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
