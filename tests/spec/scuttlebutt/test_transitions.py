"""What a node answers to datagrams and to its application: tables of the document's cases, and sentences."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from peerproof.spec.core import Asked, Instant, NodeId, Pick
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt import (
    Config,
    State,
    UpdateLocal,
    initial,
    step,
)

Node = Callable[..., State]
A, B, C = NodeId("a:1"), NodeId("b:1"), NodeId("c:1")


@pytest.mark.parametrize(("address", "reason"), [("x" * 256, "too_large"), ("é" * 128, "too_large"), ("\ud800", "bad_value")])
def test_an_address_that_no_message_could_hold_is_refused(address: str, reason: str) -> None:
    with pytest.raises(NotEnabled) as caught:
        initial(NodeId(address), Config())

    assert caught.value.reason == reason


@pytest.mark.parametrize(("version", "refused"), [(U64_MAX - 1, False), (U64_MAX, True)])
def test_after_the_last_version_there_is_none(version: int, refused: bool, node: Node, first: Pick) -> None:
    state = node("b:1", {"b:1": {"k": ("v", version)}})
    event = Asked(Instant(0), UpdateLocal("k", "w"))

    if refused:
        with pytest.raises(NotEnabled, match="version 18446744073709551615 is the last one") as caught:
            step(state, event, first)
        assert caught.value.reason == "overflow"
    else:
        assert step(state, event, first).state.store[B].version == U64_MAX
