"""
The reference as an adapter that leaks, floods, forks, hangs and dies at random.

    python -m tests.reliability.hostile_adapter SEED RATE

One request in RATE is answered by some misdeed instead. Each process has its own sequence of these, so that a case that is run
again meets another one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support import misbehaving

from peerproof.reference.harness.harness import Harness

MIB = 2**20

leaked: list[bytes] = []


def leak(_: Random) -> None:
    """Takes memory and never gives it back; the answer is right."""
    leaked.append(os.urandom(MIB) * 16)


def flood(_: Random) -> None:
    """Writes lines that no request asks for."""
    misbehaving.SPOILED["garbage"]("20000")


def flood_errors(_: Random) -> None:
    """Writes fifty megabytes to standard error; the answer is right."""
    block = b"x" * (MIB - 1) + b"\n"
    for _number in range(50):
        os.write(2, block)


def fork(_: Random) -> None:
    """Leaves a process behind that keeps the pipes open and writes to them later; the answer is right."""
    if os.fork() == 0:
        time.sleep(1)
        os.write(1, b'{"id":1,"ok":true}\n')
        time.sleep(600)
        os._exit(0)


def fork_and_die(random: Random) -> None:
    """Leaves such a process behind, and ends."""
    fork(random)
    os._exit(0)


#: Misdeeds, and how often each is chosen.
MISDEEDS: dict[Callable[[Random], None], int] = {
    leak: 5,
    flood: 5,
    flood_errors: 2,
    fork: 5,
    fork_and_die: 5,
    lambda _: misbehaving.die(""): 10,
    lambda _: misbehaving.killed(""): 10,
    lambda _: misbehaving.half_a_line(""): 10,
    lambda _: misbehaving.SPOILED["long-line"](str(20 * MIB)): 2,
    lambda _: misbehaving.SPOILED["deep-line"](""): 5,
    lambda _: misbehaving.hang(""): 1,
}


def main() -> None:
    """Answers line by line, mostly."""
    seed, rate = sys.argv[1], int(sys.argv[2])
    random = Random(f"{seed}-{os.getpid()}")
    harness = Harness()

    def choose(question: dict[str, Any]) -> list[int]:
        misbehaving.say(json.dumps({"choice": question}))
        picked: list[int] = json.loads(sys.stdin.readline())["choice"]["pick"]
        return picked

    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] not in ("hello", "bye") and random.randrange(rate) == 0:
            (misdeed,) = random.choices(list(MISDEEDS), list(MISDEEDS.values()))
            misdeed(random)
        misbehaving.say(json.dumps(harness.handle(request, choose), separators=(",", ":")))
        if harness.closing:
            break


if __name__ == "__main__":
    main()
