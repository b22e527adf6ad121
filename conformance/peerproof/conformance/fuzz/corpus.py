"""
What a campaign keeps in a folder, so that the next one goes on where it ended.

    DIR/PROTOCOL/progress.json         how far each campaign has come
    DIR/PROTOCOL/runs/*.json           runs in which something happened that had not happened before
    DIR/PROTOCOL/findings/*.json       runs in which something was wrong
    DIR/PROTOCOL/bytes/*               inputs of decoders that led somewhere new; each file is one
    DIR/PROTOCOL/byte-findings/*       inputs with which something was wrong

Files are named after their content and replaced at once, so that who is killed leaves nothing half written. Nothing is ever
deleted but a finding for which there is a smaller one. Files that are none of these are left alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

FORMAT: Final = 1

RUNS, FINDINGS, BYTES, BYTE_FINDINGS = "runs", "findings", "bytes", "byte-findings"
_PROGRESS: Final = "progress.json"

#: Nobody reads more of an input.
MOST_BYTES: Final = 2**16


class CorpusError(Exception):
    """A corpus cannot be used; the message names the file, and says what to do."""


class Corpus:
    """The folder of one protocol."""

    def __init__(self, root: Path, protocol: str) -> None:
        """Makes the folder, if there is none. Raises CorpusError."""
        self.root = root / protocol
        try:
            for name in (RUNS, FINDINGS, BYTES, BYTE_FINDINGS):
                self.folder(name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CorpusError(f"{self.root} cannot be made: {error.strerror}; name a folder") from None

    def folder(self, name: str) -> Path:
        """One of its folders."""
        return self.root / name

    def position(self, campaign: str) -> int:
        """How far a campaign has come; 0 if it has not begun. Raises CorpusError."""
        return int(self._positions().get(campaign, 0))

    def advance(self, campaign: str, position: int) -> None:
        """A campaign has come so far. Raises CorpusError."""
        campaigns = {**self._positions(), campaign: position}
        _replace(self.root / _PROGRESS, json.dumps({"format": FORMAT, "campaigns": campaigns}, indent=1).encode() + b"\n")

    def documents(self, name: str) -> Iterator[tuple[Path, Any]]:
        """The JSON files of a folder, in the order of their names. Raises CorpusError."""
        for path in sorted(self.folder(name).glob("*.json")):
            yield path, _read(path, "it is no run that was kept; delete it, and nothing else is lost")

    def inputs(self, name: str) -> Iterator[tuple[Path, bytes]]:
        """The files of a folder, each an input: whatever is in it. Raises CorpusError."""
        for path in sorted(path for path in self.folder(name).iterdir() if path.is_file() and not path.name.startswith(".")):
            try:
                with path.open("rb") as file:
                    yield path, file.read(MOST_BYTES)
            except OSError as error:
                raise CorpusError(f"{path} cannot be read: {error.strerror}") from None

    def keep(self, name: str, content: bytes | dict[str, Any]) -> Path:
        """A file more; plain data as JSON. Raises CorpusError."""
        data = content if isinstance(content, bytes) else json.dumps({"format": FORMAT, **content}, indent=1).encode() + b"\n"
        suffix = "" if isinstance(content, bytes) else ".json"
        path = self.folder(name) / f"{sha256(data).hexdigest()[:16]}{suffix}"
        _replace(path, data)
        return path

    def keep_instead(self, former: Path, name: str, content: bytes | dict[str, Any]) -> Path:
        """The same, and the former is gone. Raises CorpusError."""
        path = self.keep(name, content)
        if path != former:
            former.unlink(missing_ok=True)
        return path

    def _positions(self) -> dict[str, int]:
        path = self.root / _PROGRESS
        if not path.exists():
            return {}
        remedy = "delete it to begin with the first seed again; what was found and kept stays"
        campaigns = _read(path, remedy).get("campaigns")
        if not isinstance(campaigns, dict) or not all(type(position) is int and position >= 0 for position in campaigns.values()):
            raise CorpusError(f"{path} holds no progress: {remedy}")
        return campaigns


def _read(path: Path, remedy: str) -> Any:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path} is no JSON ({error}): {remedy}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CorpusError(f'{path} is not of "format": {FORMAT}: {remedy}')
    return document


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise CorpusError(f"{path} cannot be written: {error.strerror}") from None
