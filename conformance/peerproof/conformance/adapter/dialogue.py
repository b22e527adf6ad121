"""
Dialogue files: all lines between the runner and an implementation, from which its answers can be replayed.

A line is `start N` (process N of the implementation starts), `process N` (the following lines are of that one), `> REQUEST`,
`< REPLY`, `! FAILURE` (there was no reply: `kind`, `detail` and `errors` of an `AdapterError`) or `exit CODE`. Numbers may be
left out where one process runs at a time. Requests and replies are lines of adapter protocol 1, questions and batches among them.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

from peerproof.conformance.adapter.messages import Reply, Request
from peerproof.conformance.suite.output import Growing

#: Members of a request that mean nothing to the implementation, or change with each run.
_NAMES: Final = frozenset({"id", "handle", "case", "node", "seed"})
_OPENING: Final = ("open", "load")
_GZIP: Final = b"\x1f\x8b"
_PART: Final = 2**18  #: characters that are compressed together
_KILLED: Final = -9  #: the exit code of a process that the runner has ended
_SHOWN: Final = 60

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode

#: The content of a request, in 16 bytes.
Key: TypeAlias = bytes

#: The case and the seed of a node.
Origin: TypeAlias = tuple[Any, Any]


class DialogueError(Exception):
    """The file is not a dialogue; the message names the line and what was expected."""


@dataclass
class Step:
    """A request, the implementation's questions before it answered, and its answer: a reply, a failure, or None if unknown."""

    key: Key
    questions: list[tuple[dict[str, Any], Any]] = field(default_factory=list)  #: without `for`, each with its answer
    reply: Reply | None = None  #: without its id; a handle is 0
    failure: Mapping[str, Any] | None = None  #: kind, detail and errors of an `AdapterError`


@dataclass
class Life:
    """All requests to a node since it was opened, in order; or one request that needs no node."""

    origin: Origin
    steps: list[Step]

    def follows(self, steps: list[Step]) -> bool:
        """Whether it begins with these requests, questions and replies."""
        return len(self.steps) > len(steps) and all(map(_is_same, self.steps, steps))


def _is_same(one: Step, other: Step) -> bool:
    return one.key == other.key and one.questions == other.questions and one.reply == other.reply


@dataclass
class Dialogue:
    """The content of a dialogue file."""

    hello: Reply
    lives: Mapping[Key, list[Life]]  #: by their first request, in the order of the file
    cases: Mapping[tuple[Key, Origin], list[Life]]  #: the same, by first request, case and seed


def key_of(request: Request) -> Key:
    """Returns the content of a request; requests that look the same to an implementation have the same key."""
    content = {name: value for name, value in request.items() if name not in _NAMES}
    return blake2b(_encode(content).encode(), digest_size=16).digest()


def origin_of(request: Request) -> Origin:
    """Returns the case and the seed for which a node is opened."""
    return request.get("case"), request.get("seed")


def load_dialogue(path: Path) -> Dialogue:
    r"""
    Reads a dialogue, compressed by gzip or not; reads it again only if the file has changed. Raises DialogueError.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "mine.dialogue")
    ...     _ = path.write_text('start 1\n> {"id":0,"op":"hello"}\n< {"id":0,"name":"mine","version":"1"}\nexit 0\n')
    ...     load_dialogue(path).hello["name"]
    'mine'
    """
    try:
        status = path.stat()
        with _reading:
            return _load(path.resolve(), status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise DialogueError(f"cannot read the dialogue {path}: {error.strerror or error}") from None


_reading: Final = Lock()  #: several workers load the same file


@lru_cache(maxsize=2)
def _load(path: Path, _changed: int, _size: int) -> Dialogue:
    reader = _Reader()
    for number, line in enumerate(_lines(path), start=1):
        try:
            reader.read(line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
            reason = str(error) if type(error) is ValueError else "start, process, > REQUEST, < REPLY, ! FAILURE or exit expected"
            raise DialogueError(f"{path} is not a dialogue: line {number}: {shown!r}: {reason}") from None
    if reader.unread:
        raise DialogueError(f"{path} is not a dialogue: its last reply is not a JSON object")
    if reader.hello is None:
        raise DialogueError(f"{path} has no reply to hello: was the implementation started when it was recorded?")
    return Dialogue(reader.hello, reader.lives, reader.cases)


def _lines(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except EOFError:
            raise DialogueError(f"the dialogue {path} is cut off: copy or record it again") from None
        except (OSError, zlib.error) as error:
            raise DialogueError(f"the dialogue {path} is damaged: {error}; copy or record it again") from None
    if not data.endswith(b"\n"):
        raise DialogueError(f"the dialogue {path} is {'cut off' if data else 'empty'}: copy or record it again")
    for number, line in enumerate(data[:-1].split(b"\n"), start=1):
        try:
            yield line.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise DialogueError(f"{path} is not a dialogue: line {number} is not UTF-8") from None


class _Process:
    """The state of one process of the implementation while its lines are read."""

    def __init__(self) -> None:
        self.open: dict[Any, tuple[str, list[Step]]] = {}  #: by request id: its op and its steps (several for a batch)
        self.asking: dict[Any, Step] = {}  #: by the id of the request, or of the item of a batch
        self.nodes: dict[str, Life] = {}  #: by their handles
        self.opening: dict[int, Life] = {}  #: nodes without a handle yet, by the identity of their first step


class _Reader:
    """Reads the lines of a dialogue one by one."""

    def __init__(self) -> None:
        self.hello: Reply | None = None
        self.lives: dict[Key, list[Life]] = defaultdict(list)
        self.cases: dict[tuple[Key, Origin], list[Life]] = defaultdict(list)
        self.unread = False  #: the line before was a reply that is not a JSON object
        self._processes: dict[str, _Process] = {}
        self._process: _Process | None = None

    def read(self, line: str) -> None:
        """Reads the next line. Raises ValueError with the reason, or another exception if members are missing."""
        word, _, rest = line.partition(" ")
        if self.unread and word != "!":
            raise ValueError("the reply before it is not a JSON object")
        self.unread = False
        if word == "start":
            self._process = self._processes[rest] = _Process()
        elif word == "process":
            self._process = self._processes[rest]
        elif self._process is None:
            raise ValueError("start expected")
        elif word == ">":
            self._request(self._process, _object(rest))
        elif word == "<":
            try:
                reply = _object(rest)
            except ValueError:
                self.unread = True  # the next line must be the failure `garbled`
            else:
                self._reply(self._process, reply)
        elif word == "!":
            failure = _object(rest)
            _fail(self._process, {"kind": failure["kind"], "detail": failure["detail"], "errors": failure.get("errors", "")})
        elif word == "exit":
            code = int(rest or 0)
            what = ("hung", "was ended before it answered") if code == _KILLED else ("crashed", f"exited with code {code}")
            _fail(self._process, {"kind": what[0], "detail": what[1], "errors": ""})
        else:
            raise ValueError("start, process, > REQUEST, < REPLY, ! FAILURE or exit expected")

    def _request(self, process: _Process, message: Request) -> None:
        if answer := message.get("choice"):
            questions = process.asking[answer["for"]].questions
            questions[-1] = (questions[-1][0], answer["pick"])
            return
        items = message["items"] if message["op"] == "batch" else [message]
        steps = [self._begin_step(process, item) for item in items]
        process.asking |= {item.get("id"): step for item, step in zip(items, steps, strict=True)}
        process.open[message["id"]] = message["op"], steps

    def _begin_step(self, process: _Process, request: Request) -> Step:
        step = Step(key_of(request))
        if "handle" in request:
            if life := process.nodes.get(_encode(request["handle"])):
                life.steps.append(step)
        elif request["op"] not in ("hello", "bye", "serve"):
            life = Life(origin_of(request), [step])
            self.lives[step.key].append(life)
            self.cases[step.key, life.origin].append(life)
            if request["op"] in _OPENING:
                process.opening[id(step)] = life
        return step

    def _reply(self, process: _Process, message: Reply) -> None:
        if question := message.get("choice"):
            asked = {name: value for name, value in question.items() if name != "for"}
            process.asking[question["for"]].questions.append((asked, None))
            return
        if message["id"] not in process.open:
            raise ValueError(f"a reply to {message['id']!r}, which has no request")
        op, steps = process.open.pop(message["id"])
        reply = {name: value for name, value in message.items() if name != "id"}
        if op == "hello" and "error" not in reply:
            if self.hello and (self.hello["name"], self.hello["version"]) != (reply["name"], reply["version"]):
                raise ValueError(f"this is not the implementation {self.hello['name']} {self.hello['version']}")
            self.hello = self.hello or reply
        results = reply.get("results") if op == "batch" else [reply]
        if not isinstance(results, list) or len(results) != len(steps):  # an adapter without batches
            return
        for step, result in zip(steps, results, strict=True):
            step.reply = result
            if (life := process.opening.pop(id(step), None)) and "handle" in result:
                process.nodes[_encode(result["handle"])] = life
                step.reply = {**result, "handle": 0}  # so that nodes with the same answers compare equal


def _object(text: str) -> dict[str, Any]:
    parsed = json.loads(text)
    if not isinstance(parsed, dict):
        raise ValueError("a JSON object expected")  # noqa: TRY004  # the same error as the parser's
    return parsed


def _fail(process: _Process, failure: Mapping[str, Any]) -> None:
    """Marks the first open request as failed; in a batch, the request at fault is unknown."""
    for _, steps in process.open.values():
        if len(steps) == 1:
            steps[0].failure = failure
        break
    process.open.clear()


class DialogueFile:
    """
    A dialogue file that is written while several processes are asked; it is compressed if its name ends in `.gz`.

    The file can be read at any moment, even after a kill. Raises CannotWrite.
    """

    def __init__(self, path: Path) -> None:
        self._file = Growing(path)
        self._compress = path.name.endswith(".gz")
        self._waiting: list[str] = []
        self._size = 0
        self._processes = 0
        self._process = 0  #: the process of the last lines
        self._lock = Lock()

    def start(self) -> int:
        """Begins a process; returns its number."""
        with self._lock:
            self._processes += 1
            self._process = self._processes
            self._write(f"start {self._process}\n")
            return self._process

    def write(self, process: int, *lines: str) -> None:
        """Adds lines of a process."""
        with self._lock:
            switch = [f"process {process}"] if process != self._process else []
            self._process = process
            self._write("".join(f"{line}\n" for line in (*switch, *lines)))

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            try:
                self._flush()
            finally:
                self._file.close()

    def _write(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _PART or not self._compress:
            self._flush()

    def _flush(self) -> None:
        data = "".join(self._waiting).encode()
        self._waiting, self._size = [], 0
        if data:
            self._file.write(gzip.compress(data) if self._compress else data)
