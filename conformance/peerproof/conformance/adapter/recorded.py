"""
The adapter `recorded:FILE`: answers come from a dialogue file.

A node gives the answers of a recorded node that got the same requests since it was opened, and the same answers to its own
questions. The order of cases, and which other cases ran, do not matter. A request that was never recorded has no answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose, Watch
from peerproof.conformance.adapter.choices import WrongQuestion
from peerproof.conformance.adapter.dialogue import (
    Dialogue,
    DialogueError,
    Key,
    Life,
    Origin,
    Step,
    key_of,
    load_dialogue,
    origin_of,
)
from peerproof.conformance.adapter.messages import Hello, InvalidReply, NoAnswer, Reply, Request, hello_of

_ENDING: Final = ("close", "bye")
_SHOWN: Final = 80

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass
class _Node:
    """A node since it was opened, or a request that needs no node."""

    begins: Key
    origin: Origin
    lives: list[Life]  #: recorded lives that are the same so far
    history: list[Step] = field(default_factory=list)
    is_widened: bool = False  #: whether lives of other cases are included


class Recorded(Adapter):
    """The adapter `recorded:FILE`. Of standard error it has what a process wrote that failed to answer, with the failure."""

    def __init__(self, path: Path, watch: Watch | None = None) -> None:
        self._path = path
        self._watch = watch
        self._dialogue: Dialogue | None = None
        self._nodes: dict[int, _Node] = {}
        self._next_handle = 0
        self._next_id = 0
        self._used: Counter[int] = Counter()  #: how often a life was used, by its identity

    def start(self) -> Hello:
        """Reads the dialogue; no node is open. Raises AdapterUnavailable."""
        self._nodes = {}
        try:
            self._dialogue = load_dialogue(self._path)
            return replace(hello_of(self._dialogue.hello), sockets=())  # nothing listens at a recorded address
        except DialogueError as error:
            raise AdapterUnavailable(str(error)) from None
        except InvalidReply as error:
            raise AdapterUnavailable(f"{self._path} cannot be used: its reply to hello: {error}") from None

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """Returns the recorded replies, and `NoAnswer` where there are none. Raises the recorded AdapterError."""
        return self.ask_at_once(requests, [choose] * len(requests))

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """The same, with a chooser for each request."""
        replies: list[Reply] = []
        for request, choose in zip(requests, choosing, strict=True):
            try:
                replies.append(self._reply(request, choose))
            except AdapterError as trouble:
                trouble.answered = replies
                raise
        return replies

    def _reply(self, request: Request, choose: Choose) -> Reply:
        number, self._next_id = self._next_id, self._next_id + 1
        self._show(">", {"id": number, **request})
        node = self._node(request)
        step = self._find_step(node, number, key_of(request), choose) if node else None
        if node and step and step.failure:
            self._used[id(node.lives[0])] += 1
            errors = str(step.failure["errors"]).encode("utf-8", "surrogateescape")
            raise AdapterError(step.failure["kind"], step.failure["detail"], errors=errors)
        if node and request["op"] in _ENDING and node.lives:
            self._used[id(node.lives[0])] += 1
        if step and step.reply is not None:
            reply: Reply = {"id": number, **step.reply}
        elif request["op"] in _ENDING:
            reply = {"id": number, "ok": True}
        else:
            because = f"the recording has no answer to {_request_text(request, node)}"
            reply = NoAnswer(number, because)
        if node and "handle" in reply:
            reply["handle"] = self._next_handle
            self._nodes[self._next_handle] = node
            self._next_handle += 1
        self._show("<", reply)
        return reply

    def _node(self, request: Request) -> _Node | None:
        if "handle" in request:
            return self._nodes.get(request["handle"])
        assert self._dialogue is not None, "an adapter is started before it is asked"
        begins, origin = key_of(request), origin_of(request)
        own = self._dialogue.cases.get((begins, origin), ())
        return _Node(begins, origin, sorted(own, key=lambda life: self._used[id(life)]))

    def _find_step(self, node: _Node, number: int, key: Key, choose: Choose) -> Step | None:
        """Returns the next recorded step; None if there is none, and then the node has no later step either."""
        step = Step(key)
        at = len(node.history)
        while True:
            node.lives = [life for life in node.lives if _goes_on(life, at, step)]
            if not node.lives:
                if node.is_widened:
                    return None
                self._widen(node)
                continue
            found = node.lives[0].steps[at]
            if len(found.questions) == len(step.questions):
                break
            question = found.questions[len(step.questions)][0]
            step.questions.append((question, self._choose(question, number, choose)))
        step.reply, step.failure = found.reply, found.failure
        node.lives = [life for life in node.lives if _has_step(life, at, step)]
        node.history.append(step)
        return step

    def _widen(self, node: _Node) -> None:
        """Adds the lives of other cases that are the same so far."""
        assert self._dialogue is not None
        node.is_widened = True
        others = self._dialogue.lives.get(node.begins, ())
        node.lives = [life for life in others if life.origin != node.origin and life.follows(node.history)]

    def _choose(self, question: dict[str, Any], number: int, choose: Choose) -> list[int]:
        asked = {"for": number, **question}
        self._show("<", {"choice": asked})
        try:
            pick = choose(asked)
        except WrongQuestion as error:
            raise AdapterError("garbled", str(error)) from None
        self._show(">", {"choice": {"for": number, "n": question.get("n"), "pick": pick}})
        return pick

    def _show(self, direction: str, message: dict[str, Any]) -> None:
        if self._watch:
            self._watch(direction, _encode(message))


def _goes_on(life: Life, at: int, begun: Step) -> bool:
    """Whether this request with these questions comes next in the recording, and has a recorded outcome."""
    if len(life.steps) <= at:
        return False
    step = life.steps[at]
    is_known = step.reply is not None or step.failure is not None
    return is_known and step.key == begun.key and step.questions[: len(begun.questions)] == begun.questions


def _has_step(life: Life, at: int, step: Step) -> bool:
    found = life.steps[at]
    return found.questions == step.questions and found.reply == step.reply and found.failure == step.failure


def _request_text(request: Request, node: _Node | None) -> str:
    about = next((request[name] for name in ("bytes", "value", "name", "what") if name in request), None)
    text = "" if about is None else f" {about if isinstance(about, str) else _encode(about)}"
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    when = f" at {request['now_ms']} ms" if "now_ms" in request else ""
    after = f", after {len(node.history)} others to this node" if node and node.history else ""
    return f"{request['op']}{text}{when}{after}"
