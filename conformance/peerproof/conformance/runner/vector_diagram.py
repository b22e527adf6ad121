"""A vector as a message graph: its inputs and its expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from peerproof.conformance.clauses.catalogue import specification
from peerproof.conformance.diagrams.compact import select_renderer
from peerproof.conformance.diagrams.labels import message_text, plain_text
from peerproof.conformance.diagrams.message_graph import Arrow, MessageGraph, Note
from peerproof.conformance.diagrams.names import names_in_vector, rename
from peerproof.conformance.runner.trial import on_connection
from peerproof.conformance.vectors.suite import Vector
from peerproof.spec.core import EVERYBODY
from peerproof.spec.errors import MalformedMessage


def of_vector(vector: Vector, *, is_full: bool = False) -> MessageGraph:
    """
    Returns the graph of a vector: its nodes and all other named addresses; expected messages are `judged`.

    Messages have their compact form, and nodes their names, unless `is_full`; those of the codec are always shown whole.
    """
    if vector.layer == "codec":
        return _of_codec(vector)
    graph = _Graph(vector, is_full=is_full)
    happenings = tuple(graph.happenings())
    drawn = MessageGraph(tuple(dict.fromkeys([*vector.body["nodes"], *graph.others])), happenings)
    names = {} if is_full else names_in_vector(specification(vector.protocol), vector.body)
    return drawn.relabel(lambda label: rename(label, names))


def _of_codec(vector: Vector) -> MessageGraph:
    body = vector.body
    exchanges: list[tuple[str, str]] = []  # requests and answers
    if "rejects" in body:
        what = body["bytes"] if "bytes" in body else " ".join(f"{kind} {how['bytes']}" for kind, how in body["family"].items())
        reason = body["rejects"].get("class", "no message")
        exchanges.append((f"decode {what or 'nothing'}", f"rejected: {reason}"))
    else:
        message = message_text(body["message"])
        for check in body.get("checks", ("decode", "encode")):
            asked, answer = (message, body["bytes"]) if check == "encode" else (body["bytes"], message)
            exchanges.append((f"{check} {asked}", body["bytes"] if check == "reencode" else answer))
    arrows = [(Arrow("suite", "codec", asked), Arrow("codec", "suite", answer, True)) for asked, answer in exchanges]
    return MessageGraph(("suite", "codec"), tuple(chain.from_iterable(arrows)))


def of_expectation(vector: Vector, expect: Mapping[str, Any]) -> tuple[Arrow | Note, ...]:
    """Returns the messages and other checks of one expectation of a vector, or of one of its branches."""
    return tuple(_Graph(vector).expectation(expect))


def of_step(vector: Vector, step: Mapping[str, Any], *, is_full: bool = False) -> tuple[Arrow | Note, ...]:
    """Returns one step of a vector: its input, or its expectation."""
    return tuple(_Graph(vector, is_full=is_full).step(step))


class _Graph:
    def __init__(self, vector: Vector, *, is_full: bool = True) -> None:
        self.body = vector.body
        self.render = select_renderer(vector.protocol, is_full=is_full)
        self.message = specification(vector.protocol).MESSAGE
        self.names: dict[str, str] = {plain_text(node["addr"]): name for name, node in self.body["nodes"].items()}
        self.others: list[str] = []
        self.under_test = [name for name, node in self.body["nodes"].items() if "role" not in node]

    def happenings(self) -> Iterator[Arrow | Note]:
        for part in ("setup", "steps"):
            for step in self.body.get(part, ()):
                yield from self.step(step)

    def step(self, step: Mapping[str, Any]) -> Iterator[Arrow | Note]:
        at = f"{step['at']} ms: " if "at" in step else ""
        for action, how in step.items():
            yield from self.happening(action, how, at, step)

    def happening(self, action: str, how: Any, at: str, step: Mapping[str, Any]) -> Iterator[Arrow | Note]:
        match action:
            case "send":
                yield Arrow(self.name(how["from"]), how["to"], at + self.label(how))
            case "sent":
                kind = how.get("type", "the oldest message")
                outcome = f"arrived after {how['took']} µs" if how.get("took") is not None else "did not arrive"
                to = f"{kind} to {self.name(how['to'])}" if "to" in how else "all that it has sent"
                yield Note(how["node"], f"{at}{to} {outcome}")
            case "stream":
                yield Note(how["node"], at + on_connection(how))
            case "call":
                refused = f", refused: {step['refused']}".replace(": True", "") if "refused" in step else ""
                arguments = ", ".join(f"{name}={plain_text(value)}" for name, value in how.get("args", {}).items())
                yield Note(how["node"], f"{at}{how['op']}({arguments}){refused}")
            case "advance":
                yield Note("" if how == "all" else how, f"{at}time passes")
            case "crash" | "restart":
                kept = [f"{name}={plain_text(value)}" for name, value in step.get("config", {}).items()]
                yield Note(how, at + " ".join([action, *kept]))
            case "cut":
                yield Note("", f"{at}cut {' | '.join(', '.join(group) for group in how)}")
            case "heal":
                yield Note("", f"{at}heal")
            case "observe":
                yield Note(how["node"], f"{how['query']} = {plain_text(how['equals'])}")
            case "told":
                yield Note(how["node"], f"received {how['event']}: {plain_text(how['equals'])}")
            case "expect":
                yield from self.expectation(how)

    def expectation(self, expect: Mapping[str, Any]) -> Iterator[Arrow | Note]:
        for branch in expect.get("any_of", ()):
            if expect.get("picked", branch["branch"]) != branch["branch"]:
                continue
            drawn = f"chosen: {branch['because']}"
            yield Note("", drawn if "picked" in expect else f"either {branch['branch']} ({branch['verdict']})")
            yield from self.expectation(branch)
        for kind, messages in expect.get("messages", {}).items():
            if kind == "unordered" and len(messages) > 1:
                yield Note("", "in any order")
            for message in messages:
                yield Arrow(self.under_test[0], self.name(message["to"]), self.label(message), judged=True)
            if not messages:
                yield Note("", "nothing is sent")
        for stream in expect.get("streams", ()):
            yield Note("", on_connection(stream))
        if "events" in expect:
            yield Note("", f"events: {plain_text(expect['events'])}")
        if "quiet_until" in expect:
            yield Note("", f"nothing is sent until {expect['quiet_until']} ms")

    def name(self, who: Any) -> str:
        """A node's name by its name or address, `all` for the address of all nodes; another address is returned as text."""
        known = "all" if who == EVERYBODY else self.names.get(plain_text(who), plain_text(who))
        if known not in self.body["nodes"]:
            self.others.append(known)
        return known

    def label(self, message: Mapping[str, Any]) -> str:
        if "message" in message:
            return self.render("recv", message["message"])
        try:
            return self.render("recv", self.message.plain(self.message.decode(bytes.fromhex(message["bytes"]))))
        except MalformedMessage as error:
            return f"{message['bytes'] or 'nothing'} ({error.reason})"
