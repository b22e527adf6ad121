"""
Exchange vectors over a real socket, in real time.

The implementation serves its node on its own socket; each scripted peer is a socket of the runner. Calls and queries still go
through the adapter. A vector's times are real milliseconds since the node was started.

Over connections a peer acknowledges messages at once. If a later step of the vector gives the outcome of the message (`sent`)
the peer waits until then, and closes the connection if the message is not to arrive.

Expected output may take as long as the slack; unexpected output is waited for only briefly. No case fails because a machine
is slow: if the runner or the adapter was late, a failure becomes `TimingFailure`, which gives no verdict.

While it waits, a dialogue sends no requests, so many of them can wait at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, Final

from peerproof.conformance.adapter.messages import Reply
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.address_map import Places, Unmovable, addresses, host
from peerproof.conformance.runner.exchange import Script
from peerproof.conformance.runner.peers import Datagrams, Endpoint, Streams
from peerproof.conformance.runner.trial import Arrow, Asking, Dialogue, Failure, Flood, TimingFailure, Trial, TrialEvent
from peerproof.conformance.runner.virtual_host import Actor, Message, Stage
from peerproof.conformance.vectors.matching import Bound, Difference
from peerproof.conformance.vectors.plain_data import adapter_config
from peerproof.spec.connections import parse_endpoint
from peerproof.spec.forms.form import Plain

#: Configuration members in milliseconds; a node and its peers must all get a turn within each.
PERIODS: Final = ("interval", "heartbeat", "network_timeout")
_WAIT: Final = 0.001  #: seconds of one wait, while others wait as well
_LATE: Final = 0.1  #: how late the runner may be, as a fraction of the slack
_LATE_FOR_ROUND: Final = 1 / 6  #: and as a fraction of the shortest of PERIODS
_LINGER: Final = 1 / 4  #: how long it waits where no output is expected, as a fraction of that


def exchange(trial: Trial) -> Dialogue:
    """Runs one node under test on its socket; its peers are sockets of the runner."""
    trial.hello = replace(trial.hello, choices="set")  # over a socket no choices are asked of the runner
    return (yield from play_script(OverSocket(trial, SocketStage(trial, trial.body["nodes"]))))


def play_script(script: OverSocket) -> Dialogue:
    """Runs a script to its end. Raises TimingFailure instead of Failure if the runner was late."""
    try:
        return (yield from script.play())
    except Failure as miss:
        if script.stage.late and not isinstance(miss, Flood):
            raise TimingFailure(miss, script.stage.late) from None
        raise
    finally:
        script.stage.end()


class SocketStage(Stage):
    """A node on a socket, and the sockets of its peers."""

    def __init__(self, trial: Trial, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(trial, nodes)
        assert trial.case.over is not None, "a case over a socket says over which"
        self.over: Final = trial.case.over
        self.slack: Final = trial.case.over.slack
        self._round: Final = _LATE_FOR_ROUND * self._period()  #: seconds that a step may be late, for any reason
        self.limit: Final = min(_LATE * self.slack, self._round)  #: seconds that the runner may be late
        self.late = ""  #: why failures do not count; empty if they do
        self.is_quiet = True  #: nothing has been sent since the last wait for reactions
        self._nodes: Final = nodes
        self._places: Final = Places(trial.vector.protocol)
        self._peers: Final = Streams(trial.vector.protocol) if self.over.transport == "tcp" else Datagrams()
        steps = (*trial.body.get("setup", ()), *trial.body.get("steps", ()))  # vectors of malformed bytes have none
        self.to_come: Final = [step["sent"] for step in steps if "sent" in step]  #: outcomes of messages that later steps give
        self._begin = self._looked = self._free = time.monotonic()
        self.node: Actor = next(iter(self.actors.values()))

    def _period(self) -> float:
        """Seconds of the shortest period in the node's configuration; infinite if there is none."""
        config = specification(self.trial.vector.protocol).CONFIG
        try:
            plain = config.plain(config.value(dict(next(iter(self.actors.values())).config)))
        except ValueError:  # includes MalformedMessage; the adapter reports the fault
            return inf
        periods = [plain.get(name) for name in PERIODS]
        return min((period / 1000 for period in periods if type(period) is int and period), default=inf)

    def open(self) -> Asking:
        """Opens all sockets, and starts the node."""
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
        """The host of the peer of this rank."""
        return host(rank)

    def serve(self, bind: str) -> Asking:
        """Starts the node; returns its real address."""
        node, trial = self.node, self.trial
        about = {"case": trial.case.id, "node": node.name, "protocol": trial.vector.protocol, "via": [self.transport]}
        config = self._places.outward(adapter_config(trial.vector.protocol, node.config))
        (reply,) = yield [{"op": "serve", **about, "bind": bind, "config": config, "seed": trial.seed}]
        node.handle = reply["handle"]
        trial.handles.append(node.handle)
        try:
            real = str(reply["addrs"][self.transport])
            parse_endpoint(real)
        except (KeyError, TypeError, ValueError):
            raise Failure("misshapen", Difference("reply to serve: addrs", {self.transport: bind}, reply["addrs"])) from None
        return real

    def end(self) -> None:
        """Closes the sockets."""
        self._peers.close()

    @property
    def elapsed(self) -> int:
        """Milliseconds since the node was started."""
        return int((time.monotonic() - self._begin) * 1000)

    def act(self, actor: Actor, op: str, **members: Any) -> Asking:
        """Sends one request about a served node, with real addresses; returns the reply."""
        asked = time.monotonic()
        (reply,) = yield [{"op": op, "handle": actor.handle, "now_ms": self.elapsed, **self._places.outward(members)}]
        self._looked = time.monotonic()
        self._on_time(asked, f"the adapter answered {op}")
        self.take(actor, reply)
        return reply

    def take(self, actor: Actor, reply: Reply) -> None:
        """Takes the events of the node's application."""
        super().take(actor, {"effects": self._places.inward(reply["effects"]), "next_timer_ms": None})

    def deliver(self, actor: Actor, sender: Plain, digits: str) -> Asking:
        """Sends a message, and waits until it is acknowledged, since the next one may take another, faster way."""
        self.trial.is_challenged = True
        self.trial.story.append(Arrow(self.elapsed, self.name_of(sender), actor.name, digits))
        try:
            data = self._places.outward_bytes(digits)
        except Unmovable as error:
            raise Failure("error", Difference("send", "bytes that can be sent over a socket", str(error))) from None
        self._peers.send(str(sender), self._own(), data)
        yield from self._wait_for_peers()

    def stream(self, actor: Actor, about: Mapping[str, Any]) -> Asking:  # noqa: ARG002  # there is only one node
        """Applies an event to a connection of the runner's. Bytes that are not exactly one message keep their addresses."""
        assert isinstance(self._peers, Streams), "there are connections over TCP only"
        data = bytes.fromhex(about.get("bytes", ""))
        with suppress(Unmovable):
            data = self._places.outward_bytes(data.hex())
        self._peers.stream(about["conn"], about["event"], self._own(), data)
        yield from self._wait_for_peers()

    def _wait_for_peers(self) -> Asking:
        self.is_quiet = False
        yield from self.patiently(lambda: not self._peers.is_busy)

    def _own(self) -> Endpoint:
        return parse_endpoint(self._places.real[str(self.node.addr)])

    def settle(self, message: Message, took: int | None) -> Asking:
        """Lets the peer acknowledge the message, or close the connection. The time that it took is the real one."""
        what = f"{self.kind(message)} to {self.name_of(message.to)} is {'not ' if took is None else ''}acknowledged"
        self.trial.story.append(TrialEvent(self.elapsed, message.sender, what))
        self._settle(message, is_confirmed=took is not None)
        yield from self.linger()  # the next message takes another way

    def _settle(self, message: Message, *, is_confirmed: bool) -> None:
        assert isinstance(self._peers, Streams), "datagrams have no outcome"
        place = [each for each in self.open_ended if each.to == message.to].index(message)
        self.open_ended.remove(message)
        self._peers.settle(str(message.to), place, is_confirmed=is_confirmed)

    def query(self, actor: Actor, what: str, args: Mapping[str, Any] | None = None) -> Asking:
        """Returns the answer to a query, with the vector's addresses."""
        answer = yield from super().query(actor, what, self._places.outward(dict(args)) if args else None)
        return self._places.inward(answer)

    def plain(self, digits: str) -> Any:
        """Decodes a message from a socket, with the vector's addresses even if its form is not canonical."""
        return self._places.inward(super().plain(digits))

    def next_due(self, until: int) -> None:  # noqa: ARG002  # the node runs its own timers
        """Does nothing: time passes by itself."""
        return

    def advance(self, until: int, explicitly: Iterable[str] = ()) -> Asking:  # noqa: ARG002  # time passes for the node by itself
        """Waits until then."""
        yield from self._wait(self._begin + until / 1000)
        self.now = max(self.now, until)

    def linger(self) -> Asking:
        """Waits for reactions to what was sent."""
        self._free = time.monotonic() + _LINGER * self.limit  # being late with the next step because of this wait does not count
        yield from self._wait(self._free)
        self.is_quiet = True

    def patiently(self, fits: Callable[[], bool]) -> Asking:
        """Waits until the condition is true, at most as long as the slack."""
        end = time.monotonic() + self.slack
        while not fits() and time.monotonic() < end:
            self._look(_WAIT)
            yield []

    def _wait(self, due: float) -> Asking:
        self._look(0)
        while (left := due - time.monotonic()) > 0:
            self._look(min(_WAIT, left))
            yield []
        what = f"what was due at {int((due - self._begin) * 1000)} ms was done"
        self._on_time(max(due, self._free), what)
        self._on_time(due, what, self._round)

    def _look(self, seconds: float) -> None:
        """Receives what has arrived."""
        self._on_time(self._looked, "the runner had its turn")
        for datagram in self._peers.receive(seconds):
            if datagram.sender in (None, self._places.real[str(self.node.addr)]):  # other programs may send to the socket
                message = Message(self.elapsed, self.node.name, datagram.to, self._places.inward_bytes(datagram.data))
                self.handle_message(message)
                if datagram.is_open:
                    self.open_ended.append(message)
                    self.acknowledge()
        if isinstance(self._peers, Streams):
            for stream in self._peers.take_events():
                self.handle_stream(self.node, stream)
        self._looked = time.monotonic()

    def handle_message(self, message: Message) -> None:
        """Records a message."""
        self.count(message.sender, len(message.bytes) // 2)
        self.trial.story.append(Arrow(message.at, message.sender, self.name_of(message.to), message.bytes))
        self.messages.append(message)

    def handle_stream(self, actor: Actor, stream: Mapping[str, Plain]) -> None:
        """Records connection data; pieces of one connection are joined."""
        last = self.streams[-1] if self.streams else {}
        if "bytes" in stream and "bytes" in last and last["conn"] == stream["conn"]:
            self.count(actor.name, len(str(stream["bytes"])) // 2)
            self.streams[-1] = {**last, "bytes": f"{last['bytes']}{stream['bytes']}"}
        else:
            super().handle_stream(actor, stream)

    def acknowledge(self) -> None:
        """Lets the peers acknowledge open messages whose outcome no later step gives."""
        for message in list(self.open_ended):
            if not any(self.is_meant(message, sent) for sent in self.to_come):
                self._settle(message, is_confirmed=True)

    def _on_time(self, due: float, what: str, limit: float | None = None) -> None:
        if (late := time.monotonic() - due) > (limit or self.limit) and not self.late:
            self.late = f"{what} {late * 1000:.0f} ms late; the machine may be too slow (--slack)"


class OverSocket(Script):
    """A vector's steps in real time."""

    stage: SocketStage

    def set_up(self) -> Asking:
        """Runs the set-up, and waits for its effects."""
        yield from super().set_up()
        yield from self.stage.linger()
        yield from self.hear()
        self.clear()

    def hear(self) -> Asking:
        """Fetches the events of the node's application."""
        yield from self.stage.act(self.stage.node, "advance")

    def act(self, step: Mapping[str, Any]) -> Asking:
        """Runs an action at its time, after waiting for the network, which is slower than the adapter."""
        yield from self.stage.advance(step["at"])
        if "call" in step and not self.stage.is_quiet:
            yield from self.stage.linger()
        yield from super().act(step)

    def settle(self, sent: Mapping[str, Any]) -> Asking:
        """Waits for the message, then settles it."""
        if "to" in sent:
            yield from self.stage.patiently(lambda: bool(self.find_messages(sent)))
        elif not self.stage.is_quiet:
            yield from self.stage.linger()
        self.stage.to_come.remove(sent)
        yield from super().settle(sent)
        self.stage.acknowledge()

    def find_messages(self, sent: Mapping[str, Any]) -> list[Message]:
        """Only messages that have arrived."""
        return [message for message in super().find_messages(sent) if message in self.stage.open_ended]

    def observe(self, observe: Mapping[str, Any]) -> Asking:
        """Repeats a query until its answer matches, at most as long as the slack."""
        stage = self.stage
        if not stage.is_quiet:
            yield from stage.linger()
        end, length = time.monotonic() + stage.slack, len(self.trial.story)
        while True:
            try:
                yield from super().observe(observe)
            except Failure:
                if time.monotonic() > end:
                    raise
                del self.trial.story[length:]
                yield from stage.linger()
            else:
                return

    def expect(self, expect: Mapping[str, Any]) -> Asking:
        """Waits for expected output as long as the slack, and for unexpected output briefly."""
        stage = self.stage
        yield from stage.advance(stage.now + expect.get("within", 0))
        branches = expect.get("any_of", (expect,))
        if "messages" in expect or "events" in expect or "any_of" in expect:
            if not any(wanted for branch in branches for wanted in branch.get("messages", {}).values()):
                yield from stage.linger()
            yield from self.wait_for_branch(branches)
            yield from super().expect({name: value for name, value in expect.items() if name not in ("within", "quiet_until")})
        if "quiet_until" in expect:
            yield from self.quiet(expect["quiet_until"])

    def wait_for_branch(self, branches: Sequence[Mapping[str, Any]]) -> Asking:
        """Waits until a branch matches, or the slack is over."""
        end = time.monotonic() + self.stage.slack

        def fits() -> bool:
            return any(self.fits(branch) for branch in branches)

        while True:
            yield from self.hear()  # an answer shows that the node has had its turn too
            if fits() or time.monotonic() > end:
                return
            wait = time.monotonic() + _LINGER * self.stage.limit
            yield from self.stage.patiently(lambda: fits() or time.monotonic() > wait)  # noqa: B023  # used at once

    def fits(self, branch: Mapping[str, Any]) -> bool:
        """Whether the output so far matches this branch."""
        try:
            self.check(branch, self.bound)
        except Failure:
            return False
        return True

    def quiet(self, until: int) -> Asking:
        """Checks that nothing arrives until then; ignores output so close to the end that it may have come after it."""
        stage = self.stage
        yield from stage.advance(until)
        after = [message for message in stage.messages if message.at >= until - stage.limit * 1000]
        stage.messages[:] = [message for message in stage.messages if message not in after]
        self.check_unexpected()
        stage.messages[:] = after

    def check(self, expect: Mapping[str, Any], bound: Bound) -> Bound:
        """Checks messages, without an order between different receivers, since a network keeps none."""
        ((order, wanted),) = expect.get("messages", {"ordered": []}).items()
        if order == "ordered" and len(wanted) > 1:
            left, sorted_ones = list(self.stage.messages), []
            for address in (self.stage.address(message["to"]) for message in wanted):
                if match := next((message for message in left if message.to == address), None):
                    left.remove(match)
                    sorted_ones.append(match)
            self.stage.messages[:] = sorted_ones + left
        return super().check(expect, bound)

    def end(self) -> Asking:
        """Checks that no output is left, if the vector ends without a quiet time: later timers may run at any moment."""
        if "quiet_until" not in self.trial.body["steps"][-1].get("expect", {}):
            yield from self.stage.linger()
            self.check_unexpected()
