"""
The adapter as a program: reads requests from standard input and writes replies to standard output, one JSON object a line.

It starts with `python3 -m adapter`; what your implementation logs belongs on standard error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from .serve import Adapter


def main() -> None:
    """Answers line by line, until `bye` or the end of the input."""
    adapter = Adapter()
    for line in iter(sys.stdin.buffer.readline, b""):
        request = json.loads(line)
        print(json.dumps(adapter.handle(request, choose)), flush=True)
        if request["op"] == "bye":
            break
    adapter.end()


def choose(question: dict[str, Any]) -> list[int]:
    """Asks the suite for a random choice in the middle of a request."""
    print(json.dumps({"choice": question}), flush=True)
    picked: list[int] = json.loads(sys.stdin.buffer.readline())["choice"]["pick"]
    return picked


if __name__ == "__main__":
    main()
