"""Peter's messages as bytes: Wendy's envelope, with purposes of Peter's own. [P-01, P-03]"""

from __future__ import annotations

from typing import Final

from peerproof.spec import wendy
from peerproof.spec.forms.packing import Codec
from peerproof.spec.peter.forms import MESSAGE_FORM
from peerproof.spec.peter.messages import Message, lift_message, lower_message


def encode(message: Message) -> bytes:
    """Encodes a message. Raises NotEnabled if the format cannot hold it. [PA-24]"""
    return wendy.MESSAGE.encode(lower_message(message))


def decode(data: bytes) -> Message:
    """Decodes a message. Raises MalformedMessage. [PA-24]"""
    return lift_message(wendy.MESSAGE.decode(data))


#: The messages. [P-01]
MESSAGE: Final[Codec[Message]] = Codec(MESSAGE_FORM, encode, decode)
