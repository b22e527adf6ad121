"""
Who has sent a message that was seen on a connection. [WA-52, WA-64]

Messages of the tree are made by who sends them [PA-08]. All others are as Wendy's, an event on its way to its meeting point like
any message of an application.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.core import NodeId
from peerproof.spec.peter.messages import Message, NotifyMessage, SubscribeMessage, UnsubscribeMessage, lower_message
from peerproof.spec.wendy.senders import Senders as WendySenders
from peerproof.spec.wendy.senders import address_of_maker


class Senders:
    """Follows the messages of a cluster."""

    def __init__(self) -> None:
        self._wendy: Final = WendySenders()

    def sender(self, message: Message, source: NodeId, target: NodeId) -> NodeId:
        """Its address; only its host if nobody was seen to receive what it passes on."""
        if isinstance(message, (SubscribeMessage, UnsubscribeMessage, NotifyMessage)):
            return address_of_maker(message.header.sender, source)
        return self._wendy.sender(lower_message(message), source, target)
