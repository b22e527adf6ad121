"""
An implementation in this process: a Python class with `handle(request, choose) -> reply`.

It runs in its own thread. A thread in an endless loop is abandoned, like a program that hangs. Without a time limit for requests,
it runs in the thread of its caller, which takes less time. Every exception, including `SystemExit`, counts as a crash of the
implementation. A class that ends the whole process cannot be contained.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from peerproof.conformance.adapter.adapter import Adapter, AdapterError, AdapterUnavailable, Choose, Watch, introduction
from peerproof.conformance.adapter.choices import WrongQuestion, nothing_to_choose
from peerproof.conformance.adapter.messages import DEEPEST, Hello, InvalidReply, Reply, Request, hello_of, nests_too_deep
from peerproof.conformance.suite.bounds import MAX_LINE
from peerproof.conformance.suite.timeouts import Timeouts

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr).encode
#: A value that contains itself exceeds Python's recursion limit; looking for one would take half as long again.
_encode_strictly = json.JSONEncoder(check_circular=False).encode

Handle = Callable[[Request, Choose], Any]


class InProcess(Adapter):
    """
    The adapter `py:module:Class`. A restart makes a new instance.

    Standard error is that of this process. A waiting request ends at its time limit.
    """

    def __init__(self, name: str, patience: Timeouts, suite: str, watch: Watch | None = None, longest: int = MAX_LINE) -> None:
        self._name = name
        self._patience = patience
        self._suite = suite
        self._watch = watch
        self._op = patience.op
        self._longest = longest  #: the most characters of a reply as JSON
        self._worker: _Worker | None = None
        self._next_id = 0

    def start(self) -> Hello:
        """Makes an instance and sends `hello`. Raises AdapterUnavailable."""
        self.kill()
        self._next_id = 0
        self._worker = _Worker(self._make_handle, self._longest, has_thread=self._patience.op != 0)
        try:
            (reply,) = self._exchange([introduction(self._suite)], [nothing_to_choose], self._patience.hello)
            return hello_of(reply)
        except (AdapterError, InvalidReply) as error:
            self.kill()
            errors = error.errors if isinstance(error, AdapterError) else b""
            raise AdapterUnavailable(f"py:{self._name} cannot be used: at hello it {error}", errors) from None

    def ask(self, requests: Sequence[Request], choose: Choose) -> list[Reply]:
        """Returns the replies to requests. Raises AdapterError."""
        return self._exchange(requests, [choose] * len(requests), self._op)

    def ask_at_once(self, requests: Sequence[Request], choosing: Sequence[Choose]) -> list[Reply]:
        """The same: in one process a batch gains nothing."""
        return self._exchange(requests, choosing, self._op)

    def stretch(self, times: float) -> None:
        """Multiplies the initial time limit of requests by this factor from now on."""
        self._op = self._patience.op * times

    def stop(self) -> bool:
        """Sends `bye`. Returns True if it was answered. Never raises."""
        if self._worker is None:
            return True
        try:
            self._exchange([{"op": "bye"}], [nothing_to_choose], self._patience.bye)
        except AdapterError:
            return False
        finally:
            self.kill()
        return True

    def kill(self) -> None:
        """Abandons the instance; its thread ends as soon as it returns."""
        if self._worker is not None:
            self._worker.tasks.put(None)
            self._worker = None

    def _make_handle(self) -> Handle:
        """Raises AdapterUnavailable if there is no such class; what the class raises is the implementation's."""
        module, colon, name = self._name.partition(":")
        if not colon:
            raise AdapterUnavailable(f"py:{self._name} names no class", tip="expected py:MODULE:CLASS")
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, here)
        try:
            found = import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None:
                raise
            wanted = "" if f"{module}.".startswith(f"{error.name}.") else ", which it imports"
            tip = "modules are looked for in this folder and on PYTHONPATH"
            raise AdapterUnavailable(f"py:{self._name}: no module {error.name!r}{wanted}", tip=tip) from None
        if not hasattr(found, name):
            close = get_close_matches(name, vars(found), n=1)
            tip = f"did you mean py:{module}:{close[0]}?" if close else f"{module} must define it"
            raise AdapterUnavailable(f"py:{self._name}: no class {name!r} in {module}", tip=tip)
        handle: Handle = getattr(found, name)().handle
        return handle

    def _exchange(self, requests: Sequence[Request], choosing: Sequence[Choose], seconds: float) -> list[Reply]:
        assert self._worker is not None, "an adapter is started before it is asked"
        first = self._next_id
        self._next_id += len(requests)
        task = _Task([{"id": first + index, **request} for index, request in enumerate(requests)], choosing)
        if self._watch:
            for request in task.requests:
                self._watch(">", _encode(request))
        if self._worker.has_thread:
            self._worker.tasks.put(task)
            self._wait(task, seconds)
        else:
            self._worker.do(task)
        if self._watch:
            for reply in task.replies:
                self._watch("<", _encode(reply))
        if task.unavailable is not None:
            raise task.unavailable
        if task.failure is not None:
            kind, detail, errors = task.failure
            raise AdapterError(kind, detail, list(task.replies), errors.encode())
        return task.replies

    def _wait(self, task: _Task, seconds: float) -> None:
        """Waits until all requests are answered, or one takes too long."""
        answered = 0
        while True:
            try:
                return task.done.get(timeout=seconds or None)
            except Empty:
                if len(task.replies) == answered:
                    task.abandoned = True
                    raise AdapterError("hung", f"did not answer within {seconds:g} s", list(task.replies)) from None
                answered = len(task.replies)


class _Task:
    """Requests for an instance, and its replies."""

    def __init__(self, requests: list[Request], choosing: Sequence[Choose]) -> None:
        self.requests: Final = requests
        self.choosing: Final = choosing  #: the chooser of each request
        self.replies: list[Reply] = []
        self.failure: tuple[str, str, str] | None = None  #: kind, detail and traceback
        self.unavailable: AdapterUnavailable | None = None  #: there is no such class
        self.abandoned = False
        self.done: SimpleQueue[None] = SimpleQueue()


class _Worker:
    """An instance, and the thread in which it runs, if it has its own."""

    def __init__(self, make: Callable[[], Handle], longest: int, *, has_thread: bool) -> None:
        self._make = make
        self._longest = longest
        self._handle: Handle | None = None
        self.has_thread: Final = has_thread
        self.tasks: SimpleQueue[_Task | None] = SimpleQueue()
        if has_thread:
            threading.Thread(target=self._run, daemon=True).start()

    def do(self, task: _Task) -> None:
        """Answers the requests, until one fails or the task is abandoned."""
        try:
            self._handle = self._handle or self._make()
            for request, choose in zip(task.requests, task.choosing, strict=True):
                if task.abandoned:
                    return
                task.replies.append(_reply(request, self._handle(request, choose), self._longest))
        except AdapterUnavailable as error:
            task.unavailable = error
        except _TooLong as error:
            task.failure = ("flooded", str(error), "")
        except (WrongQuestion, InvalidReply) as error:
            task.failure = ("garbled", str(error), "")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self.has_thread:
                raise  # Ctrl-C is for the main thread
            detail = "".join(traceback.format_exception_only(error)).strip()
            task.failure = ("crashed", f"raised {detail}", traceback.format_exc())

    def _run(self) -> None:
        while (task := self.tasks.get()) is not None:
            self.do(task)
            if task.abandoned:
                return
            task.done.put(None)


class _TooLong(Exception):
    """A reply exceeds the limit of characters."""


def _reply(request: Request, reply: Any, longest: int) -> Reply:
    if not isinstance(reply, dict):
        raise InvalidReply(f"handle() returned no dict for {request['op']}: {reply!r}")
    if reply.get("id", request["id"]) != request["id"]:
        raise InvalidReply(f"answered request {request['id']} with the id {reply['id']!r}")
    try:
        text = _encode_strictly(reply)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidReply(f"handle() returned a value that JSON cannot hold for {request['op']}: {error}") from None
    if len(text) > longest:
        raise _TooLong(f"answered {request['op']} with {len(text):,} characters; --max-reply allows {longest:,}")
    if nests_too_deep(text.encode()):
        raise InvalidReply(f"handle() returned a value that nests more than {DEEPEST} deep for {request['op']}")
    return reply
