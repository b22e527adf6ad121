"""Adapters with one mistake each, by the check that finds it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from tests.support.implementations import Altered, Choose, Offering, Plain

from peerproof.reference.harness.harness import Harness

#: By check: the adapter that fails it.
MISTAKES: dict[str, type[Harness]] = {}


def fails(check: str) -> Callable[[type[Harness]], type[Harness]]:
    """Notes the check that a class is for."""

    def note(made: type[Harness]) -> type[Harness]:
        MISTAKES[check] = made
        return made

    return note


class Some(Altered):
    """The reference of a protocol over datagrams and of one over connections."""

    def __init__(self, *, oracle: bool = True) -> None:
        super().__init__(["scuttlebutt", "wendy"], oracle=oracle)


@fails("isolation")
class Forgetful(Some):
    """Its replies to queries are those of the last node that was told something."""

    told: int | None = None

    def _before(self, request: Plain) -> Plain:
        if request["op"] == "recv":
            self.told = request["handle"]
        return {**request, "handle": self.told} if request["op"] == "query" and self.told in self._handles else request


@fails("clock")
class WallClock(Some):
    """Its timers run by the clock on the wall."""

    began = 0.0

    def _before(self, request: Plain) -> Plain:
        if request["op"] == "open":
            self.began = time.monotonic()
        is_late = request["op"] == "advance" and time.monotonic() > self.began + 0.01
        return {**request, "now_ms": request["now_ms"] + 1000} if is_late else request


@fails("framing")
class Picky(Some):
    """It refuses members that it does not know."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        refused = {"error": {"code": "bad_request", "message": "what is that?"}}
        return refused if "a_member_from_the_future" in request else reply


@fails("bad_requests")
class Panicking(Some):
    """It does not catch what goes wrong."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if "error" in reply and reply["error"]["code"] != "unknown_op":
            raise RuntimeError("not caught")
        return reply


@fails("batches")
class Mixing(Some):
    """A batch gives its results in another order."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "results": reply["results"][::-1]} if "results" in reply else reply


@fails("unknown_op")
class Wordless(Some):
    """It calls an unknown op a panic."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if reply.get("error", {}).get("code") == "unknown_op":
            reply["error"]["code"] = "internal"
        return reply


@fails("large_line")
class Small(Some):
    """It does not read long lines."""

    def _before(self, request: Plain) -> Plain:
        if len(str(request)) > 65536:
            raise MemoryError("line too long")
        return request


@fails("ordering")
class Shuffled(Some):
    """It answers many requests with what it answered before."""

    before: Plain | None = None

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] != "decode" or request["id"] % 50 != 40 or self.before is None:
            self.before = reply
        return {**self.before, "id": request["id"]}


class Lapsing(Some):
    """It answers in order, but decodes wrongly now and then."""

    count = 0

    def _after(self, request: Plain, reply: Plain) -> Plain:
        self.count += request["op"] == "decode"
        is_wrong = request["op"] == "decode" and self.count % 50 == 40
        return {**reply, "value": {"type": "invented"}} if is_wrong else reply


@fails("outcomes")
class Hopeful(Some):
    """It cannot be told that a message did not arrive."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        is_lost = request["op"] == "sent" and request["took_us"] is None
        return {"error": {"code": "internal", "message": "it must arrive"}} if is_lost else reply


@fails("connections")
class Hasty(Some):
    """It takes what comes at once over a connection for the whole message."""

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Hears nothing of a single byte."""
        if request["op"] == "stream" and request["event"] == "data" and len(request["bytes"]) == 2:
            return {"id": request["id"], "ok": True, "effects": [], "next_timer_ms": None}
        return super().handle(request, choose)


@fails("questions")
class Unsorted(Some):
    """Its options come in no order, as those of a map in Go."""

    def _asks(self, question: Plain, choose: Choose) -> list[int]:
        last = len(question["of"]) - 1
        return [last - index for index in choose({**question, "of": question["of"][::-1]})]


@fails("late_clock")
class Sleepy(Some):
    """A runner that comes late finds one timer run, however many were due."""

    due: dict[Any, Any] | None = None

    def _before(self, request: Plain) -> Plain:
        due = (self.due or {}).get(request.get("handle"))
        is_late = request["op"] == "advance" and due is not None and due < request["now_ms"]
        return {**request, "now_ms": due} if is_late else request

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if "next_timer_ms" in reply:
            self.due = {**(self.due or {}), reply.get("handle", request.get("handle")): reply["next_timer_ms"]}
        return reply


@fails("events")
class Renaming(Some):
    """Its events have names of its own."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        for effect in reply.get("effects", ()):
            if "event" in effect:
                effect["event"]["name"] = "on_" + effect["event"]["name"]
        return reply


class Elsewhere(Some):
    """It asks where the protocol has no choice."""

    def _asks(self, question: Plain, choose: Choose) -> list[int]:
        return choose({**question, "site": "dice"})


class Unclear(Some):
    """Its first question has no options."""

    is_first: ClassVar = True

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Asks at the first `open`."""
        if request["op"] == "open" and Unclear.is_first:
            Unclear.is_first = False
            choose({"site": "round.partner", "kind": "one"})
        return super().handle(request, choose)


class HalfSilent(Some):
    """It asks, but not for its partners."""

    def _asks(self, question: Plain, choose: Choose) -> list[int]:
        return [0] if question["site"] == "round.partner" else choose(question)


class Own(Some):
    """It does not say that it asks."""

    def __init__(self) -> None:
        super().__init__(oracle=False)


class Yes(Some):
    """It has an answer to everything."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {"id": request["id"], "ok": True} if "error" in reply else reply


class Careless(Some):
    """It reads no member before it answers, and falls over where it needs one."""

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Takes any bytes for a truncated message, and needs a configuration."""
        if request["op"] == "decode" and not request.get("bytes"):
            return {"id": request["id"], "ok": True, "rejected": {"class": "truncated"}}
        if request["op"] == "open" and "config" not in request:
            raise KeyError("config")
        return super().handle(request, choose)


class Numbering(Some):
    """Its addresses are numbers."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        for effect in reply.get("effects", ()):
            if "send" in effect:
                effect["send"]["to"] = 7
        return reply


class Misspelt(Offering):
    """Its protocol is called otherwise."""

    offered: ClassVar = {"scutlebutt": {"capabilities": ["codec"]}}


@fails("configuration")
class Numeric(Some):
    """It takes every member of a configuration for a number."""

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Refuses all others."""
        if all(name == "id" or isinstance(value, int) for name, value in request.get("config", {}).items()):
            return super().handle(request, choose)
        return {"id": request["id"], "error": {"code": "bad_request", "message": "a member is no number"}}


class Unopening(Some):
    """It opens no node, for the same reason each time."""

    code = "unsupported"

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] != "open" or "config" not in request:
            return reply
        return {"id": reply["id"], "error": {"code": self.code, "message": "not yet"}}


class Strict(Unopening):
    """It reads no configuration."""

    code = "bad_request"


class Crashing(Unopening):
    """Its implementation fails."""

    code = "panic"
