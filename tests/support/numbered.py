"""Twenty-four numbered vectors, and the misbehaving program as an implementation."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

COUNT = 24
PROGRAM = Path(__file__).with_name("misbehaving.py")


def digits(number: int) -> str:
    """The bytes of a numbered vector, which no other one has."""
    return f"01026e{number:02x}00000000000000{number:02x}"


def vector_id(number: int) -> str:
    """The id of a numbered vector."""
    return f"scuttlebutt/codec/number-{number}"


def write_suite(root: Path) -> Path:
    """The folder of these vectors: each is decoded; so each is one case."""
    vectors = "\n".join(
        f"""\
- id: {vector_id(number)}
  rev: 1
  title: a digest request of one entry, number {number}
  level: must
  clauses: [B-43]
  message: {{type: digest_request, entries: [{{addr: {{hex: "6e{number:02x}"}}, version: {number}}}]}}
  bytes: "{digits(number)}"
  checks: [decode]
"""
        for number in range(1, COUNT + 1)
    )
    folder = root / "scuttlebutt" / "codec"
    folder.mkdir(parents=True)
    (folder / "numbered.yaml").write_text(f"format: 1\nprotocol: scuttlebutt\nabout: Numbers.\nvectors:\n{vectors}")
    return root


def argv(habit: str, *arguments: str) -> list[str]:
    """How to start the program with a habit."""
    return [sys.executable, str(PROGRAM), habit, *arguments]


def command(habit: str, *arguments: str) -> str:
    """The same for `--impl`."""
    return shlex.join(argv(habit, *arguments))
