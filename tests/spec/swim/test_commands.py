"""What cannot be asked of a node, as plain data; what is refused otherwise, vectors say."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.swim import COMMAND, MESSAGE

from .nodes import A, B, asked, messages, node, quantum

PLAIN_REFUSED = {
    "a host without a name": {"type": "add_node", "uuid": B, "host": "", "port": 1},
    "a port that is none": {"type": "probe_node", "host": "h", "port": 0},
    "a uuid that is none": {"type": "leave_node", "uuid": "1_1_1_11-1111-4111-8111-111111111111"},
    "a payload that is no map": {"type": "set_payload", "uuid": A, "data": [1]},
    "a text that nobody could read": {"type": "set_payload", "uuid": A, "data": {"a": "~!"}},
    "a text that is no UTF-8": {"type": "set_payload", "uuid": A, "data": {"a": "\ud800"}},
    "a key twice": {"type": "set_payload", "uuid": A, "data": {"~i10": 1, "~i010": 2}},
    "a payload that is a uuid": {"type": "set_payload", "uuid": A, "data": {"~#u": [1, 2]}},
    "an event that there is not": {"type": "on_cluster_event", "event_type": "birth"},
}


@pytest.mark.parametrize("case", PLAIN_REFUSED)
def test_what_cannot_be_said_is_not_taken_from_plain_data(case: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        COMMAND.value(PLAIN_REFUSED[case])


def test_a_payload_may_nest_so_deep_that_its_receivers_can_read_it() -> None:
    def nested(depth: int) -> Any:
        return {"k": nested(depth - 1)} if depth else 1

    command = COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(62)})
    (message,) = messages(quantum(asked(node({B: "normal 1 1"}), command).state))
    assert MESSAGE.decode(MESSAGE.encode(message)) == message
    with pytest.raises(ValueError, match="nest deeper"):
        COMMAND.value({"type": "set_payload", "uuid": A, "data": nested(63)})
