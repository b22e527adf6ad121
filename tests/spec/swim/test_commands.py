"""How deep a payload may nest; what is refused otherwise is in `tests/spec/test_refused.py`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.swim_nodes import A, B, asked, messages, node, quantum

from peerproof.spec.swim import COMMAND, MESSAGE


def test_a_payload_may_nest_so_deep_that_its_receivers_can_read_it() -> None:
    def nested(depth: int) -> Any:
        return {"k": nested(depth - 1)} if depth else 1

    command = COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(62)})
    (message,) = messages(quantum(asked(node({B: "normal 1 1"}), command).state))
    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    with pytest.raises(ValueError, match="nest deeper"):
        COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(63)})
