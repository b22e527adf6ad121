"""What an application sends straight to a node, past routing."""

from __future__ import annotations

import pytest

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import SendTo
from peerproof.spec.wendy.messages import MOST_VALUE

from .nodes import asked, h, node, peer

STATE = node("40", right="50 60", cells="50")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (SendTo(peer("60")._replace(port=0), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60")._replace(local_ip="", global_ip=""), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("40"), h("51"), b"x", 20), "bad_value"),
        (SendTo(peer("60"), h("51"), b"x", 7), "bad_value"),
        (SendTo(peer("60"), h("51"), b"x" * (MOST_VALUE + 1), 20), "too_large"),
    ],
    ids=["no port", "no host", "itself", "purpose", "value"],
)
def test_what_cannot_be_sent_is_refused(command: SendTo, reason: str) -> None:
    """[WA-55, WA-66, WA-73]"""
    with pytest.raises(NotEnabled) as refused:
        asked(STATE, command)

    assert refused.value.reason == reason
