"""
A running node, checked without an adapter, only by its answers to datagrams.

Its history, its configuration and its next timer are unknown, and it cannot be queried, called or restarted. So only two
kinds of cases apply. Malformed datagrams must not be answered and must not keep it from answering. Exchange vectors apply
where a protocol's answers depend only on what the vector itself says of nodes that are otherwise unknown. Entries about the
node itself are left out on both sides, since it may have sent others before.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose
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

_AGAIN: Final = 4  #: probes within the slack, since a datagram may be lost
_PEER: Final = "peer:1"


MALFORMED: Final = ("survives", "unchanged", "serves")  #: parts of a case about malformed datagrams

_OF_LAYER: Final = {
    "codec": "encoding and decoding need an adapter",
    "model": "it begins in a given state, which only an adapter can load",
    "cluster": "it needs several nodes of the implementation",
}


def _rules(protocol: str) -> Rules | None:
    """The rules of a protocol; None if no message is known that every node answers in any state."""
    reference: Reference[Rules] | None = PROTOCOLS[protocol].answers
    return reference.load() if reference else None


def _rules_of(trial: Trial) -> Rules:
    """The rules of a case that `why_not` has accepted."""
    rules = _rules(trial.vector.protocol)
    assert rules is not None
    return rules


def adapt_case(case: Case, over: Over) -> Case:
    """The same case for a running node; `why_not` says whether it applies."""
    part = "malformed" if case.part in MALFORMED else "answers" if case.part == "exchange" else "none"
    return replace(case, part=f"connected-{part}", needs=frozenset(), over=over)


def why_not(case: Case) -> str | None:
    """Returns why a case does not apply to a running node; None if it does."""
    reason = _why_not(case)
    return reason and f"not_applicable: {reason}"


def _why_not(case: Case) -> str | None:
    vector = case.vector
    rules = _rules(vector.protocol)
    if rules is None:
        return f"no message is known that every node of {vector.protocol} answers in any state"
    if case.part == "connected-malformed":
        return None
    if vector.layer != "exchange":
        return _OF_LAYER[vector.layer]
    body = vector.body
    if reason := ineligible_reason(vector):
        return reason
    steps = [*body.get("setup", ()), *body["steps"]]
    if word := next((word for step in steps for word in ("call", "observe", "advance") if word in step), None):
        return f"only an adapter can do the step {word}"
    if any("config" in node for node in body["nodes"].values()):
        return "the node is configured already"
    expects = [step["expect"] for step in steps if "expect" in step]
    if any(word in expect for expect in expects for word in ("events", "state", "quiet_until", "within", "any_of")):
        return "it checks more than the answers to messages"
    wanted = [message for expect in expects for messages in expect["messages"].values() for message in messages]
    if not wanted or any("bytes" not in message for message in wanted):
        return "it has no answers as bytes"
    if rules.about is None:
        return "its answers go only to peers that know the node by name"
    answers = [describe_bytes(vector.protocol, message["bytes"]) for message in wanted]
    if any(not isinstance(plain, dict) or plain["type"] not in rules.answers for plain in answers):
        return "it expects messages that are not answers"
    sent = [describe_bytes(vector.protocol, step["send"]["bytes"]) for step in steps if "bytes" in step.get("send", {})]
    member, whom = rules.about
    entries = [entry for plain in (*answers, *sent) if isinstance(plain, dict) for entry in plain[member]]
    if not all(isinstance(name := entry[whom], str) and is_address(name) for entry in entries):
        return "it names nodes that are not addresses and that the node may know already"
    return None


class Running(Adapter):
    """Stands in for an adapter; it only checks that a node answers. The node and its standard error belong to the user."""

    def __init__(self, to: Endpoint, protocol: str, slack: float) -> None:
        self._to: Final = to
        self._protocol: Final = protocol
        self._slack: Final = slack

    def start(self) -> Hello:
        """Probes the node until it answers. Raises AdapterUnavailable."""
        address = f"udp://{self._to[0]}:{self._to[1]}"
        if rules := _rules(self._protocol):
            self._probe(address, bytes.fromhex(rules.probe))
        offered = {self._protocol: Offered(frozenset())}
        return Hello(address, "of unknown version", offered, clock="real", sockets=("udp",))

    def _probe(self, address: str, probe: bytes) -> None:
        hint = f"start the node there first, and give the address and port at which it listens: {self._protocol} over udp"
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
                raise AdapterUnavailable(f"no node can be reached at {address}: {error.strerror or error} ({hint})") from None
        raise AdapterUnavailable(f"no node answers at {address} within {self._slack:g} s ({hint}; --slack)")

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:  # noqa: ARG002  # it asks no choices
        """Accepts no requests."""
        assert not requests, "a node without an adapter is asked nothing"
        return []

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """Accepts no requests."""
        assert not choosing, "a node without an adapter is asked nothing"
        return self.ask(requests, lambda _: [])


class RunningStage(SocketStage):
    """A running node, and the sockets of its peers."""

    def host(self, rank: int) -> str:
        """The host at which the node can answer."""
        assert self.over.to is not None, "a case without an adapter says where the node is"
        own = own_host(self.over.to)
        return super().host(rank) if own.startswith("127.") else own

    def serve(self, bind: str) -> Asking:  # noqa: ARG002  # the node has its address already
        """Returns the address of the `--connect` option."""
        assert self.over.to is not None, "a case without an adapter says where the node is"
        yield []
        return f"{socket.gethostbyname(self.over.to[0])}:{self.over.to[1]}"

    def answer(self, sender: str, probe: str, types: Sequence[str]) -> Asking:
        """Sends a probe; returns the first message of these types to this peer. Raises AdapterError if none comes."""
        for _ in range(_AGAIN):
            yield from self.deliver(self.node, sender, probe)
            end = time.monotonic() + self.slack / _AGAIN

            def come() -> list[str]:
                return [kind for one in self.messages if one.to == sender and (kind := self.kind(one)) in types]

            yield from self.patiently(lambda: bool(come()) or time.monotonic() > end)  # noqa: B023  # used at once
            if found := come():
                return found[0]
        raise AdapterError(
            "crashed", f"no longer answers: nothing came within {self.slack:g} s after a message that every node answers"
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
            miss = Failure("changed", Difference("messages after malformed datagrams", None, shown, None, what))
            raise TimingFailure(miss, stage.late) if stage.late else miss
        stage.messages.clear()
        after = yield from stage.answer(_PEER, rules.probe, rules.answers)
        if part == "serves" and (difference := first_difference(before, after, {}, "answer")):
            raise Failure("unserving", difference)
        return Verdict()
    finally:
        stage.end()


def answers(trial: Trial) -> Dialogue:
    """Sends a vector's messages and checks the answers, except for entries about the node itself."""
    return (yield from play_script(_Answers(trial, RunningStage(trial, trial.body["nodes"]))))


class _Answers(OverSocket):
    """Checks only answers, and in them only the entries about other nodes."""

    def hear(self) -> Asking:
        """Does nothing: there are no events."""
        yield from ()

    def check(self, expect: Mapping[str, Any], bound: Bound) -> Bound:
        """Checks the answers; returns the bindings unchanged. Raises Failure."""
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
        if not isinstance(plain, dict) or not isinstance(parts := plain.get(entries), list):
            return plain
        return {**plain, entries: [entry for entry in parts if not (isinstance(entry, dict) and entry.get(whom) == own)]}
