"""
A node that runs somewhere, judged without an adapter: by what it answers to datagrams, and by nothing else.

Nobody knows what it has heard before, how it is configured, or when its next timer is due; and it cannot be asked, told or
started again. So only this applies: malformed datagrams must not keep it from answering and must not be answered; and exchange
vectors do where a protocol's answers hang on nothing but what the vector itself says of nodes that nobody else knows. What they
say of the node itself is left out on both sides, since it has said other things of itself before.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.adapter.adapter import AdapterError, AdapterUnavailable, Choose
from peerproof.conformance.adapter.messages import Hello, Offered, Reply, Request
from peerproof.conformance.runner.address_map import is_address
from peerproof.conformance.runner.answer_rules import Rules
from peerproof.conformance.runner.codec_cases import variants
from peerproof.conformance.runner.eligibility import ineligible_reason
from peerproof.conformance.runner.peers import Endpoint, own_host
from peerproof.conformance.runner.real_time import OverSocket, SocketStage, play_script
from peerproof.conformance.runner.trial import Asking, Case, Dialogue, Failure, Over, TimingFailure, Trial, Verdict
from peerproof.conformance.vectors.matching import Bound, Difference, first_difference
from peerproof.conformance.vectors.plain_data import describe_bytes
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS, Reference

_AGAIN: Final = 4  #: so often a question is asked within the slack, since a datagram may be lost
_PEER: Final = "peer:1"


MALFORMED: Final = ("survives", "unchanged", "serves")  #: parts of a case about malformed datagrams

_OF_LAYER: Final = {
    "codec": "nobody can be asked to encode or decode",
    "model": "it begins in a state, and only an adapter loads one",
    "cluster": "it is about several nodes of the implementation",
}


def _rules(protocol: str) -> Rules | None:
    """The rules of a protocol; None if no message is known that every node answers, whatever it knows."""
    reference: Reference[Rules] | None = PROTOCOLS[protocol].answers
    return reference.load() if reference else None


def _rules_of(trial: Trial) -> Rules:
    """Those of a case that `why_not` has let pass."""
    rules = _rules(trial.vector.protocol)
    assert rules is not None
    return rules


def adapt_case(case: Case, over: Over) -> Case:
    """The same case for a node that runs; `why_not` says whether it applies."""
    part = "malformed" if case.part in MALFORMED else "answers" if case.part == "exchange" else "none"
    return replace(case, part=f"connected-{part}", needs=frozenset(), over=over)


def why_not(case: Case) -> str | None:
    """Why a case does not apply to a node that runs; None if it does."""
    reason = _why_not(case)
    return reason and f"not_applicable: {reason}"


def _why_not(case: Case) -> str | None:
    vector = case.vector
    rules = _rules(vector.protocol)
    if rules is None:
        return f"no message is known that every node of {vector.protocol} answers, whatever it knows"
    if case.part == "connected-malformed":
        return None
    if vector.layer != "exchange":
        return _OF_LAYER[vector.layer]
    body = vector.body
    if reason := ineligible_reason(vector):
        return reason
    steps = [*body.get("setup", ()), *body["steps"]]
    if word := next((word for step in steps for word in ("call", "observe", "advance") if word in step), None):
        return f"only an adapter gives the step {word}"
    if any("config" in node for node in body["nodes"].values()):
        return "the node is configured already"
    expects = [step["expect"] for step in steps if "expect" in step]
    if any(word in expect for expect in expects for word in ("events", "state", "quiet_until", "within", "any_of")):
        return "it judges more than the answers to messages"
    wanted = [message for expect in expects for messages in expect["messages"].values() for message in messages]
    if not wanted or any("bytes" not in message for message in wanted):
        return "it has no answers as bytes"
    if rules.about is None:
        return "its answers go only to who knows the node by name"
    said = [describe_bytes(vector.protocol, message["bytes"]) for message in wanted]
    if any(not isinstance(plain, dict) or plain["type"] not in rules.answers for plain in said):
        return "it waits for messages that are no answers"
    told = [describe_bytes(vector.protocol, step["send"]["bytes"]) for step in steps if "bytes" in step.get("send", {})]
    member, whom = rules.about
    entries = [entry for plain in (*said, *told) if isinstance(plain, dict) for entry in plain[member]]
    if not all(isinstance(name := entry[whom], str) and is_address(name) for entry in entries):
        return "it names nodes that are no addresses, so that the node may know them from before"
    return None


class Running:
    """What stands in for an adapter: it can say no more than that somebody answers."""

    def __init__(self, to: Endpoint, protocol: str, slack: float) -> None:
        self._to: Final = to
        self._protocol: Final = protocol
        self._slack: Final = slack

    def start(self) -> Hello:
        """Asks until it answers. Raises AdapterUnavailable."""
        address = f"udp://{self._to[0]}:{self._to[1]}"
        if rules := _rules(self._protocol):
            self._probe(address, bytes.fromhex(rules.probe))
        offered = {self._protocol: Offered(frozenset())}
        return Hello(address, "of unknown version", offered, clock="real", sockets=("udp",))

    def _probe(self, address: str, probe: bytes) -> None:
        hint = f"start the node there first, and name the address and port that it listens at: {self._protocol} over udp"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            opened.settimeout(self._slack / _AGAIN)
            try:
                opened.connect(self._to)
                for _ in range(_AGAIN):
                    try:
                        opened.send(probe)
                        opened.recv(2**16)
                    except TimeoutError:
                        continue
                    return
            except OSError as error:
                raise AdapterUnavailable(f"nobody can be reached at {address}: {error.strerror or error} ({hint})") from None
        raise AdapterUnavailable(f"nobody answers at {address} within {self._slack:g} s ({hint}; --slack)")

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:  # noqa: ARG002  # there is nobody to choose
        """Nothing is asked."""
        assert not requests, "a node without an adapter is asked nothing"
        return []

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """Nothing is asked."""
        assert not choosing, "a node without an adapter is asked nothing"
        return self.ask(requests, lambda _: [])

    def stretch(self, times: float) -> None:
        """Nothing is asked; what may take its time has the slack."""

    def stop(self) -> bool:
        """It is not ours to stop."""
        return True

    def kill(self) -> None:
        """It is not ours to stop."""

    def abort(self) -> None:
        """Whoever waits for it has a time-out."""


class RunningStage(SocketStage):
    """A node that is there already, and the sockets of its peers."""

    def host(self, rank: int) -> str:
        """Where the node can answer to."""
        assert self.over.to is not None, "a case without an adapter says where the node is"
        own = own_host(self.over.to)
        return super().host(rank) if own.startswith("127.") else own

    def serve(self, bind: str) -> Asking:  # noqa: ARG002  # it is where it is
        """It is where the option says."""
        assert self.over.to is not None, "a case without an adapter says where the node is"
        yield []
        return f"{socket.gethostbyname(self.over.to[0])}:{self.over.to[1]}"

    def answer(self, sender: str, probe: str, types: Sequence[str]) -> Asking:
        """The first message of these types that comes to this peer after a question. Raises AdapterError if none does."""
        for _ in range(_AGAIN):
            yield from self.deliver(self.node, sender, probe)
            end = time.monotonic() + self.slack / _AGAIN

            def come() -> bool:
                return any(message.to == sender and self.kind(message) in types for message in self.messages)

            yield from self.patiently(lambda: come() or time.monotonic() > end)  # noqa: B023  # used at once
            if come():
                return next(self.kind(message) for message in self.messages if message.to == sender)
        raise AdapterError(
            "crashed", f"no longer answers: nothing came within {self.slack:g} s after a question that each node answers"
        )


def ignores_malformed(trial: Trial) -> Dialogue:
    """Malformed datagrams are not answered, and afterwards the node answers as before."""
    rules = _rules_of(trial)
    nodes = {"node": {"addr": "node:1"}, "peer": {"addr": _PEER, "role": "scripted"}}
    stage, part = RunningStage(trial, nodes), trial.case.id.rpartition("#")[2]
    try:
        yield from stage.open()
        before = yield from stage.answer(_PEER, rules.probe, rules.answers)
        yield from stage.linger()
        stage.messages.clear()
        for variant in variants(trial.vector.protocol, trial.body):
            yield from stage.deliver(stage.node, _PEER, variant.data.hex())
        yield from stage.linger()
        answers = [message for message in stage.messages if stage.kind(message) in rules.answers]
        if part == "unchanged" and answers:
            shown = {"to": answers[0].to, "bytes": answers[0].bytes}
            what = describe_bytes(trial.vector.protocol, answers[0].bytes)
            miss = Failure("changed", Difference("messages after what is malformed", None, shown, None, what))
            raise TimingFailure(miss, stage.late) if stage.late else miss
        stage.messages.clear()
        after = yield from stage.answer(_PEER, rules.probe, rules.answers)
        if part == "serves" and (difference := first_difference(before, after, {}, "answer")):
            raise Failure("unserving", difference)
        return Verdict()
    finally:
        stage.end()


def answers(trial: Trial) -> Dialogue:
    """A vector's messages, and the answers to them; of the node itself nothing is judged."""
    return (yield from play_script(_Answers(trial, RunningStage(trial, trial.body["nodes"]))))


class _Answers(OverSocket):
    """Only answers are judged, and in them only what they say of others."""

    def hear(self) -> Asking:
        """Nobody tells."""
        yield from ()

    def check(self, expect: Mapping[str, Any], bound: Bound) -> Bound:
        """The names bound. Raises Failure."""
        protocol, rules = self.trial.vector.protocol, _rules_of(self.trial)
        stage = self.stage
        stage.messages[:] = [message for message in stage.messages if stage.kind(message) in rules.answers]
        self.trial.wanted = expect
        ((_, wanted),) = expect.get("messages", {"ordered": []}).items()
        expected = [
            {"to": stage.address(one["to"]), "message": self._of_others(describe_bytes(protocol, one["bytes"]))} for one in wanted
        ]
        found = [{"to": one.to, "message": self._of_others(stage.plain(one.bytes))} for one in stage.messages]
        if difference := first_difference(expected, found, bound, f"{self.where}.messages"):
            raise Failure("messages", difference)
        return bound

    def _of_others(self, plain: Plain) -> Plain:
        about = _rules_of(self.trial).about
        assert about is not None, "otherwise no exchange vector applies"
        entries, whom = about
        own = self.stage.node.addr
        if not isinstance(plain, dict) or not isinstance(said := plain.get(entries), list):
            return plain
        return {**plain, entries: [entry for entry in said if not (isinstance(entry, dict) and entry.get(whom) == own)]}
