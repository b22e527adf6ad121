"""The reference with one bad habit each, as classes in this process: `py:tests.support.implementations:NAME`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

from peerproof.reference.harness.harness import Harness

Plain = dict[str, Any]
Choose = Callable[[Plain], list[int]]


class Altered(Harness):
    """The reference, whose requests, replies or questions a subclass alters."""

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Alters the request, then the reply to it."""
        request = self._before(request)
        return self._after(request, super().handle(request, lambda question: self._asks(question, choose)))

    def _before(self, request: Plain) -> Plain:
        return request

    def _after(self, request: Plain, reply: Plain) -> Any:
        return reply

    def _asks(self, question: Plain, choose: Choose) -> list[int]:
        return choose(question)


# What goes wrong with the class itself, at a request to decode.


class Raising(Altered):
    """It does not catch what goes wrong."""

    def _before(self, request: Plain) -> Plain:
        if request["op"] == "decode":
            raise KeyError("no such thing")
        return request


class Exiting(Altered):
    """It ends the process."""

    def _before(self, request: Plain) -> Plain:
        return sys.exit("good bye") if request["op"] == "decode" else request


class Hanging(Altered):
    """It takes longer than anybody waits, at this op."""

    op: ClassVar[str] = "decode"

    def _before(self, request: Plain) -> Plain:
        if request["op"] == self.op:
            time.sleep(1)
        return request


class HangingAtCalls(Hanging):
    """It answers no call."""

    op = "call"


class Speechless(Altered):
    """It says nothing after hello."""

    def _after(self, request: Plain, reply: Plain) -> Any:
        return reply if request["op"] == "hello" else None


class Unwritten(Altered):
    """Its reply is no JSON."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "message": object()} if request["op"] == "decode" else reply


class Deep(Altered):
    """Its reply nests too deep."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        deep: Any = "text"
        for _ in range(400):
            deep = [deep]
        return {**reply, "value": deep} if request["op"] == "decode" else reply


class Circular(Altered):
    """Its reply contains itself."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] == "decode":
            reply["value"] = reply
        return reply


class Unmade:
    """It cannot be made."""

    def __init__(self) -> None:
        raise OSError("no licence")


# What an implementation offers, and how it chooses.


class DrawsByItself(Harness):
    """It cannot be told what to choose, and says so."""

    def __init__(self) -> None:
        super().__init__(oracle=False)


class DrawsAnew(DrawsByItself):
    """It draws otherwise whenever it is started, whatever the seed."""

    def handle(self, request: Plain, choose: Choose) -> Plain:
        """Takes no notice of the seed."""
        return super().handle({**request, "seed": str(time.monotonic_ns())} if request["op"] == "open" else request, choose)


class AlwaysTheFirst(Altered):
    """It says that it asks, and always draws the first."""

    def _asks(self, question: Plain, choose: Choose) -> list[int]:
        return list(range(1 if question["kind"] == "one" else len(question["of"])))


class NotLoading(Altered):
    """It cannot be loaded, and says so."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] == "load":
            return {"error": {"code": "unknown_op", "message": "no load"}}
        for offered in reply["protocols"].values() if request["op"] == "hello" else ():
            offered["capabilities"].remove("state.load")
        return reply


class Offering(Altered):
    """It offers no more than this."""

    offered: ClassVar[Plain] = {}

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "protocols": self.offered} if request["op"] == "hello" else reply


class NoCodec(Offering):
    """It has nodes only."""

    offered: ClassVar = {"scuttlebutt": {"capabilities": ["exchange"]}}


class CodecOnly(Offering):
    """It has no nodes."""

    offered: ClassVar = {"scuttlebutt": {"capabilities": ["codec"]}}


class OtherProtocol(Offering):
    """It is of something else."""

    offered: ClassVar = {"raft": {"capabilities": ["exchange"]}}


class Impossible(Altered):
    """It answers `unsupported`, or another error, to a request with these members."""

    where: ClassVar[Plain] = {}
    code: ClassVar[str] = "unsupported"

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if all(request.get(name) == value for name, value in self.where.items()):
            return {"id": request["id"], "error": {"code": self.code, "message": "not with this library"}}
        return reply


# What its nodes do, and how its decoder reads.


class Generous(Harness):
    """It reads what follows a message, too, as long as it is a zero."""

    def handle(self, request: Plain, choose: Choose) -> Plain:
        """Leaves a zero at the end away."""
        if request["op"] == "decode" and request["bytes"].endswith("00") and request["bytes"].startswith("02"):
            reply = super().handle({**request, "bytes": request["bytes"][:-2]}, choose)
            return reply if "value" in reply else super().handle(request, choose)
        return super().handle(request, choose)


class RaisesInBatches(Altered):
    """It decodes once, and fails at the next request."""

    decoded = 0

    def _before(self, request: Plain) -> Plain:
        self.decoded += request["op"] == "decode"
        if self.decoded > 1:
            raise MemoryError
        return request


class RaisesAtQueries(Altered):
    """It cannot show its peers."""

    def _before(self, request: Plain) -> Plain:
        if request.get("what") == "peers":
            raise KeyError("no peers")
        return request


class SendsAByteMore(Altered):
    """Its answers have a zero at the end."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        for effect in reply.get("effects", ()) if request["op"] == "recv" else ():
            effect["send"]["bytes"] += "00"
        return reply


class WrongNowAndThen(Altered):
    """It forgets what it sent at every five hundredth request that could send something, whatever the request is."""

    count: ClassVar[int] = 0

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if any("send" in effect for effect in reply.get("effects", ())):
            WrongNowAndThen.count += 1
            if WrongNowAndThen.count % 500 == 0:
                reply["effects"] = []
        return reply


class PutsItsTimerOff(Altered):
    """Whatever arrives puts off the next timer by a millisecond."""

    late = 0

    def _after(self, request: Plain, reply: Plain) -> Plain:
        self.late += request["op"] == "recv"
        if reply.get("next_timer_ms") is not None:
            reply["next_timer_ms"] += self.late
        return reply


class Configured(Altered):
    """It has no nodes with these members in their configuration."""

    unsupported: ClassVar[frozenset[str]]

    def handle(self, request: Plain, choose: Choose) -> Any:
        """Refuses what is not supported."""
        if request["op"] in ("open", "restart") and (lacking := self.unsupported & set(request.get("config", {}))):
            return {"error": {"code": "unsupported", "message": f"no {min(lacking)} yet"}}
        return super().handle(request, choose)


class UsualDatagrams(Configured):
    """Its datagrams have one size, it emits no incarnation, and it restarts with no counter."""

    unsupported = frozenset({"max_datagram", "emit_incarnation", "restart_counter"})


class UsualAndWrong(UsualDatagrams):
    """It also answers no message."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "effects": []} if request["op"] == "recv" and "effects" in reply else reply


class Unopened(Configured):
    """It opens no node."""

    unsupported = frozenset({"uuid"})


class Nodeless(Altered):
    """It opens no node, whatever the configuration."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        unsupported = {"error": {"code": "unsupported", "message": "no node yet"}}
        return unsupported if request["op"] in ("open", "load") else reply
