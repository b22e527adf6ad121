"""
Exchange cases (one node and scripted peers) and cluster cases (several nodes and a simulated network).

The next `expect` checks all output that earlier steps caused. Output that no `expect` has checked when the next action comes,
or at the end, is unexpected. In a cluster the runner carries the messages; the checks are queries and the events that
applications receive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Final

from peerproof.conformance.adapter.answers import canonical_answer
from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.runner.codec_cases import bytes_difference, plain_text
from peerproof.conformance.runner.trial import Asking, Dialogue, Failure, Trial, TrialEvent, Verdict, on_connection
from peerproof.conformance.runner.virtual_host import Message, Stage
from peerproof.conformance.vectors.matching import Bound, Difference, bindings, first_difference, is_literally
from peerproof.conformance.vectors.plain_data import describe_bytes, select_events, without_items
from peerproof.spec.core import EVERYBODY
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS

DEFAULT_DELAY: Final = 1
MICROSECONDS: Final = 1000  #: in a millisecond
JUDGING: Final = ("expect", "observe", "told")  #: steps that check something; all others make something happen
AFTER: Final = "after the last step"


def exchange(trial: Trial) -> Dialogue:
    """Runs one node under test; the vector plays its peers."""
    return (yield from Script(trial, Stage(trial, trial.body["nodes"])).play())


def cluster(trial: Trial) -> Dialogue:
    """Runs several nodes under test on a simulated network."""
    delay = trial.body.get("network", {}).get("delay", DEFAULT_DELAY)
    return (yield from Script(trial, Network(trial, trial.body["nodes"], delay)).play())


class Network(Stage):
    """
    Nodes whose messages all arrive after the same delay, unless the network is cut between sender and receiver then.

    Over connections the sender learns the outcome of its message at the moment of arrival. A message to all nodes also
    reaches its sender.
    """

    def __init__(self, trial: Trial, nodes: Mapping[str, Mapping[str, Any]], delay: int) -> None:
        super().__init__(trial, nodes)
        self.delay = delay
        self.groups: Sequence[Sequence[str]] = ()
        self._on_the_way: list[tuple[int, int, Message]] = []
        self._count = 0

    def handle_message(self, message: Message) -> None:
        """Queues a message that a node has sent."""
        super().handle_message(message)
        self.messages.clear()
        everybody = (message._replace(to=actor.addr) for actor in self.actors.values())
        for copy in everybody if message.to == EVERYBODY else (message,):
            self._count += 1
            heappush(self._on_the_way, (message.at + self.delay, self._count, copy))

    def next_due(self, until: int) -> tuple[int, Callable[[], Asking]] | None:
        """The next timer or message arrival; at the same instant, timers come first."""
        timer = super().next_due(until)
        if not self._on_the_way or self._on_the_way[0][0] > until or (timer and timer[0] <= self._on_the_way[0][0]):
            return timer
        return self._on_the_way[0][0], self._arrive

    def _arrive(self) -> Asking:
        _, _, message = heappop(self._on_the_way)
        receiver, sender = self.actors.get(self.name_of(message.to)), self.actors[message.sender]
        arrives = receiver is not None and receiver.up and not self._is_cut(message.sender, receiver.name)
        if receiver and arrives:
            yield from self.deliver(receiver, sender.addr, message.bytes)
        if self.transport == "tcp" and message in self.open_ended:  # the sender has not crashed since
            yield from self.settle(message, self.delay * MICROSECONDS if arrives else None)

    def _is_cut(self, one: str, other: str) -> bool:
        sides = [next((index for index, group in enumerate(self.groups) if name in group), None) for name in (one, other)]
        return None not in sides and sides[0] != sides[1]


class Script:
    """The steps of a vector, run on a virtual host."""

    def __init__(self, trial: Trial, stage: Stage) -> None:
        self.trial = trial
        self.stage = stage
        self.bound: Bound = {}
        self.branches: list[str] = []
        self.tolerated: list[str] = []
        self.where = ""
        self.state: Plain = None  #: of the node under test, if an expectation asks for it

    def play(self) -> Dialogue:
        """Runs all steps."""
        yield from self.stage.open()
        yield from self.set_up()
        for index, step in enumerate(self.trial.body["steps"]):
            yield from self.play_step(f"steps[{index}]", self.step(step))
        yield from self.play_step(AFTER, self.end())
        return Verdict(tuple(self.branches), "; ".join(self.tolerated) or None)

    def play_step(self, where: str, doing: Asking) -> Asking:
        """Runs one step. Raises Failure, unless the trial continues after a failure."""
        self.where = self.trial.place = where
        try:
            yield from doing
        except Failure as miss:
            claimed = self.trial.find_claimed(miss)
            if self.trial.missed is not None:
                self.trial.missed[where] = miss
            elif not claimed and not self.trial.goes_past(miss):
                raise
            self.branches += claimed
            self.clear()

    def step(self, step: Mapping[str, Any]) -> Asking:
        """Runs a step by its kind."""
        if "expect" in step:
            yield from self.expect(step["expect"])
        elif "observe" in step:
            yield from self.observe(step["observe"])
        elif "told" in step:
            self.check_events(step["told"])
        else:
            yield from self.act(step)

    def set_up(self) -> Asking:
        """Runs the steps before the first check."""
        for index, step in enumerate(self.trial.body.get("setup", ())):
            self.where = f"setup[{index}]"
            yield from self.act(step)
        self.clear()

    def end(self) -> Asking:
        """Checks that no output is left."""
        self.check_unexpected()
        yield from ()

    def act(self, step: Mapping[str, Any]) -> Asking:
        """Runs an action at its time, after everything that is due earlier."""
        stage, at = self.stage, step["at"]
        self.trial.choices.script(step.get("picks", ()))
        named = step.get("advance")
        if named or stage.next_due(at):
            yield from stage.advance(at, stage.actors if named == "all" else [named] if named else ())
        stage.now = max(stage.now, at)
        if send := step.get("send"):
            yield from stage.deliver(stage.actors[send["to"]], stage.address(send["from"]), self.bytes_of(send))
        elif sent := step.get("sent"):
            yield from self.settle(sent)
        elif stream := step.get("stream"):
            yield from self.connection(stream)
        elif call := step.get("call"):
            yield from self.call(call, step.get("refused"))
        elif name := step.get("crash"):
            yield from stage.crash(stage.actors[name])
        elif name := step.get("restart"):
            yield from stage.restart(stage.actors[name], step.get("config"))
        elif groups := step.get("cut"):
            self.part(groups, "cut " + " | ".join(", ".join(group) for group in groups))
        elif step.get("heal"):
            self.part((), "heal")

    def settle(self, sent: Mapping[str, Any]) -> Asking:
        """Reports to a node the outcome of its oldest matching message, or of all messages whose outcome is open."""
        meant = self.find_messages(sent)
        if not meant:
            raise Failure("messages", Difference(f"{self.where}.sent", sent, None))
        for message in meant:
            yield from self.stage.settle(message, sent.get("took"))

    def find_messages(self, sent: Mapping[str, Any]) -> list[Message]:
        """The messages that such a step refers to."""
        stage = self.stage
        meant = [message for message in stage.open_ended if stage.is_meant(message, sent)]
        if "bytes" in sent:  # a loaded node may have sent it before the vector began
            before = Message(stage.now, sent["node"], stage.address(sent["to"]), sent["bytes"])
            meant = [message for message in meant if message.bytes == before.bytes] or [before]
        return meant[:1] if "to" in sent else meant

    def connection(self, stream: Mapping[str, Any]) -> Asking:
        """Applies an event to a connection that a peer has opened to a node."""
        stage, actor = self.stage, self.stage.actors[stream["node"]]
        about = {name: value for name, value in stream.items() if name != "node"}
        self.trial.is_challenged = self.trial.is_challenged or "bytes" in about
        self.trial.story.append(TrialEvent(stage.now, actor.name, on_connection(stream)))
        yield from stage.stream(actor, about)

    def part(self, groups: Sequence[Sequence[str]], what: str) -> None:
        """Cuts the network: from now on nothing passes between these groups."""
        assert isinstance(self.stage, Network), "the schema allows a cut in clusters only"
        self.stage.groups = groups
        self.trial.story.append(TrialEvent(self.stage.now, "", what))

    def bytes_of(self, send: Mapping[str, Any]) -> str:
        """The bytes of a step's message; a message in plain form is encoded by the specification."""
        if "bytes" in send:
            digits: str = send["bytes"]
            return digits
        message = specification(self.trial.vector.protocol).MESSAGE
        return bytes(message.encode(message.value(send["message"]))).hex()

    def call(self, call: Mapping[str, Any], announced: str | bool | None) -> Asking:
        """Makes a call of the application. It may be refused only if the vector says so."""
        actor, args = self.stage.actors[call["node"]], call.get("args", {})
        shown = ", ".join(f"{name}={plain_text(value)}" for name, value in args.items())
        self.trial.story.append(TrialEvent(self.stage.now, actor.name, f"{call['op']}({shown})"))
        self.trial.is_challenged = self.trial.is_challenged or bool(announced)
        reply = yield from self.stage.act(actor, "call", name=call["op"], args=args)
        refused = reply.get("refused", {}).get("class")
        if refused:
            self.trial.story.append(TrialEvent(self.stage.now, actor.name, f"refused: {refused}"))
        if bool(refused) != bool(announced) or (isinstance(announced, str) and refused != announced):
            expected = {"refused": announced} if announced else "the call is carried out"
            actual = {"refused": reply["refused"]} if refused else "the call was carried out"
            raise Failure("refused", Difference(f"{self.where}.call", expected, actual))

    def observe(self, observe: Mapping[str, Any]) -> Asking:
        """Checks the answer to a query."""
        value = yield from self.stage.query(self.stage.actors[observe["node"]], observe["query"], observe.get("args"))
        self.trial.story.append(TrialEvent(self.stage.now, observe["node"], f"{observe['query']} = {plain_text(value)}"))
        where = f"{self.where}.observe.{observe['query']}"
        try:
            self.bound = self.check_match("observed", where, observe["equals"], value, self.bound)
        except Failure:
            canonical = canonical_answer(self.trial.vector.protocol, observe["query"], value)
            if canonical == value:
                raise
            self.bound = self.check_match("observed", where, observe["equals"], canonical, self.bound)

    def check_events(self, told: Mapping[str, Any]) -> None:
        """Checks the events of this kind that one node's application received since the last check."""
        actor, event = self.stage.actors[told["node"]], told["event"]
        if not self.trial.offered.tells(event):
            return
        found = [shown for shown in actor.told if shown["name"] == event]
        actor.told = [shown for shown in actor.told if shown["name"] != event]
        self.bound = self.check_match("events", f"{self.where}.told.{event}", told["equals"], found, self.bound)

    def expect(self, expect: Mapping[str, Any]) -> Asking:
        """Checks the output since the last check."""
        if within := expect.get("within"):
            yield from self.stage.advance(self.stage.now + within)
        branches = expect.get("any_of", (expect,))
        if any("state" in branch for branch in branches):
            (actor,) = self.stage.actors.values()
            self.state = yield from self.stage.query(actor, "state")
        if "picked" in expect and self.trial.hello.is_oracle(self.trial.vector.protocol):
            branches = [branch for branch in branches if branch["branch"] == expect["picked"]]
        if len(branches) > 1:
            self.take_branch(branches)
        else:
            self.bound = self.check(branches[0], self.bound)
        self.clear()
        if "quiet_until" in expect:
            self.trial.choices.script(())
            yield from self.stage.advance(expect["quiet_until"])
            self.check_unexpected()

    def take_branch(self, branches: Sequence[Mapping[str, Any]]) -> None:
        """Takes the first of the allowed outcomes that matches."""
        closest: Failure | None = None
        for branch in branches:
            try:
                self.bound = self.check(branch, self.bound)
            except Failure as miss:
                closest = closest or miss
                continue
            self.branches.append(branch["branch"])
            if branch["verdict"] == "tolerated":
                self.tolerated.append(f"{branch['branch']}: {branch['because']}")
            return
        assert closest is not None, "any_of has at least two branches"
        self.trial.wanted = {"any_of": branches}
        difference = closest.difference
        names = ", ".join(branch["branch"] for branch in branches)
        where = f"{difference.where} (none of the branches {names} fits; shown against the first)"  # basis.json has digests of it
        raise Failure(closest.failure, replace(difference, where=where))

    def check(self, expect: Mapping[str, Any], bound: Bound) -> Bound:
        """Returns the bindings if messages, and the events and state that the vector names, match. Raises Failure."""
        tells = self.trial.offered.tells
        if "events" in expect:
            expect = {**expect, "events": select_events(expect["events"], tells)}
        self.trial.wanted = expect
        ((order, wanted),) = expect.get("messages", {"ordered": []}).items()
        in_plain_form = any("message" in message for message in wanted)
        matchers = [self.matcher(message, in_plain_form) for message in wanted]
        found = [self.actual_message(message, in_plain_form) for message in self.stage.messages]
        expected = matchers if order == "ordered" else {"multiset": matchers}
        literally = not in_plain_form and matchers == found  # addresses and bytes contain no matchers
        after = bound if literally else next(bindings(expected, found, bound), None)
        if after is None:
            raise Failure("messages", self.messages_difference(expected, found, bound))
        after = self.check_match("streams", f"{self.where}.streams", expect.get("streams", []), list(self.stage.streams), after)
        if "events" in expect and "events" in self.trial.offered.capabilities:  # a vector that needs them says so
            events = [event for event in self.stage.events if tells(event["name"])]
            after = self.check_match("events", f"{self.where}.events", expect["events"], events, after)
        if "state" in expect:
            after = self.check_match("observed", f"{self.where}.state", expect["state"], self.state, after)
        return after

    def matcher(self, message: Mapping[str, Any], in_plain_form: bool) -> dict[str, Any]:
        """The pattern of an expected message, with the members that `actual_message` returns."""
        shown: dict[str, Any] = {"to": self.stage.address(message["to"]), "bytes": message.get("bytes", {"any": True})}
        return shown | ({"message": message.get("message", {"any": True})} if in_plain_form else {})

    def actual_message(self, message: Message, in_plain_form: bool) -> dict[str, Any]:
        """A message that was sent; in plain form only if it is compared in that form, since decoding takes time."""
        shown = {"to": message.to, "bytes": message.bytes}
        return shown | ({"message": self.stage.plain(message.bytes)} if in_plain_form else {})

    def messages_difference(self, expected: Any, found: list[dict[str, Any]], bound: Bound) -> Difference:
        """
        The first difference between messages.

        It is "another form" only if no message differs in more than its form, and has the same meaning only if none differs in
        more than parts that mean nothing.
        """
        where = f"{self.where}.messages"
        difference = first_difference(expected, found, bound, where)
        assert difference is not None, "without bindings there is a difference"
        shown = self.readable(difference)
        in_plain_form = any("message" in one for one in found)
        meant = [self.actual_message(self.without_meaningless(one), in_plain_form) for one in self.stage.messages]
        if meant != found:
            other = first_difference(expected, meant, bound, where)
            return replace(shown, has_same_meaning=True) if other is None else self.readable(other)
        if shown.is_other_form:
            message = specification(self.trial.vector.protocol).MESSAGE
            written = [{**one, "bytes": message.encode(message.decode(bytes.fromhex(one["bytes"]))).hex()} for one in found]
            other = first_difference(expected, written, bound, where)
            shown = shown if other is None else self.readable(other)
        return shown

    def without_meaningless(self, message: Message) -> Message:
        """A message that was sent, without the parts that mean nothing; unchanged if it has none, or is malformed."""
        codec, meaningless = specification(self.trial.vector.protocol).MESSAGE, PROTOCOLS[self.trial.vector.protocol].meaningless
        if not meaningless:
            return message
        try:
            read = codec.plain(codec.decode(bytes.fromhex(message.bytes)))
        except MalformedMessage:
            return message
        meant = without_items(read, meaningless.get(read["type"], ()))
        return message if meant == read else message._replace(bytes=codec.encode(codec.value(meant)).hex())

    def readable(self, difference: Difference) -> Difference:
        """The difference, with the bytes in it also decoded by the specification."""
        protocol, expected, actual = self.trial.vector.protocol, difference.expected, difference.actual
        if difference.where.endswith(".bytes"):
            return bytes_difference(protocol, difference.where, expected, actual)
        shown = [
            {name: value for name, value in side.items() if value != {"any": True} and name != "message"}
            | ({} if isinstance(side.get("bytes"), str) else {"message": side.get("message")})
            if isinstance(side, dict) and "bytes" in side
            else side
            for side in (expected, actual)
        ]
        reads = [
            describe_bytes(protocol, side["bytes"]) if isinstance(side, dict) and isinstance(side.get("bytes"), str) else None
            for side in (expected, actual)
        ]
        (expected, actual), (expected_read, actual_read) = shown, reads
        return Difference(difference.where, expected, actual, expected_read, actual_read, difference.nulls)

    def check_match(self, failure: str, where: str, expected: Any, actual: Any, bound: Bound) -> Bound:
        """Returns the bindings if the value matches. Raises Failure."""
        if is_literally(expected, actual):
            return bound
        after = next(bindings(expected, actual, bound), None)
        if after is None:
            difference = first_difference(expected, actual, bound, where)
            assert difference is not None, "without bindings there is a difference"
            raise Failure(failure, difference)
        return after

    def check_unexpected(self) -> None:
        """Raises Failure if a message is left that no expectation covers."""
        if isinstance(self.stage, Network):
            return
        self.check({}, self.bound)
        self.clear()

    def clear(self) -> None:
        """Marks all output as checked."""
        self.trial.judged, self.trial.wanted = len(self.trial.story), None
        self.stage.messages.clear()
        self.stage.events.clear()
        self.stage.streams.clear()
        for actor in self.stage.actors.values():
            actor.told.clear()
