"""A vector as a message graph: who tells whom what, as a Mermaid sequence diagram or as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from peerproof.conformance.clauses import specification
from peerproof.conformance.vectors import Vector
from peerproof.spec.errors import MalformedMessage


class Arrow(NamedTuple):
    """A datagram from one to another; `judged` if it is an expectation, not an input."""

    source: str
    target: str
    label: str
    judged: bool = False


class Note(NamedTuple):
    """Something that happens at a node, or at all of them (an empty name)."""

    node: str
    label: str


def of_vector(vector: Vector) -> tuple[list[str], list[Arrow | Note]]:
    """The participants and what happens, in order."""
    if vector.layer == "codec":
        return _of_codec(vector)
    graph = _Graph(vector)
    happenings = list(graph.happenings())
    return list(dict.fromkeys([*vector.body["nodes"], *graph.others])), happenings


def _of_codec(vector: Vector) -> tuple[list[str], list[Arrow | Note]]:
    body = vector.body
    happenings: list[Arrow | Note] = []
    if "rejects" in body:
        what = body["bytes"] if "bytes" in body else " ".join(f"{kind} {how['bytes']}" for kind, how in body["family"].items())
        reason = body["rejects"].get("class", "no message")
        happenings = [
            Arrow("suite", "codec", f"decode {what or 'nothing'}"),
            Arrow("codec", "suite", f"rejected: {reason}", True),
        ]
    else:
        message = shortened(body["message"])
        for check in body.get("checks", ("decode", "encode")):
            asked, answer = (message, body["bytes"]) if check == "encode" else (body["bytes"], message)
            happenings.append(Arrow("suite", "codec", f"{check} {asked}"))
            happenings.append(Arrow("codec", "suite", body["bytes"] if check == "reencode" else answer, True))
    return ["suite", "codec"], happenings


class _Graph:
    def __init__(self, vector: Vector) -> None:
        self.body = vector.body
        self.message = specification(vector.protocol).MESSAGE
        self.names: dict[str, str] = {_text(node["addr"]): name for name, node in self.body["nodes"].items()}
        self.others: list[str] = []
        self.under_test = [name for name, node in self.body["nodes"].items() if "role" not in node]

    def happenings(self) -> Iterator[Arrow | Note]:
        for part in ("setup", "steps"):
            for step in self.body.get(part, ()):
                at = f"{step['at']} ms: " if "at" in step else ""
                for action, how in step.items():
                    yield from self.happening(action, how, at, step)

    def happening(self, action: str, how: Any, at: str, step: Mapping[str, Any]) -> Iterator[Arrow | Note]:
        match action:
            case "send":
                yield Arrow(self.name(how["from"]), how["to"], at + self.label(how))
            case "call":
                refused = f", refused: {step['refused']}".replace(": True", "") if "refused" in step else ""
                arguments = ", ".join(f"{name}={_text(value)}" for name, value in how.get("args", {}).items())
                yield Note(how["node"], f"{at}{how['op']}({arguments}){refused}")
            case "advance":
                yield Note("" if how == "all" else how, f"{at}time passes")
            case "crash" | "restart":
                yield Note(how, f"{at}{action}")
            case "cut":
                yield Note("", f"{at}cut {' | '.join(', '.join(group) for group in how)}")
            case "heal":
                yield Note("", f"{at}heal")
            case "observe":
                yield Note(how["node"], f"{how['query']} = {_text(how['equals'])}")
            case "expect":
                yield from self.expected(how)

    def expected(self, expect: Mapping[str, Any]) -> Iterator[Arrow | Note]:
        for branch in expect.get("any_of", ()):
            yield Note("", f"either {branch['branch']} ({branch['verdict']})")
            yield from self.expected(branch)
        for kind, messages in expect.get("messages", {}).items():
            if kind == "unordered" and len(messages) > 1:
                yield Note("", "in any order")
            for message in messages:
                yield Arrow(self.under_test[0], self.name(message["to"]), self.label(message), judged=True)
            if not messages:
                yield Note("", "nothing is sent")
        if "events" in expect:
            yield Note("", f"events: {_text(expect['events'])}")
        if "quiet_until" in expect:
            yield Note("", f"nothing is sent until {expect['quiet_until']} ms")

    def name(self, who: Any) -> str:
        """A node's name by its name or address; another address stands for itself."""
        known = self.names.get(_text(who), _text(who))
        if known not in self.body["nodes"]:
            self.others.append(known)
        return known

    def label(self, message: Mapping[str, Any]) -> str:
        if "message" in message:
            return shortened(message["message"])
        try:
            return shortened(self.message.plain(self.message.decode(bytes.fromhex(message["bytes"]))))
        except MalformedMessage as error:
            return f"{message['bytes'] or 'nothing'} ({error.reason})"


def shortened(message: Any) -> str:
    """A message in plain form, on one line: its type, then its fields without their names."""
    if not isinstance(message, Mapping) or "type" not in message:
        return _text(message)
    fields = (value for name, value in message.items() if name != "type")
    return " ".join([str(message["type"]), *(_field(field) for field in fields)])


def _field(value: Any) -> str:
    if isinstance(value, list):
        return (
            f"[{', '.join(' '.join(map(_text, item.values())) if isinstance(item, Mapping) else _text(item) for item in value)}]"
        )
    return _text(value)


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case {"u64": str() as digits}:
            return digits
    return json.dumps(value, ensure_ascii=False)


def mermaid(participants: Iterable[str], happenings: Iterable[Arrow | Note]) -> str:
    """A Mermaid sequence diagram; dashed arrows are what the vector expects."""
    names = list(participants)
    lines = ["sequenceDiagram", *(f"    participant {_alias(names, name)} as {_escaped(name)}" for name in names)]
    for happening in happenings:
        match happening:
            case Arrow(source, target, label, judged):
                arrow = "-->>" if judged else "->>"
                lines.append(f"    {_alias(names, source)}{arrow}{_alias(names, target)}: {_escaped(label)}")
            case Note(node, label):
                over = (
                    _alias(names, node) if node else ",".join(dict.fromkeys(_alias(names, end) for end in (names[0], names[-1])))
                )
                lines.append(f"    Note over {over}: {_escaped(label)}")
    return "\n".join(lines)


def text(participants: Iterable[str], happenings: Iterable[Arrow | Note]) -> str:
    """The same for a terminal; `=>` is what the vector expects."""
    names = list(participants)
    width = max(map(len, names))
    lines = []
    for happening in happenings:
        match happening:
            case Arrow(source, target, label, judged):
                lines.append(f"{source:>{width}} {'=>' if judged else '->'} {target:{width}}  {label}")
            case Note(node, label):
                lines.append(f"{node:>{width}}  . {'':{width}}  {label}")
    return "\n".join(lines)


def _alias(names: list[str], name: str) -> str:
    """Mermaid takes no colon in a participant's name."""
    return f"p{names.index(name)}"


def _escaped(label: str) -> str:
    return label.translate({ord("#"): "#35;", ord(";"): "#59;", ord("\n"): " "})
