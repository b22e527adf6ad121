"""An adapter that exchanges lines of JSON, over the pipes of a program or over TCP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from peerproof.conformance.adapter import messages
from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose, Watch, introduction
from peerproof.conformance.adapter.choices import WrongQuestion, nothing_to_choose
from peerproof.conformance.adapter.line_channel import Channel, Ended, LineTooLong, ReadTimeout
from peerproof.conformance.adapter.messages import DEEPEST, WITHOUT_CHOICES, Hello, InvalidReply, Reply, Request
from peerproof.conformance.suite.bounds import MAX_LINE
from peerproof.conformance.suite.timeouts import Timeouts

_SHOWN: Final = 200  #: the most characters of a wrong line that are shown
WINDOW: Final = 256  #: the most requests without a reply
FIRST_BATCH: Final = 8  #: the first batch has the time of one request; batches grow while replies come well within it
LARGEST_BATCH: Final = 256
_WELL_WITHIN: Final = 0.1  #: as a fraction of the time
_NO_OP: Final = ("unknown_op", "unsupported")  #: error codes for an op that an adapter does not have

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class LineAdapter(Adapter):
    """An adapter that exchanges lines of JSON."""

    def __init__(
        self,
        open_channel: Callable[[], Channel],
        patience: Timeouts,
        suite: str,
        watch: Watch | None = None,
        longest: int = MAX_LINE,
    ) -> None:
        self._open_channel = open_channel
        self._patience = patience
        self._suite = suite
        self._watch = watch
        self._channel: Channel | None = None
        self._next_id = 0
        self._oracle = False
        self._batch = FIRST_BATCH
        self._op = patience.op
        self._longest = longest  #: the most bytes of a line

    def start(self) -> Hello:
        """Starts or restarts the program. Raises AdapterUnavailable."""
        self.kill()
        self._channel = self._open_channel()
        self._channel.longest = self._longest
        self._next_id = 0
        try:
            (reply,) = self._exchange([introduction(self._suite)], [nothing_to_choose], self._patience.hello)
            hello = messages.hello_of(reply)
        except AdapterError as trouble:
            self.kill()
            because = {"hung": f"wrote nothing within {self._patience.hello:g} s", "crashed": trouble.detail}
            reason = because.get(trouble.kind, trouble.detail)
            raise AdapterUnavailable(f"the adapter cannot be used: after hello it {reason}", trouble.errors) from None
        except InvalidReply as error:
            errors = self._channel.errors
            self.kill()
            raise AdapterUnavailable(f"the adapter cannot be used: its reply to hello: {error}", errors) from None
        self._oracle = hello.oracle
        return hello

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """Returns the replies to independent requests. Raises AdapterError."""
        return self._ask(requests, [choose] * len(requests))

    def _ask(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        replies: list[Reply] = []
        for group in self._groups(requests):
            try:
                replies += self._exchange(group, choosing[len(replies) :][: len(group)], self._op)
            except AdapterError as trouble:
                trouble.answered = [*replies, *trouble.answered]
                raise
        return replies

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """
        The same in batches. Raises AdapterError.

        An adapter without batches gets single requests. An error in a batch does not show which request caused it. Items have
        ids, to which their questions refer.
        """
        replies: list[Reply] = []
        while self._batch and len(replies) < len(requests):
            items = requests[len(replies) : len(replies) + self._batch]
            begin = time.monotonic()
            try:
                reply = self._exchange_batch(items, choosing[len(replies) :][: len(items)])
            except AdapterError as trouble:
                trouble.answered = replies
                if trouble.kind in ("hung", "flooded"):
                    self._batch = max(1, self._batch // 4)  # a smaller batch may succeed
                raise
            results = reply.get("results")
            if not isinstance(results, list) or len(results) != len(items) or not all(isinstance(part, dict) for part in results):
                self._batch = 0  # it has no valid batches; single replies may be right
                break
            if all(isinstance(error := part.get("error"), dict) and error.get("code") in _NO_OP for part in results):
                self._batch = 0  # no batches for this op
                break
            replies += results
            well_within = time.monotonic() - begin < self._op * _WELL_WITHIN or not self._op
            self._batch = min(LARGEST_BATCH, self._batch * 2) if well_within else max(1, self._batch // 2)
        try:
            return replies + self._ask(requests[len(replies) :], choosing[len(replies) :])
        except AdapterError as trouble:
            trouble.answered = [*replies, *trouble.answered]
            raise

    def stretch(self, times: float) -> None:
        """Multiplies the initial time limit of requests by this factor from now on."""
        self._op = self._patience.op * times

    def stop(self) -> bool:
        """Sends `bye`, then kills the process. Returns True if it exited by itself. Never raises."""
        if self._channel is None:
            return True
        try:
            self._exchange([{"op": "bye"}], [nothing_to_choose], self._patience.bye)
        except AdapterError:
            self.kill()
            return False
        channel, self._channel = self._channel, None
        return channel.close(self._patience.bye or None)

    def take_errors(self) -> bytes:
        """Returns the end of what the program wrote to standard error since the last call. Never raises."""
        return self._channel.take_errors() if self._channel else b""

    def kill(self) -> None:
        """Kills the program. Never raises."""
        if self._channel is not None:
            self._channel.close(0)
            self._channel = None

    def abort(self) -> None:
        """Makes a request that another thread waits for fail soon with AdapterError. Never raises."""
        if channel := self._channel:
            channel.abort()

    def _groups(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        """Groups requests that can be sent together: an adapter that waits for a choice must not receive a request instead."""
        if len(requests) == 1:
            return [requests]
        groups: list[Sequence[Request]] = []
        for request in requests:
            quiet = not self._oracle or request["op"] in WITHOUT_CHOICES
            if quiet and groups and len(groups[-1]) < WINDOW and groups[-1][-1]["op"] in WITHOUT_CHOICES | {request["op"]}:
                groups[-1] = [*groups[-1], request]
            else:
                groups.append([request])
        return groups

    def _exchange_batch(self, items: Sequence[Request], choosing: Sequence[Choose]) -> Reply:
        first = self._next_id
        self._next_id += len(items)
        numbered = [{"id": first + index, **item} for index, item in enumerate(items)] if self._oracle else list(items)
        choose = {first + index: chooser for index, chooser in enumerate(choosing)}
        (reply,) = self._exchange([{"op": "batch", "items": numbered}], [choose], self._op)
        return reply

    def _exchange(
        self, requests: Sequence[Request], choosing: Sequence[Choose | Mapping[int, Choose]], seconds: float
    ) -> list[Reply]:
        """Returns the replies to requests. A batch has a chooser for each of its items, by their ids."""
        assert self._channel is not None, "an adapter is started before it is asked"
        first = self._next_id
        self._next_id += len(requests)
        lines = [_encode({"id": first + index, **request}) for index, request in enumerate(requests)]
        if self._watch:
            for line in lines:
                self._watch(">", line)
        self._channel.write(("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"))
        replies: list[Reply] = []
        for number, choose in enumerate(choosing, start=first):
            try:
                replies.append(self._reply(number, choose if isinstance(choose, Mapping) else {number: choose}, seconds))
            except AdapterError as trouble:
                trouble.answered = replies
                raise
        return replies

    def _reply(self, expected_id: int, choosing: Mapping[int, Choose], seconds: float) -> Reply:
        deadline = time.monotonic() + seconds if seconds else None
        while True:
            reply = self._line(deadline, seconds)
            question = reply.get("choice")
            if question is None:
                if reply.get("id") != expected_id or type(reply["id"]) is not int:
                    raise self._trouble("garbled", f"answered request {expected_id} with the id {reply.get('id')!r}")
                return reply
            if not isinstance(question, dict) or type(asked := question.get("for")) is not int or asked not in choosing:
                open_ones = expected_id if expected_id in choosing else f"the id of an item of batch {expected_id}"
                raise self._trouble("garbled", f'a choice is an object with "for": {open_ones}, the open request: {question!r}')
            try:
                pick = choosing[asked](question)
            except WrongQuestion as error:
                raise self._trouble("garbled", str(error)) from None
            answer = _encode({"choice": {"for": asked, "n": question.get("n"), "pick": pick}})
            if self._watch:
                self._watch(">", answer)
            assert self._channel is not None
            self._channel.write((answer + "\n").encode())

    def _line(self, deadline: float | None, seconds: float) -> Reply:
        assert self._channel is not None
        try:
            line = self._channel.line(deadline)
        except ReadTimeout:
            raise self._trouble("hung", f"did not answer within {seconds:g} s{self._half_a_line()}") from None
        except Ended as ended:
            raise self._trouble("crashed", f"{ended}{self._half_a_line()}") from None
        except LineTooLong as error:
            start = error.start[:_SHOWN].decode("utf-8", "backslashreplace")
            detail = f"wrote a line of more than {self._longest:,} bytes (--max-reply): {start}…"
            raise self._trouble("flooded", detail) from None
        if self._watch:
            self._watch("<", line.decode("utf-8", "backslashreplace"))
        try:
            if messages.nests_too_deep(line):
                raise self._trouble("garbled", f"wrote a line that nests more than {DEEPEST} deep: {_line_text(line)}")
            reply = json.loads(line.decode("utf-8"))
        except ValueError as error:
            detail = f"wrote a line that is not JSON{_place(error)}: {_line_text(line)}\n{_cause(line)}"
            raise self._trouble("garbled", detail) from None
        if not isinstance(reply, dict):
            raise self._trouble("garbled", f"wrote a line that is not a JSON object: {_line_text(line)}\n{_cause(line)}")
        return reply

    def _half_a_line(self) -> str:
        assert self._channel is not None
        rest = self._channel.partial_line()
        return f", in the middle of the line {_line_text(rest)} (a reply ends with a line feed, and is flushed)" if rest else ""

    def _trouble(self, kind: str, detail: str) -> AdapterError:
        assert self._channel is not None
        return AdapterError(kind, detail, errors=self._channel.errors)


def _line_text(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(line)} bytes)"


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f", at column {error.colno}"
    return f", at column {error.start + 1}" if isinstance(error, UnicodeDecodeError) else ""


def _cause(line: bytes) -> str:
    """Returns the likely cause of an invalid line."""
    start = line.lstrip()[:1]
    if line.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return "It starts with a byte order mark: write UTF-8 without one."
    if b"\0" in line:
        return "It holds zero bytes: is the output UTF-16, or binary?"
    if not line.strip():
        return "The line is empty: one reply is one line, with one line feed at its end."
    if start == b"{" and (line.rstrip() == b"{" or line.count(b"{") > line.count(b"}")):
        return "The line ends within an object: is the JSON written over several lines?"
    if start == b"{" and b"'" in line and b'"' not in line:
        return "It has single quotes: is it the language's own notation instead of JSON?"
    if start == b"{":
        return "It is almost JSON: compare it with the column named above."
    return "It looks like log text: standard output is for protocol lines only, everything else goes to standard error."
