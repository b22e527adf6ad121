"""
Watching a folder into which running nodes write their traces; violations are printed within seconds.

A polling loop without Spark: each look reads the new lines. An incomplete line is read by the next look. A file that is replaced
or truncated is read from its beginning, as another run of the same node.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

import msgspec

from peerproof.conformance.captures.refusals import Unreadable
from peerproof.conformance.suite.output import Deferred
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.traces.events import Event, EventRows, column_text
from peerproof.conformance.traces.findings import FAILING, violation_text
from peerproof.conformance.traces.node_check import NodeCheck, Options, Replays
from peerproof.pipeline.ingest import trace_lines
from peerproof.pipeline.ingest.inputs import find_line_number
from peerproof.pipeline.storage.tables import VIOLATIONS

#: Seconds between two looks.
LOOK: Final = 0.5

#: Maximum bytes read of a file per look, and so of a line.
BLOCK: Final = 2**24

OK, FOUND = 0, 1


@dataclass(slots=True)
class Followed:
    """A file that grows."""

    path: Path
    file: BinaryIO
    identity: tuple[int, int]
    at: int = 0  #: the byte at which the next line begins
    checks: dict[tuple[str, str], NodeCheck] = field(default_factory=dict)
    replays: Replays = field(default_factory=Replays)
    is_given_up: bool = False


class Watch:
    """A watched folder. `look` yields the violations since the last one; it ends early when it is interrupted."""

    def __init__(self, folder: Path, options: Options, interruption: Deferred | None = None) -> None:
        self.events = 0
        self._folder: Final = folder
        self._options: Final = options
        self._interruption: Final = interruption
        self._files: Final[dict[Path, Followed]] = {}

    def look(self) -> Iterator[dict[str, Any]]:
        """Yields new rows of `violations`."""
        for path in sorted(self._folder.glob("*.jsonl")):
            if self._interruption and self._interruption.seen:
                return
            try:
                status = path.stat()
            except FileNotFoundError:  # removed in the meantime
                continue
            known = self._files.get(path)
            identity = status.st_dev, status.st_ino
            if known is None or known.identity != identity or status.st_size < known.at:
                if known is not None:
                    yield from self._finish(known)
                known = self._files[path] = Followed(path, path.open("rb"), identity)
            if status.st_size > known.at and not known.is_given_up:
                yield from self._more(known)

    def end(self) -> Iterator[dict[str, Any]]:
        """Finishes all checks and yields their remaining rows."""
        for followed in self._files.values():
            yield from self._finish(followed)

    @property
    def nodes(self) -> int:
        """The number of nodes so far."""
        return sum(len(followed.checks) for followed in self._files.values())

    def _finish(self, followed: Followed) -> Iterator[dict[str, Any]]:
        for check in followed.checks.values():
            check.end()
            yield from _new_violations(check)
        followed.file.close()

    def _more(self, followed: Followed) -> Iterator[dict[str, Any]]:
        followed.file.seek(followed.at)
        block = followed.file.read(BLOCK)
        whole = block[: block.rfind(b"\n") + 1]
        if not whole and len(block) == BLOCK:
            followed.is_given_up = True
            yield _unreadable(followed, "line_too_long", f"a line of more than {BLOCK} bytes; the rest of the file is not read")
        of_node: dict[tuple[str, str], list[Event]] = {}
        for line in whole.splitlines(keepends=True):
            try:
                if not line.isspace():
                    event = trace_lines.event(line, column_text(followed.path.name), followed.at)
                    of_node.setdefault((event.run_id, event.node), []).append(event)
                    self.events += 1
            except Unreadable as problem:
                yield _unreadable(followed, problem.reason, problem.detail)
            except (ValueError, RecursionError, msgspec.DecodeError) as problem:
                yield _unreadable(followed, "not_json", str(problem))
            followed.at += len(line)
        for key, events in of_node.items():
            rows = EventRows(events)
            check = followed.checks.get(key)
            if check is None:
                check = followed.checks[key] = NodeCheck(rows, followed.replays, self._options)
            check.take(rows)
            yield from _new_violations(check)


def _new_violations(check: NodeCheck) -> Iterator[dict[str, Any]]:
    for finding in check.findings.fresh():
        yield dict(zip(VIOLATIONS.schema.names, check.findings.row(finding), strict=True)) | {"replay": None}


def _unreadable(followed: Followed, reason: str, detail: str) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(VIOLATIONS.schema.names)
    where = {"src_file": column_text(followed.path.name), "src_off": followed.at}
    return row | {"run_id": "", "node": "", "property": reason, "severity": "log", "message": detail, "times": 1} | where


def _text(row: dict[str, Any], folder: Path) -> str:
    line = find_line_number(row["src_file"] and str(folder / row["src_file"]), row["src_off"])
    return violation_text({**row, "src_line": line}, whole=True)


def follow(folder: Path, options: Options, out: TextIO, seconds: float = LOOK) -> int:
    """
    Watches until Ctrl-C or SIGTERM and prints violations. Returns the exit code: 1 if there are violations.

    What has been read is judged before it ends. A second Ctrl-C raises KeyboardInterrupt.
    """
    found = 0
    with Deferred() as interruption:
        watch = Watch(folder, options, interruption)

        def show(rows: Iterable[dict[str, Any]]) -> None:
            nonlocal found
            for row in rows:
                found += row["severity"] in FAILING
                print(_text(row, folder), file=out, flush=True)

        print(f"watching {folder}{os.sep}*.jsonl; Ctrl-C ends it", file=out, flush=True)
        while not interruption.seen:
            show(watch.look())
            time.sleep(seconds)
        show(watch.end())
    print(
        f"{count_text(watch.events, 'event')} of {count_text(watch.nodes, 'node')}; violations: {found or 'none'}",
        file=out,
        flush=True,
    )
    return FOUND if found else OK
