"""What a node in real time says of bad input."""

from __future__ import annotations

import pytest
from tests.reference.ring import ring_of


async def test_a_flood_of_bad_input_is_one_warning_in_ten_seconds_with_the_number_of_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with ring_of(1) as ring:
        node = ring.members[0].node
        with monkeypatch.context() as patch:
            for second in range(0, 25, 4):
                patch.setattr(node._loop, "time", lambda at=second: node._epoch + at)
                node._warn("flood", f"at {second} s")

    two_more = "; 2 more since the last warning"
    assert caplog.messages == ["flood at 0 s", f"flood at 12 s{two_more}", f"flood at 24 s{two_more}"]
