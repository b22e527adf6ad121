"""
The reference as a program with one bad habit: `python misbehaving.py HABIT [ARGUMENT]`.

Habits that name BYTES show when a request holds these hexadecimal digits.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peerproof.reference.harness.harness import Harness

FOR_EVER = 600  #: seconds; every test kills it long before
DEEP = 100_000


def say(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def at_hello(habit: str, argument: str) -> None:
    """What it does before it reads anything."""
    match habit:
        case "silent":
            time.sleep(FOR_EVER)
        case "die-at-hello":
            print("cannot open my database", file=sys.stderr)
            sys.exit(7)
        case "banner":
            say("Listening on port 8080")
        case "flood":
            block = b"x" * 65535 + b"\n"
            for _ in range(100 * 2**20 // len(block)):
                os.write(2, block)
            os.write(2, b"the last words\n")
        case "start-once":
            if Path(argument).exists():
                sys.exit(9)
            Path(argument).touch()


def at_request(habit: str, argument: str, more: str, line: str) -> None:
    """What it does instead of answering, or before."""
    match habit:
        case "slow":
            time.sleep(float(argument))
        case "start-once" if more in line:
            os._exit(3)
        case "slow-at" if argument in line:
            time.sleep(float(more))
        case "slow-once" if argument in line and not Path(more).exists():
            Path(more).touch()
            time.sleep(FOR_EVER)
        case "deaf" if '"op":"bye"' in line:
            time.sleep(FOR_EVER)
    if habit in SPOILED and argument in line:
        SPOILED[habit](more)


def die(_: str) -> None:
    """It ends."""
    print("panic: index out of range", file=sys.stderr, flush=True)
    os._exit(3)


def die_once(marker: str) -> None:
    """It ends, but never again."""
    if not Path(marker).exists():
        Path(marker).touch()
        os._exit(3)


def killed(_: str) -> None:
    """A signal ends it."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(_: str) -> None:
    """It goes on and says nothing."""
    time.sleep(FOR_EVER)


def half_a_line(_: str) -> None:
    """It ends in the middle of a line."""
    sys.stdout.write('{"id": 1, "ok')
    sys.stdout.flush()
    os._exit(0)


def endless_line(_: str) -> None:
    """It writes a line that has no end."""
    block = "x" * 2**20
    while True:
        sys.stdout.write(block)


def ask_on(_: str) -> None:
    """It asks for two seconds before it answers request 1."""
    for _count in range(20):
        say('{"choice":{"for":1,"site":"dice","kind":"one","of":[1,2]}}')
        sys.stdin.readline()
        time.sleep(0.1)


SPOILED: dict[str, Callable[[str], None]] = {
    "flood": die,
    "die": die,
    "die-once": die_once,
    "killed": killed,
    "hang": hang,
    "asks-on": ask_on,
    "half-a-line": half_a_line,
    "endless-line": endless_line,
    "deep-line": lambda _: say('{"id":1,"ok":true,"message":' + "[" * DEEP + "]" * DEEP + "}"),
    "long-line": lambda size: say("x" * int(size)),
    "garbage": lambda size: say("\n".join(["got a request"] * int(size))),
    "debug-print": lambda _: say("got a request"),
}


def refuse_batch(habit: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to a batch that it does not carry out; None if it does."""
    if habit == "no-batch" and request["op"] == "batch":
        return {"id": request["id"], "error": {"code": "unknown_op", "message": "what is a batch?"}}
    if habit == "codec-batch" and request["op"] == "batch" and all(item["op"] != "decode" for item in request["items"]):
        refusal = {"error": {"code": "unknown_op", "message": "not in a batch"}}
        return {"id": request["id"], "ok": True, "results": [refusal for _ in request["items"]]}
    return None


def spoil(habit: str, argument: str, line: str, reply: dict[str, Any]) -> dict[str, Any]:
    """The reply that it gives instead of the right one."""
    if habit == "errors" and '"op":"hello"' in line:
        return {"id": reply["id"], "error": {"code": "version", "message": "I speak 2"}}
    if argument not in line:
        return reply
    if habit == "wrong-id":
        return {**reply, "id": 99_999}
    if habit == "told-late":
        return {"id": reply["id"], "error": {"code": "timeout", "message": "gave up"}}
    if habit == "new-member":
        for part in reply.get("results", [reply]):
            part["duration"] = 3
    if habit == "panics":
        print("panic: boom", file=sys.stderr, flush=True)
        error = {"error": {"code": "panic", "message": "boom"}}
        items = zip(json.loads(line).get("items", ()), reply.get("results", ()), strict=True)
        results = [error if argument in json.dumps(item, separators=(",", ":")) else result for item, result in items]
        return {"id": reply["id"], **({"ok": True, "results": results} if results else error)}
    return reply


def main() -> None:
    """Answers line by line, in its own way."""
    habit, argument, more, *_ = [*sys.argv[1:], "", "", ""]
    at_hello(habit, argument)
    harness = Harness()

    def choose(question: dict[str, Any]) -> list[int]:
        say(json.dumps({"choice": {**question, "for": -1} if habit == "wrong-question" else question}))
        picked: list[int] = json.loads(sys.stdin.readline())["choice"]["pick"]
        return picked

    for line in sys.stdin:
        at_request(habit, argument, more, line)
        request = json.loads(line)
        reply = refuse_batch(habit, request) or spoil(habit, argument, line, harness.handle(request, choose))
        padding = " " * int(more) if habit == "large-batch" and '"op":"batch"' in line else ""
        say(json.dumps(reply, separators=(",", ":")) + padding)
        if harness.closing or (habit == "leave" and argument in line):
            break


if __name__ == "__main__":
    main()
