"""A command of peerproof with a bug in the ping-pong: every pong is a point, also one that comes late or twice."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from pingpong import specification
from pingpong.specification import State

from peerproof.cli.main import main
from peerproof.spec.core import Step


def on_pong(state: State, _: int) -> Step[State, Any]:
    """Scores, whatever the number is."""
    return Step(replace(state, points=state.points + 1))


if __name__ == "__main__":
    vars(specification)["on_pong"] = on_pong
    sys.exit(main(sys.argv[1:]))
