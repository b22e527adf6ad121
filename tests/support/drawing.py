"""What tests of drawing share: the command, and a small trace in which everything happens that a trace can tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from peerproof.cli.main import main

Capture = pytest.CaptureFixture[str]


def ended(*arguments: str | Path) -> int:
    """The exit code of `peerproof trace draw`, however it ends."""
    return main(["trace", "draw", *map(str, arguments)])


def line(node: str, at: int, kind: str, **others: Any) -> str:
    """A line of a trace, at so many milliseconds."""
    same = {"run": "r", "protocol": "scuttlebutt", "impl": "i", "node": node, "seq": 0, "t_us": at * 1000, "kind": kind}
    rest: dict[str, Any] = {"peer": None, "args": {}, "picks": [], "effects": [], "state": None}
    return json.dumps(same | rest | others)


def sent(to: str, message: Any) -> dict[str, Any]:
    """An effect that sends."""
    return {"send": {"to": to, "message": message}}


PING: Final = {"type": "ping", "n": 1}
STORY: Final = (
    line("a", 0, "start"),
    line("b", 0, "start"),
    line("a", 100, "timer", args={"type": "round"}, effects=[sent("b", PING), sent("x", {"type": "hello"})]),
    line("b", 105, "recv", peer="a", args=PING, effects=[{"notify": {"type": "join", "peer": "a"}}, sent("a", {"type": "ack"})]),
    line("a", 110, "recv", peer="b", args={"type": "ack"}),
    line("a", 200, "api", args={"type": "update", "key": "k"}, refused="is_full", effects=[sent("b", {"type": "gone"})]),
    line("a", 300, "timer", args={"type": "round"}, effects=[sent("b", {"type": "late"})]),
    line("b", 250, "timer", args={"type": "round"}),
)


def story(folder: Path) -> Path:
    """The trace as a file."""
    path = folder / "run.jsonl"
    path.write_text("\n".join(STORY) + "\n", encoding="utf-8")
    return path
