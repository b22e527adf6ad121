"""What a node cannot be called."""

from __future__ import annotations

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.errors import NotEnabled
from peerproof.spec.scuttlebutt import Config, initial


@pytest.mark.parametrize(("address", "reason"), [("x" * 256, "too_large"), ("é" * 128, "too_large"), ("\ud800", "bad_value")])
def test_an_address_that_no_message_could_hold_is_refused(address: str, reason: str) -> None:
    with pytest.raises(NotEnabled) as caught:
        initial(NodeId(address), Config())

    assert caught.value.reason == reason
