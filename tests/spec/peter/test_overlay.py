"""Peter on Wendy: what one makes of what the other does, on whole nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.spec.wendy.nodes import NOW, no_choice, node

from peerproof.spec import peter
from peerproof.spec.core import Asked, NodeId, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter import Row, Subscribe
from peerproof.spec.peter import State as Integer
from peerproof.spec.peter.topics import State as Tree
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import (
    Join,
)

from .nodes import TEXT, T


def whole(router: Any, kept: Row | None = None) -> Integer:
    """A node of both with these tables, which keeps this of the topic T."""
    consulted = replace(router, config=replace(router.config, is_consulted=True))
    return Stacked(consulted, Tree(router.self_id, consulted.config, Table({T: kept} if kept else {})))


def took(state: Integer, event: Any) -> Step[Any, Any]:
    """A step of both."""
    return peter.step(state, event, no_choice)


EDGE = node("40", right="50 60 70")  #: on the way to T: 70 is its next hop


def test_what_wendy_refuses_changes_nothing() -> None:
    """[PA-31]"""
    state = whole(EDGE)

    with pytest.raises(NotEnabled):
        took(state, Asked(NOW, Join(NodeId("n70:4000"))))

    assert took(state, Asked(NOW, Subscribe(TEXT))) == took(whole(EDGE), Asked(NOW, Subscribe(TEXT)))
