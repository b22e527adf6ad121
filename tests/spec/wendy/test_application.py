"""What an application sends, gets, and has a say in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import Application, Config, Forward, Route
from peerproof.spec.wendy.messages import MOST_VALUE

from .nodes import asked, h, header, node, sends

STATE = node("40", right="50 60", cells="50")


def message(key: str, hop: int = 0, sender: str = "40", value: bytes | None = b"hello") -> Application:
    """A message of some node."""
    return Application(header(sender, key, hop=hop), 16, value)


@pytest.mark.parametrize("purpose", [-1, 0, 7, 256])
def test_purposes_of_the_protocol_are_not_the_applications(purpose: int) -> None:
    """[WA-55]"""
    with pytest.raises(NotEnabled, match="from 8 to 255"):
        asked(STATE, Route(h("51"), None, purpose))


def test_what_is_too_large_to_be_sent_on_is_refused() -> None:
    """From the application itself, too. [WA-66]"""
    large = b"x" * MOST_VALUE
    assert sends(asked(STATE, Route(h("50"), large)).effects)

    with pytest.raises(NotEnabled, match="at most 524288 bytes"):
        asked(STATE, Route(h("50"), large + b"x"))
    with pytest.raises(NotEnabled, match="at most 1024 bytes"):
        asked(STATE, Forward(replace(message("51"), header=replace(header("41"), credentials=b"x" * 1025))))
    with pytest.raises(ValueError, match="credentials have at most 1024 bytes"):
        Config(h("40"), credentials=b"x" * 1025)
