"""An adapter that wraps another one and records requests and replies in a dialogue file, which `recorded:FILE` replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, Choose, Watch, introduction
from peerproof.conformance.adapter.dialogue import DialogueFile
from peerproof.conformance.adapter.messages import Hello, Reply, Request

#: Questions of one request and their answers, as lines.
Asked = list[tuple[dict[str, Any], list[int]]]

_encode: Final = json.JSONEncoder(separators=(",", ":"), default=repr).encode


class Recording(Adapter):
    """
    Records the dialogue with the adapter that `create` makes; `create` gets the watch for the adapter's lines.

    Each request stands before its questions and its reply, even if several were sent at once. All methods also raise
    CannotWrite.
    """

    def __init__(self, create: Callable[[Watch], Adapter], file: DialogueFile) -> None:
        self._adapter = create(self._see)
        self._file = file
        self._process: int | None = None
        self._is_oracle = False
        self._greeting: dict[str, Any] | None = None
        self._next_id = 0

    def start(self) -> Hello:
        """Starts the adapter. Raises AdapterUnavailable."""
        self._end()
        self._process, self._next_id, self._greeting = self._file.start(), 0, None
        hello = self._adapter.start()
        self._is_oracle = hello.oracle
        lines = self._request_lines(introduction(""), [])
        self._file.write(self._process, *lines, self._reply_line(self._greeting or {}))
        return hello

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """Returns the replies. Raises AdapterError."""
        replies: list[Reply] = []
        groups = [[request] for request in requests] if self._is_oracle else [requests]
        for group in groups:
            asked: Asked = []
            try:
                found = self._adapter.ask(group, _listen(choose, asked))
            except AdapterError as trouble:
                self._write_all(group, trouble.answered, asked)
                self._write_failure(group[len(trouble.answered) :][:1], [asked], trouble)
                trouble.answered = [*replies, *trouble.answered]
                raise
            self._write_all(group, found, asked)
            replies += found
        return replies

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """The same as fast as possible. Raises AdapterError."""
        asked: list[Asked] = [[] for _ in requests]
        try:
            replies = self._adapter.ask_at_once(requests, [_listen(*each) for each in zip(choosing, asked, strict=True)])
        except AdapterError as trouble:
            count = len(trouble.answered)
            for request, reply, questions in zip(requests[:count], trouble.answered, asked[:count], strict=True):
                self._write(request, reply, questions)
            self._write_failure(requests[count:], asked[count:], trouble)
            raise
        for request, reply, questions in zip(requests, replies, asked, strict=True):
            self._write(request, reply, questions)
        return replies

    def stop(self) -> bool:
        """Sends `bye`, then kills the process. Returns True if it exited by itself. Raises CannotWrite only."""
        by_itself = self._adapter.stop()
        self._end()
        return by_itself

    def stretch(self, times: float) -> None:
        """Multiplies the initial time limit of requests by this factor from now on."""
        self._adapter.stretch(times)

    def take_errors(self) -> bytes:
        """Returns the end of the standard error since the last call; it is not recorded. Never raises."""
        return self._adapter.take_errors()

    def kill(self) -> None:
        """Kills the implementation. Raises CannotWrite only."""
        self._adapter.kill()
        self._end()

    def abort(self) -> None:
        """Makes a request that another thread waits for fail soon with AdapterError. Never raises."""
        self._adapter.abort()

    def _see(self, direction: str, line: str) -> None:
        if self._greeting is None and direction == "<":
            self._greeting = json.loads(line)

    def _end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            self._file.write(process, "exit")

    def _write_all(self, group: Sequence[Request], replies: Sequence[Reply], asked: Asked) -> None:
        for request, reply in zip(group, replies, strict=False):
            self._write(request, reply, asked if len(group) == 1 else [])

    def _write(self, request: Request, reply: Reply, asked: Asked) -> None:
        assert self._process is not None
        self._file.write(self._process, *self._request_lines(request, asked), self._reply_line(reply))

    def _write_failure(self, requests: Sequence[Request], asked: Sequence[Asked], trouble: AdapterError) -> None:
        """Records the request that had no answer; of several sent at once it is unknown which one."""
        assert self._process is not None
        request, questions = (requests[0], asked[0]) if len(requests) == 1 else ({"op": "batch", "items": list(requests)}, [])
        errors = trouble.errors.decode("utf-8", "backslashreplace")
        failure = _encode({"kind": trouble.kind, "detail": trouble.detail, "errors": errors})
        self._file.write(self._process, *self._request_lines(request, questions), f"! {failure}")

    def _request_lines(self, request: Request, asked: Asked) -> list[str]:
        number, self._next_id = self._next_id, self._next_id + 1
        lines = [f"> {_encode({'id': number, **request})}"]
        for question, pick in asked:
            lines.append(f"< {_encode({'choice': {**question, 'for': number}})}")
            if pick:  # a rejected question has no answer
                lines.append(f"> {_encode({'choice': {'for': number, 'n': question.get('n'), 'pick': pick}})}")
        return lines

    def _reply_line(self, reply: Reply) -> str:
        return f"< {_encode({**reply, 'id': self._next_id - 1})}"


def _listen(choose: Choose, asked: Asked) -> Choose:
    """Returns the same chooser, which also records each question and its answer."""

    def answer(question: dict[str, Any]) -> list[int]:
        asked.append((question, []))
        pick = choose(question)
        asked[-1] = question, pick
        return pick

    return answer
