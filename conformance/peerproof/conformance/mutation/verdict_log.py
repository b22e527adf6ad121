"""
Verdicts on mutants as they come, one line each, so that a run that was interrupted goes on where it ended.

A line says of what those below it are. If the vectors or the specification have changed since, nothing of what is there counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.mutation.sites import Module
from peerproof.conformance.mutation.trials import Verdict

_OF: Final = "mutants of"


class WrongRecord(Exception):
    """A file is no record of mutants."""


class Record:
    """The verdicts of a run, on disk."""

    def __init__(self, path: Path, of: str) -> None:
        """What is there already is read. Raises WrongRecord, OSError."""
        self.found: dict[str, Verdict] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # the last may be half of one
        head = _read(path, 1, whole[0]) if whole else None
        if lines and not _is_head(head):
            raise WrongRecord(f"{path} is no record of mutants: name another file")
        for number, line in enumerate(whole, start=1):
            plain = _read(path, number, line)
            if _is_head(plain):
                head = plain
                self.found = {}
                continue
            try:
                name = plain.pop("mutant")
                self.found[name] = Verdict(**plain)
            except (TypeError, KeyError, AttributeError):
                raise WrongRecord(f"{path}:{number}: this is no verdict on a mutant") from None
        self._file = path.open("ab")
        os.truncate(self._file.fileno(), sum(map(len, whole)))
        if head != {_OF: of}:
            self.found = {}
            self._write({_OF: of})

    def add(self, mutant: str, verdict: Verdict) -> None:
        """One more. Raises OSError."""
        self._write({"mutant": mutant, **asdict(verdict)})

    def _write(self, plain: dict[str, Any]) -> None:
        self._file.write(json.dumps(plain).encode() + b"\n")
        self._file.flush()


def digest(vectors: Iterable[Path], modules: Iterable[Module]) -> str:
    """Names what was tried, on what. Raises OSError."""
    hashed = sha256()
    for file in sorted(vectors):
        hashed.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    for module in modules:
        hashed.update(f"{module.name}\0{module.source}\0".encode())
    return hashed.hexdigest()


def _is_head(plain: Any) -> bool:
    return isinstance(plain, dict) and set(plain) == {_OF}


def _read(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise WrongRecord(f"{path}:{number}: this is not JSON") from None
