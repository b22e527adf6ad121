"""
Recording: a run as trace lines (`peerproof.spec.traces.trace`), and a file for them that a full disk does not spoil.

A file holds whole lines only, whatever happens: a line that does not fit any more is taken back.
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
    """Makes the lines of one run. A node's lines are numbered on when it is started again."""

    def __init__(self, specification: Specification, run: str, write: Callable[[str], None]) -> None:
        self._specification = specification
        self._run = run
        self._write = write
        self._next: dict[NodeId, int] = {}

    def record_start(self, node: NodeId, now: Instant, config: Any, step: Step[Any, Any]) -> None:
        """A node has started, for the first time or again."""
        self._line(node, now, ("start", None, self._specification.CONFIG.plain(config)), [], step, None)

    def record_step(
        self, node: NodeId, event: Any, picks: Sequence[tuple[str, tuple[Any, ...]]], step: Step[Any, Any], refused: str | None
    ) -> None:
        """A node has taken a step, or has refused to."""
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
        """What becomes of a line; here, its JSON is written."""
        self._write(line.json())


class TraceFile:
    """
    A file of lines, begun anew.

    When the disk is full, or the file cannot be written for another reason, the file ends after its last whole line,
    `complain` is told once, and further lines are dropped: whoever writes a trace has something more important to do.
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
        """Add a line; kept back for a while if the file is buffered."""
        if self.failed:
            return
        data = line.encode() + b"\n"
        self._waiting.append(data)
        self._waiting_size += len(data)
        if self._waiting_size > self._buffered:
            self.flush()

    def flush(self) -> None:
        """Put into the file whatever was kept back."""
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
        """Flush and close."""
        self.flush()
        self._file.close()

    def _fail(self, error: OSError, excess: int) -> None:
        self.failed = True
        with suppress(OSError):  # not every file can be cut: /dev/full cannot
            os.ftruncate(self._file.fileno(), self._file.tell() - excess)
        self._complain(f"the trace {self._path} ends after {self._lines} lines: {error.strerror}")
