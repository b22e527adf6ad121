"""Peter's messages are Wendy's with other names; any of them as bytes are in `tests/spec/test_codecs.py`."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from tests.support.any_messages import MESSAGES

from peerproof.spec import wendy
from peerproof.spec.peter import MESSAGE
from peerproof.spec.peter.messages import lift_message, lower_message


@given(MESSAGES["peter"])
def test_a_message_is_the_one_of_wendy_with_the_same_bytes(message: Any) -> None:
    assert lift_message(lower_message(message)) == message
    assert wendy.MESSAGE.decode(MESSAGE.encode(message)) == lower_message(message)
