"""
The senders of messages on connections. [WA-52, WA-64]

Messages of the tree come from the node that made them [PA-08]. All others follow Wendy's rules; an event on its way to its
meeting point is like any message of an application.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.core import NodeId
from peerproof.spec.peter.messages import Message, NotifyMessage, SubscribeMessage, UnsubscribeMessage, lower_message
from peerproof.spec.wendy.senders import Senders as WendySenders
from peerproof.spec.wendy.senders import address_of_maker


class Senders:
    """Follows the messages of a cluster to determine their senders."""

    def __init__(self) -> None:
        self._wendy: Final = WendySenders()

    def sender(self, message: Message, source: NodeId, target: NodeId) -> NodeId:
        """Returns the sender's address; only its host if no observed node has received the message that it forwards."""
        if isinstance(message, (SubscribeMessage, UnsubscribeMessage, NotifyMessage)):
            return address_of_maker(message.header.sender, source)
        return self._wendy.sender(lower_message(message), source, target)
