"""Implementations that put out without end."""

from __future__ import annotations

from tests.support.implementations import Altered, Plain
from tests.support.numbered import digits

MIB = 2**20


class Storming(Altered):
    """Answers each datagram with ever more messages, none of which is asked for."""

    many = 10

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] == "recv":
            send = {"send": {"via": "udp", "to": request["from"], "bytes": "03" + "00" * 100}}
            reply["effects"] = [*reply["effects"], *[send] * self.many]
        return reply


class AtOnce(Storming):
    """More messages at once than fit into a line."""

    many = 150_000


class Talking(Altered):
    """Tells its application what is very long."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        if request["op"] == "recv":
            reply["effects"] = [*reply["effects"], {"event": {"name": "talk", "text": "a" * 9 * MIB}}]
        return reply


class Broad(Altered):
    """Answers with a member that nobody knows, of ten million characters in many pieces."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "more": ["x" * 100] * 100_000} if request["op"] == "recv" else reply


class Endless(Altered):
    """One reply has more characters than any may have."""

    def _after(self, request: Plain, reply: Plain) -> Plain:
        return {**reply, "value": "x" * 17 * MIB} if request["op"] == "decode" and digits(9) in request["bytes"] else reply
