"""
Recording of a run as trace lines (`peerproof.spec.traces.trace`), and the file for them.

The file holds whole lines only, even if the disk is full: a partially written line is removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from peerproof.spec.core import Instant, NodeId, Specification, Step
from peerproof.spec.forms.fingerprint import fingerprint
from peerproof.spec.forms.form import Plain
from peerproof.spec.traces.trace import Kind, Line, describe_event, effect_plain

IMPLEMENTATION: Final = "peerproof-reference"

_MICROSECONDS: Final = 1000


class Recorder:
    """Creates the trace lines of one run. The numbering of a node's lines continues over its restarts."""

    def __init__(self, specification: Specification, run: str, write: Callable[[str], None]) -> None:
        self._specification = specification
        self._run = run
        self._write = write
        self._next: dict[NodeId, int] = {}

    def record_start(self, node: NodeId, now: Instant, config: Any, step: Step[Any, Any]) -> None:
        """Records the start or restart of a node."""
        self._line(node, now, ("start", None, self._specification.CONFIG.plain(config)), [], step, None)

    def record_step(
        self, node: NodeId, event: Any, picks: Sequence[tuple[str, tuple[Any, ...]]], step: Step[Any, Any], refused: str | None
    ) -> None:
        """Records a step of a node, or its refusal."""
        self._line(node, event.now, describe_event(self._specification, event), picks, step, refused)

    def _line(
        self,
        node: NodeId,
        now: Instant,
        what: tuple[Kind, str | None, Plain],
        picks: Sequence[tuple[str, tuple[Any, ...]]],
        step: Step[Any, Any],
        refused: str | None,
    ) -> None:
        seq = self._next.get(node, 0)
        self._next[node] = seq + 1
        kind, peer, args = what
        self.keep(
            Line(
                run=self._run,
                protocol=self._specification.NAME,
                impl=IMPLEMENTATION,
                node=node,
                seq=seq,
                t_us=now * _MICROSECONDS,
                kind=kind,
                peer=peer,
                args=args,
                picks=tuple(picks),
                effects=tuple(effect_plain(self._specification, effect) for effect in step.effects),
                state=fingerprint(step.state),
                refused=refused,
            )
        )

    def keep(self, line: Line) -> None:
        """Writes a line as JSON; subclasses may do something else with it."""
        self._write(line.json())


class TraceFile:
    """
    A new file of lines. An existing file is overwritten.

    If a write fails, for instance because the disk is full, the file is cut after its last whole line, `complain` is called once,
    and further lines are dropped: the caller goes on without a trace.
    """

    def __init__(self, path: Path, complain: Callable[[str], None], *, buffered: int = 0) -> None:
        self.failed = False
        self._path = path
        self._complain = complain
        self._file: Final = path.open("wb", buffering=0)
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._buffered = buffered
        self._lines = 0

    def write(self, line: str) -> None:
        """Adds a line, to the buffer if the file is buffered."""
        if self.failed:
            return
        data = line.encode() + b"\n"
        self._waiting.append(data)
        self._waiting_size += len(data)
        if self._waiting_size > self._buffered:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered lines."""
        waiting, self._waiting, self._waiting_size = self._waiting, [], 0
        if self.failed or not waiting:
            return
        block = memoryview(b"".join(waiting))
        written = 0
        try:
            while written < len(block):
                written += self._file.write(block[written:]) or 0
            self._lines += len(waiting)
        except OSError as error:
            whole = bytes(block[:written]).rfind(b"\n") + 1
            self._lines += bytes(block[:whole]).count(b"\n")
            self._fail(error, written - whole)

    def close(self) -> None:
        """Flushes and closes the file."""
        self.flush()
        self._file.close()

    def _fail(self, error: OSError, excess: int) -> None:
        self.failed = True
        with suppress(OSError):  # not every file can be truncated: /dev/full cannot
            os.ftruncate(self._file.fileno(), self._file.tell() - excess)
        self._complain(f"the trace {self._path} ends after {self._lines} lines: {error.strerror}")
