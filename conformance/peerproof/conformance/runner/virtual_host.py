"""
The nodes of one trial under virtual time, and all of their output.

Timers run when virtual time reaches them, in the order of time and of nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from peerproof.conformance.adapter.messages import Reply, Request
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.trial import Arrow, Asking, Failure, Flood, Trial, TrialEvent, on_connection
from peerproof.conformance.vectors.matching import Difference
from peerproof.conformance.vectors.plain_data import adapter_config, describe_bytes, expand_numbered
from peerproof.spec.core import EVERYBODY
from peerproof.spec.forms.form import Plain

#: The most timers and deliveries of a vector; more mean that time stands still or messages multiply.
MOST_HAPPENINGS: Final = 20_000

_SENDERS: Final = 8  #: the most flooding nodes that are named


@dataclass
class Actor:
    """A node under test."""

    name: str
    addr: Plain
    config: Mapping[str, Any]
    handle: Any = None
    now: int = 0
    next_timer: int | None = None
    up: bool = True
    loaded: Plain = None  #: the state in which it begins, if it is not a new node
    timers: Sequence[Mapping[str, Any]] = ()  #: timers that are set in that state
    told: list[Mapping[str, Plain]] = field(default_factory=list)  #: events that are not checked yet


class Message(NamedTuple):
    """A message that a node has sent."""

    at: int
    sender: str
    to: Plain  #: an address
    bytes: str


class Stage:
    """The nodes of a trial."""

    def __init__(self, trial: Trial, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        self.trial = trial
        self.actors = {
            name: Actor(name, node["addr"], node.get("config", {}), loaded=node.get("state"), timers=node.get("timers", ()))
            for name, node in nodes.items()
            if node.get("role") is None
        }
        self.addresses: dict[str, Plain] = {name: node["addr"] for name, node in nodes.items()}
        self.transport = specification(trial.vector.protocol).TRANSPORT
        self.messages: list[Message] = []  #: not checked yet
        self.events: list[Mapping[str, Plain]] = []  #: not checked yet
        self.streams: list[Mapping[str, Plain]] = []  #: actions on connections that are not checked yet
        self.open_ended: list[Message] = []  #: messages whose outcome the sender has not learnt; over datagrams it never does
        self.now = 0
        self._happened = 0
        self._number = self._size = 0  #: the number of messages, events and actions on connections, and of their bytes
        self._numbers: Counter[str] = Counter()  #: by node
        self._sizes: Counter[str] = Counter()  #: by node

    def name_of(self, addr: Plain) -> str:
        """The name of the node with this address, `all` for the address of all nodes; another address is returned as text."""
        if addr == EVERYBODY:
            return "all"
        for name, known in self.addresses.items():
            if known == addr:
                return name
        return str(addr)

    def address(self, who: Plain) -> Plain:
        """The address of a node by its name; anything else is returned unchanged."""
        return self.addresses.get(who, who) if isinstance(who, str) else who

    def open(self) -> Asking:
        """Starts all nodes."""
        trial = self.trial
        for actor in self.actors.values():
            about = {"case": trial.case.id, "node": actor.name, "protocol": trial.vector.protocol, "addr": actor.addr}
            how = {"now_ms": 0, "config": adapter_config(trial.vector.protocol, actor.config), "seed": trial.seed}
            reply = yield from self._ask(actor, {"op": "open", **about, **how, **_loading(actor)})
            actor.handle = reply["handle"]
            trial.handles.append(actor.handle)
            self.take(actor, reply)

    def act(self, actor: Actor, op: str, **members: Any) -> Asking:
        """Sends one request that may have effects; returns the reply."""
        actor.now = max(actor.now, self.now)
        (reply,) = yield [{"op": op, "handle": actor.handle, "now_ms": actor.now, **members}]
        self._check_choices(actor)
        self.take(actor, reply)
        return reply

    def deliver(self, actor: Actor, sender: Plain, digits: str) -> Asking:
        """Delivers a message to a node."""
        self.trial.is_challenged = True
        self.trial.story.append(Arrow(self.now, self.name_of(sender), actor.name, digits))
        yield from self.act(actor, "recv", via=self.transport, **{"from": sender}, bytes=digits)

    def deliver_all(self, actor: Actor, sender: Plain, datagrams: Sequence[str]) -> Asking:
        """Delivers messages one after the other at the same instant; returns the messages sent after each."""
        self.trial.is_challenged = self.trial.is_challenged or bool(datagrams)
        request = {"op": "recv", "handle": actor.handle, "now_ms": self.now, "via": self.transport, "from": sender}
        replies = yield [{**request, "bytes": digits} for digits in datagrams]
        answers: list[list[Message]] = []
        for digits, reply in zip(datagrams, replies, strict=True):
            self.trial.story.append(Arrow(self.now, self.name_of(sender), actor.name, digits))
            before = len(self.messages)
            self.take(actor, reply)
            answers.append(self.messages[before:])
        self._check_choices(actor)
        return answers

    def settle(self, message: Message, took: int | None) -> Asking:
        """Reports the outcome of a message to its sender: the microseconds that it took, or None if it did not arrive."""
        if message in self.open_ended:
            self.open_ended.remove(message)
        actor = self.actors[message.sender]
        outcome = "did not arrive" if took is None else f"arrived after {took} µs"
        what = f"{self.kind(message)} to {self.name_of(message.to)} {outcome}"
        self.trial.story.append(TrialEvent(self.now, actor.name, what))
        yield from self.act(actor, "sent", to=message.to, bytes=message.bytes, took_us=took)

    def stream(self, actor: Actor, about: Mapping[str, Any]) -> Asking:
        """Applies an event to a connection that a peer has opened to a node."""
        yield from self.act(actor, "stream", **about)

    def is_meant(self, message: Message, sent: Mapping[str, Any]) -> bool:
        """Whether a `sent` step may refer to this message."""
        if message.sender != sent["node"]:
            return False
        return "to" not in sent or (message.to == self.address(sent["to"]) and sent.get("type") in (None, self.kind(message)))

    def plain(self, digits: str) -> Any:
        """The decoded bytes of a message."""
        return describe_bytes(self.trial.vector.protocol, digits)

    def kind(self, message: Message) -> str:
        """The type of a message."""
        shown = describe_bytes(self.trial.vector.protocol, message.bytes)
        return str(shown["type"]) if isinstance(shown, dict) else "an invalid message"

    def query(self, actor: Actor, what: str, args: Mapping[str, Any] | None = None) -> Asking:
        """Returns the answer to a query, which may take arguments."""
        about = {"args": dict(args)} if args else {}
        reply = yield from self._ask(actor, {"op": "query", "handle": actor.handle, "what": what, **about})
        return reply["value"]

    def crash(self, actor: Actor) -> Asking:
        """Crashes a node until it is restarted; its open messages are dropped."""
        self.trial.story.append(TrialEvent(self.now, actor.name, "crash"))
        yield from self._ask(actor, {"op": "crash", "handle": actor.handle})
        actor.up, actor.next_timer = False, None
        self.open_ended = [message for message in self.open_ended if message.sender != actor.name]

    def restart(self, actor: Actor, config: Mapping[str, Any] | None = None) -> Asking:
        """Restarts a node; it keeps only what the configuration of this start says."""
        self.trial.story.append(TrialEvent(self.now, actor.name, " ".join(["restart", *_members(config or {})])))
        actor.up = True
        changes = {"config": adapter_config(self.trial.vector.protocol, config)} if config else {}
        yield from self.act(actor, "restart", **changes)

    def advance(self, until: int, explicitly: Iterable[str] = ()) -> Asking:
        """Advances time and runs all that is due by then; nodes that are named explicitly are advanced in any case."""
        while due := self.next_due(until):
            at, happen = due
            self.now = max(self.now, at)
            self._happened += 1
            if self._happened > MOST_HAPPENINGS:
                without_end = Difference(f"at {self.now} ms", "an end of timers and messages", f"{MOST_HAPPENINGS} of them")
                raise Failure("clock", without_end)
            yield from happen()
        self.now = max(self.now, until)
        for name in explicitly:
            actor = self.actors[name]
            if actor.up and actor.now < until:
                yield from self.act(actor, "advance")

    def next_due(self, until: int) -> tuple[int, Callable[[], Asking]] | None:
        """Returns the next timer of any node that is due by then: its instant, and the dialogue that runs it."""
        due: tuple[int, Actor] | None = None
        for actor in self.actors.values():
            if actor.next_timer is not None and actor.next_timer <= until and (due is None or actor.next_timer < due[0]):
                due = actor.next_timer, actor
        return due and (due[0], partial(self.act, due[1], "advance"))

    def take(self, actor: Actor, reply: Reply) -> None:
        """Records a node's effects, and its next timer. Raises Failure."""
        effects = reply["effects"]
        for effect in effects[: self.trial.bounds.at_once]:
            if send := effect.get("send"):
                self.handle_message(Message(self.now, actor.name, send["to"], send["bytes"]))
            elif stream := effect.get("stream"):
                self.handle_stream(actor, stream)
            else:
                self.events.append(effect["event"])
                actor.told.append(effect["event"])
                what = _event_text(effect["event"])
                self.count(actor.name, len(what))
                self.trial.story.append(TrialEvent(self.now, actor.name, what))
        if len(effects) > (most := self.trial.bounds.at_once):
            raise self._flood("messages in reply to one request", "--max-at-once", most, Counter({actor.name: len(effects)}))
        actor.next_timer = reply["next_timer_ms"]
        if actor.next_timer is not None and actor.next_timer < actor.now:
            raise Failure("clock", Difference(f"{actor.name}: next_timer_ms", f"at least {actor.now}", actor.next_timer))

    def count(self, node: str, size: int) -> None:
        """Counts a message, an event or connection data of this size in bytes. Raises Flood."""
        bounds = self.trial.bounds
        self._number += 1
        self._size += size
        self._numbers[node] += 1
        self._sizes[node] += size
        if self._number > bounds.messages:
            raise self._flood("messages in this case", "--max-messages", bounds.messages, self._numbers)
        if self._size > bounds.message_bytes:
            raise self._flood("bytes of messages in this case", "--max-bytes", bounds.message_bytes, self._sizes)

    def _flood(self, what: str, option: str, most: int, by: Counter[str]) -> Flood:
        named = by.most_common(_SENDERS)
        others = [f"{len(by) - len(named)} others"] if len(by) > len(named) else []
        senders = ", ".join([*(f"{name}: {number:,}" for name, number in named), *others])
        text = f"{by.total():,} {what} until {self.now} ms ({senders}), but {option} allows {most:,}"
        return Flood(Difference(what, {"at most": most}, dict(named)), text)

    def handle_stream(self, actor: Actor, stream: Mapping[str, Plain]) -> None:
        """Records a node's action on a connection."""
        self.count(actor.name, len(str(stream.get("bytes", ""))) // 2)
        self.streams.append(stream)
        self.trial.story.append(TrialEvent(self.now, actor.name, on_connection(stream)))

    def handle_message(self, message: Message) -> None:
        """Records a message that a node has sent."""
        self.count(message.sender, len(message.bytes) // 2)
        self.trial.story.append(Arrow(self.now, message.sender, self.name_of(message.to), message.bytes))
        self.messages.append(message)
        self.open_ended.append(message)

    def _ask(self, actor: Actor, request: Request) -> Asking:
        (reply,) = yield [request]
        self._check_choices(actor)
        return reply

    def _check_choices(self, actor: Actor) -> None:
        if wrong := self.trial.choices.wrong:
            raise Failure("choice", Difference(f"{actor.name}: choice", "the options that the vector answers", wrong))


def _loading(actor: Actor) -> dict[str, Plain]:
    """The members that turn an `open` into a `load`."""
    if actor.loaded is None:
        return {}
    timers = [{"timer": running["timer"], "due_ms": running["due"]} for running in actor.timers]
    return {"op": "load", "state": expand_numbered(actor.loaded), "timers": timers}


def _event_text(event: Mapping[str, Plain]) -> str:
    return " ".join([f"event {event['name']}", *_members({name: value for name, value in event.items() if name != "name"})])


def _members(shown: Mapping[str, Plain]) -> list[str]:
    return [f"{name}=" + ('""' if value == "" else f"{value}") for name, value in shown.items()]
