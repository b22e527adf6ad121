"""A ring of 32 nodes that speak over real connections."""

from __future__ import annotations

import pytest
from tests.reference.ring import Ring, eventually

pytestmark = [pytest.mark.slow, pytest.mark.kill]


async def test_keys_are_delivered_at_the_closest_node_also_after_a_quarter_was_killed() -> None:
    async with Ring() as ring:
        for _ in range(32):
            await ring.add(1)
            await eventually(ring.at_rest, "at rest")
        await ring.route(200)

        ring.kill(8)
        ring.beat()
        await eventually(ring.at_rest, "repaired")
        await ring.route(200)
