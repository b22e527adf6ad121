"""Peter's messages are Wendy's with other names; any of them as bytes are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from tests.spec.any_messages import MESSAGES
from tests.spec.wendy.nodes import peer

from peerproof.spec import wendy
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import MESSAGE, PublishMessage, SubscribeMessage
from peerproof.spec.peter.messages import lift_message, lower_message
from peerproof.spec.wendy import Header
from peerproof.spec.wendy.messages import MOST_CREDENTIALS, MOST_VALUE

from .nodes import T

HEADER = Header(peer("40"), T)


@given(MESSAGES["peter"])
def test_a_message_is_the_one_of_wendy_with_the_same_bytes(message: Any) -> None:
    assert lift_message(lower_message(message)) == message
    assert wendy.MESSAGE.decode(MESSAGE.encode(message)) == lower_message(message)


def test_what_is_too_large_is_not_written() -> None:
    """[WA-66]"""
    large = PublishMessage(HEADER, b"x" * MOST_VALUE)
    assert MESSAGE.decode(MESSAGE.encode(large)) == large

    for larger in (
        replace(large, value=b"x" * (MOST_VALUE + 1)),
        SubscribeMessage(replace(HEADER, credentials=b"x" * (MOST_CREDENTIALS + 1))),
    ):
        with pytest.raises(NotEnabled):
            MESSAGE.encode(larger)
