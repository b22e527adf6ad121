"""
Verdicts on mutants as they come, one line each, so that a run that was interrupted goes on where it ended.

The first line says of what they are: other vectors, or another specification, make another record.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from peerproof.conformance.mutants.places import Module
from peerproof.conformance.mutants.trials import Verdict


class WrongRecord(Exception):
    """A file is no record of this run."""


class Record:
    """The verdicts of a run, on disk."""

    def __init__(self, path: Path, of: str) -> None:
        """What is there already is read. Raises WrongRecord, OSError."""
        self.found: dict[str, Verdict] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # the last may be half of one
        if lines and (not whole or _read(path, 1, whole[0]) != {"mutants of": of}):
            raise WrongRecord(f"{path} is of another specification, of other vectors, or no record: name another file")
        for number, line in enumerate(whole[1:], start=2):
            plain = _read(path, number, line)
            try:
                name = plain.pop("mutant")
                self.found[name] = Verdict(**plain)
            except (TypeError, KeyError, AttributeError):
                raise WrongRecord(f"{path}:{number}: this is no verdict on a mutant") from None
        self._file = path.open("ab")
        os.truncate(self._file.fileno(), sum(map(len, whole)))
        if not whole:
            self._write({"mutants of": of})

    def add(self, mutant: str, verdict: Verdict) -> None:
        """One more. Raises OSError."""
        self._write({"mutant": mutant, **asdict(verdict)})

    def _write(self, plain: dict[str, Any]) -> None:
        self._file.write(json.dumps(plain).encode() + b"\n")
        self._file.flush()


def digest(vectors: str, modules: list[Module]) -> str:
    """Names vectors, by their digest, and what they were tried on."""
    hashed = sha256(vectors.encode())
    for module in modules:
        hashed.update(f"{module.name}\0{module.source}\0".encode())
    return hashed.hexdigest()


def _read(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise WrongRecord(f"{path}:{number}: this is not JSON") from None
