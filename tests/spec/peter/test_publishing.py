"""Events on their way, and what applications have to do with it, clause by clause. The node is b0."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spec.wendy.nodes import peer

from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Publish, Subscribe, Unsubscribe
from peerproof.spec.wendy import Leave, NodeExited, Route

from .nodes import (
    OTHER,
    TEXT,
    T,
    arrived,
    asked,
    b,
    failed,
    notify,
    subscribe,
    to,
    told,
)

C, NOWHERE = to("c0"), to()


@pytest.mark.parametrize("purpose", [17, 18, 19, 20])
def test_purposes_of_trees_are_not_the_applications(purpose: int) -> None:
    """[PA-31]"""
    with pytest.raises(NotEnabled, match="17 to 20") as refused:
        asked(b(), Route(T, b"x", purpose), C)

    assert refused.value.reason == "reserved"


def test_who_has_left_does_nothing_any_more() -> None:
    """[PA-32]"""
    left = replace(b(local=True, ch="a0", par="c0"), has_left=True)

    for command in (Subscribe(TEXT), Unsubscribe(OTHER), Publish(TEXT, b"rain"), Leave()):
        with pytest.raises(NotEnabled) as refused:
            asked(left, command, C)
        assert refused.value.reason == "left"
    for message in (subscribe("a0"), notify("c0")):
        assert arrived(left, message, C) == (left, ())
    assert told(left, NodeExited(peer("c0")), to("d0")) == (left, ())
    assert failed(left, "c0", subscribe("b0"), to("d0")) == (left, ())
