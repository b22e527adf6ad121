"""
Exchange vectors over a real socket, in real time.

The implementation serves its node on a socket of its own; each scripted peer is a socket of the runner's. Calls and queries
still go through the adapter. A vector's times are real milliseconds from the moment at which the node was there.

What must come may take its time (the slack); what must not come is looked for a little while. Nothing fails because a machine is
slow: if the runner itself was late, or the adapter, whatever looks wrong is `Late`, and no verdict.

While it waits, a dialogue asks for nothing: so many of them can wait at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

from peerproof.conformance.exchange import Script
from peerproof.conformance.matching import Bound, Difference
from peerproof.conformance.places import MOST, Places, Unmovable, addresses, host, is_address
from peerproof.conformance.protocol import Reply
from peerproof.conformance.sockets import Datagrams, endpoint
from peerproof.conformance.stage import Actor, Message, Stage
from peerproof.conformance.trial import Arrow, Asking, Dialogue, Late, Miss, Over, Trial, read, specification
from peerproof.conformance.vectors import Vector
from peerproof.spec.wire import Plain

#: Milliseconds that a vector may take over a socket.
LONGEST: Final = 20_000

#: Capabilities by which a vector reaches into time, chance or state.
VIRTUAL: Final = ("choices.oracle", "state.load", "restart", "sent", "stream", "observe.state")

#: Limits of configurations that count the bytes of addresses.
SIZES: Final = ("max_payload", "max_datagram")

_WAIT: Final = 0.001  #: seconds of one wait, while others wait as well

#: How late the runner may be: a part of the slack, and of the time from one round of the node to the next.
_LATE: Final = 0.1
_LATE_FOR_ROUND: Final = 1 / 6

#: How long it lingers where nothing is waited for, as a part of that.
_LINGER: Final = 1 / 4


def unfit(vector: Vector, transport: str) -> str | None:
    """Why a vector cannot be tried over a socket, whoever is judged; None if it can."""
    if transport not in vector.body.get("transports", ()):
        return f"the vector is not for {transport}"
    return unsuited(vector)


def unsuited(vector: Vector) -> str | None:
    """Why an exchange vector cannot be tried over any socket."""
    body = vector.body
    if needs := sorted(set(vector.needs) & set(VIRTUAL)):
        return f"no real socket gives {', '.join(needs)}"
    steps = [*body.get("setup", ()), *body["steps"]]
    if wrong := next((word for step in steps for word in ("picks", "crash", "restart", "sent", "stream") if word in step), None):
        return f"no real socket gives the step {wrong}"
    if sized := next((word for node in body["nodes"].values() for word in node.get("config", {}) if word in SIZES), None):
        return f"its limit {sized} counts addresses, which are longer over a socket"
    if last(steps) > LONGEST:
        return f"it takes longer than {LONGEST // 1000} seconds"
    nodes = body["nodes"].values()
    (own,) = (node["addr"] for node in nodes if node.get("role") is None)
    if own in addresses(vector.protocol, {"nodes": [node.get("config", {}) for node in nodes]}):
        return "the node is configured with its own address, which it has not before it is there"
    senders = [body["nodes"].get(step["send"]["from"], {}).get("addr", step["send"]["from"]) for step in steps if "send" in step]
    if own in senders:
        return "it has messages from the node's own address"
    if strange := [sender for sender in senders if not (isinstance(sender, str) and is_address(sender))]:
        return f"no socket has the address {strange[0]!r}"
    if len(addresses(vector.protocol, body)) > MOST:
        return "it has more addresses than this machine"
    return None


def last(steps: Iterable[Mapping[str, Any]]) -> int:
    """The last instant that these steps speak of."""
    return max((step.get("at", step.get("expect", {}).get("quiet_until", 0)) for step in steps), default=0)


def exchange(trial: Trial) -> Dialogue:
    """One node under test on its socket; its peers are sockets of the runner's."""
    assert trial.case.over is not None, "a case over a socket says over which"
    trial.hello = replace(trial.hello, choices="set")  # over a socket nobody asks the runner to choose
    stage = SocketStage(trial, trial.body["nodes"], trial.case.over)
    try:
        return (yield from OverSocket(trial, stage).play())
    except Miss as miss:
        if stage.late:
            raise Late(miss, stage.late) from None
        raise
    finally:
        stage.end()


class SocketStage(Stage):
    """A node on a socket, and the sockets of its peers."""

    def __init__(self, trial: Trial, nodes: Mapping[str, Mapping[str, Any]], over: Over) -> None:
        super().__init__(trial, nodes)
        self.over: Final = over
        self.slack: Final = over.slack
        self.limit: Final = min(_LATE * over.slack, _LATE_FOR_ROUND * self._period())  #: seconds that the runner may be late
        self.late = ""  #: why nothing that looks wrong counts
        self.is_quiet = True  #: nothing has been sent since it was last waited for what comes of it
        self._nodes: Final = nodes
        self._places: Final = Places(trial.vector.protocol)
        self._peers: Final = Datagrams()
        self._begin = self._looked = time.monotonic()
        self.node: Actor = next(iter(self.actors.values()))

    def _period(self) -> float:
        """Seconds from one round of the node to the next; for ever if it is not configured so."""
        config = specification(self.trial.vector.protocol).CONFIG
        try:
            plain = config.plain(config.value(dict(next(iter(self.actors.values())).config)))
        except ValueError:  # of which MalformedMessage is one: the adapter will say what is wrong
            return inf
        period = plain.get("interval")
        return period / 1000 if type(period) is int else inf

    def open(self) -> Asking:
        """Starts all sockets, and the node."""
        node, trial = self.node, self.trial
        named = addresses(trial.vector.protocol, {**trial.body, "nodes": self._nodes})
        ranks = {address: rank for rank, address in enumerate(named)}
        bind = f"{host(ranks.pop(str(node.addr)))}:0"
        for address, real in self._peers.open(list(ranks), [self.host(rank) for rank in ranks.values()]).items():
            self._places.put(address, real)
        asked = time.monotonic()
        real = yield from self.serve(bind)
        self._begin = self._looked = time.monotonic()
        self._places.put(str(node.addr), real)
        self._on_time(asked, "the node was served")

    def host(self, rank: int) -> str:
        """Where the peer of this rank is."""
        return host(rank)

    def serve(self, bind: str) -> Asking:
        """The node is started; gives its real address."""
        node, trial = self.node, self.trial
        about = {"case": trial.case.id, "node": node.name, "protocol": trial.vector.protocol, "via": [self.transport]}
        config = self._places.outward(dict(node.config))
        (reply,) = yield [{"op": "serve", **about, "bind": bind, "config": config, "seed": trial.seed}]
        node.handle = reply["handle"]
        trial.handles.append(node.handle)
        try:
            real = str(reply["addrs"][self.transport])
            endpoint(real)
        except (KeyError, TypeError, ValueError):
            raise Miss("misshapen", Difference("reply to serve: addrs", {self.transport: bind}, reply["addrs"])) from None
        return real

    def end(self) -> None:
        """The sockets are free."""
        self._peers.close()

    @property
    def elapsed(self) -> int:
        """Milliseconds since the node was there."""
        return int((time.monotonic() - self._begin) * 1000)

    def act(self, actor: Actor, op: str, **members: Any) -> Asking:
        """One request about a node that is served, with real addresses; gives the reply."""
        asked = time.monotonic()
        (reply,) = yield [{"op": op, "handle": actor.handle, "now_ms": self.elapsed, **self._places.outward(members)}]
        self._looked = time.monotonic()
        self._on_time(asked, f"the adapter answered {op}")
        self.take(actor, reply)
        return reply

    def take(self, actor: Actor, reply: Reply) -> None:
        """What its application was told."""
        super().take(actor, {"effects": self._places.inward(reply["effects"]), "next_timer_ms": None})

    def deliver(self, actor: Actor, sender: Plain, digits: str) -> Asking:
        """A datagram goes out."""
        self.trial.story.append(Arrow(self.elapsed, self.named(sender), actor.name, digits))
        try:
            data = self._places.outward_bytes(digits)
        except Unmovable as error:
            raise Miss("error", Difference("send", "bytes that can be sent over a socket", str(error))) from None
        self._peers.send(str(sender), endpoint(self._places.real[str(actor.addr)]), data)
        self.is_quiet = False
        yield from ()

    def query(self, actor: Actor, what: str, args: Mapping[str, Any] | None = None) -> Asking:
        """The answer to a query, with the vector's addresses."""
        answer = yield from super().query(actor, what, self._places.outward(dict(args)) if args else None)
        return self._places.inward(answer)

    def plain(self, digits: str) -> Any:
        """What a message from a socket says, with the vector's addresses also if its form is not the canonical one."""
        return self._places.inward(read(self.trial.vector.protocol, digits))

    def next_due(self, until: int) -> None:  # noqa: ARG002  # timers are the node's own
        """Nothing: time passes by itself."""
        return

    def advance(self, until: int, explicitly: Iterable[str] = ()) -> Asking:  # noqa: ARG002  # no node is told the time
        """Waits until then."""
        yield from self._wait(self._begin + until / 1000)
        self.now = max(self.now, until)

    def linger(self) -> Asking:
        """Waits for what may come of what was sent."""
        yield from self._wait(time.monotonic() + _LINGER * self.limit)
        self.is_quiet = True

    def patiently(self, fits: Callable[[], bool]) -> Asking:
        """Waits until it is as it should be, for as long as the slack."""
        end = time.monotonic() + self.slack
        while not fits() and time.monotonic() < end:
            self._look(_WAIT)
            yield []

    def _wait(self, due: float) -> Asking:
        self._look(0)
        while (left := due - time.monotonic()) > 0:
            self._look(min(_WAIT, left))
            yield []
        self._on_time(due, f"what was due at {self.elapsed} ms was done")

    def _look(self, seconds: float) -> None:
        """Takes in what has come."""
        self._on_time(self._looked, "the runner had its turn")
        for datagram in self._peers.receive(seconds):
            if datagram.sender == self._places.real[str(self.node.addr)]:  # anybody may send to a socket
                digits = self._places.inward_bytes(datagram.data)
                self.sent(Message(self.elapsed, self.node.name, datagram.to, digits))
        self._looked = time.monotonic()

    def sent(self, message: Message) -> None:
        """A message has come."""
        self.trial.story.append(Arrow(message.at, message.sender, self.named(message.to), message.bytes))
        self.messages.append(message)

    def _on_time(self, due: float, what: str) -> None:
        if (late := time.monotonic() - due) > self.limit and not self.late:
            self.late = f"{what} {late * 1000:.0f} ms late, and the machine may be too slow for this (--slack)"


class OverSocket(Script):
    """A vector's steps in real time."""

    stage: SocketStage

    def set_up(self) -> Asking:
        """What comes of it is waited for."""
        yield from super().set_up()
        yield from self.stage.linger()
        yield from self.hear()
        self.clear()

    def hear(self) -> Asking:
        """What the application of the node was told."""
        yield from self.stage.act(self.stage.node, "advance")

    def act(self, step: Mapping[str, Any]) -> Asking:
        """At its time. The adapter is faster than the network."""
        yield from self.stage.advance(step["at"])
        if "call" in step and not self.stage.is_quiet:
            yield from self.stage.linger()
        yield from super().act(step)

    def observe(self, observe: Mapping[str, Any]) -> Asking:
        """It may take a while until a query gives what it should."""
        stage = self.stage
        if not stage.is_quiet:
            yield from stage.linger()
        end, told = time.monotonic() + stage.slack, len(self.trial.story)
        while True:
            try:
                yield from super().observe(observe)
            except Miss:
                if time.monotonic() > end:
                    raise
                del self.trial.story[told:]
                yield from stage.linger()
            else:
                return

    def expect(self, expect: Mapping[str, Any]) -> Asking:
        """What must come may take a while; what must not come is not there a while later."""
        stage = self.stage
        yield from stage.advance(stage.now + expect.get("within", 0))
        branches = expect.get("any_of", (expect,))
        if "messages" in expect or "events" in expect or "any_of" in expect:
            if not any(wanted for branch in branches for wanted in branch.get("messages", {}).values()):
                yield from stage.linger()
            yield from self.awaited(branches)
            yield from super().expect({name: value for name, value in expect.items() if name not in ("within", "quiet_until")})
        if "quiet_until" in expect:
            yield from self.quiet(expect["quiet_until"])

    def awaited(self, branches: Sequence[Mapping[str, Any]]) -> Asking:
        """Until one of them fits, or the slack is over."""
        end = time.monotonic() + self.stage.slack

        def fits() -> bool:
            return any(self.fits(branch) for branch in branches)

        while True:
            yield from self.hear()  # that it is answered shows that the node has had its turn as well
            if fits() or time.monotonic() > end:
                return
            wait = time.monotonic() + _LINGER * self.stage.limit
            yield from self.stage.patiently(lambda: fits() or time.monotonic() > wait)  # noqa: B023  # used at once

    def fits(self, branch: Mapping[str, Any]) -> bool:
        """Whether what has come so far is this."""
        try:
            self.judge(branch, self.bound)
        except Miss:
            return False
        return True

    def quiet(self, until: int) -> Asking:
        """Nothing comes until then; of what comes just before, nobody knows whether it came then or just after."""
        stage = self.stage
        yield from stage.advance(until)
        after = [message for message in stage.messages if message.at >= until - stage.limit * 1000]
        stage.messages[:] = [message for message in stage.messages if message not in after]
        self.nothing_unexpected()
        stage.messages[:] = after

    def judge(self, expect: Mapping[str, Any], bound: Bound) -> Bound:
        """Between messages to different nodes there is no order on a network."""
        ((order, wanted),) = expect.get("messages", {"ordered": []}).items()
        if order == "ordered" and len(wanted) > 1:
            left, sorted_ones = list(self.stage.messages), []
            for address in (self.stage.address(message["to"]) for message in wanted):
                if match := next((message for message in left if message.to == address), None):
                    left.remove(match)
                    sorted_ones.append(match)
            self.stage.messages[:] = sorted_ones + left
        return super().judge(expect, bound)

    def seen(self, message: Message, in_plain_form: bool) -> dict[str, Any]:
        """With the vector's addresses."""
        shown = {"to": message.to, "bytes": message.bytes}
        return shown | ({"message": self.stage.plain(message.bytes)} if in_plain_form else {})

    def end(self) -> Asking:
        """A node has its own timers: after a time of silence the next may come at any moment."""
        if "quiet_until" not in self.trial.body["steps"][-1].get("expect", {}):
            yield from self.stage.linger()
            self.nothing_unexpected()
