"""
The folder in which a campaign keeps its results, so that the next one continues where it ended.

    DIR/PROTOCOL/progress.json         the position of each campaign
    DIR/PROTOCOL/runs/*.json           runs in which something happened for the first time
    DIR/PROTOCOL/findings/*.json       runs that show a finding
    DIR/PROTOCOL/bytes/*               inputs of decoders that reached something new; each file is one
    DIR/PROTOCOL/byte-findings/*       inputs that show a finding

Files are named after their content and replaced atomically, so a killed process leaves no partial file. Nothing is deleted except
a finding for which there is a smaller one. Other files are left alone.
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

#: At most this many bytes of an input are read.
MOST_BYTES: Final = 2**16


class CorpusError(Exception):
    """A corpus that cannot be used; the message names the file, and says what to do."""


class Corpus:
    """The corpus folder of one protocol."""

    def __init__(self, root: Path, protocol: str) -> None:
        """Creates the folder if it does not exist. Raises CorpusError."""
        self.root = root / protocol
        try:
            for name in (RUNS, FINDINGS, BYTES, BYTE_FINDINGS):
                self.folder(name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CorpusError(f"{self.root} cannot be created: {error.strerror}; name a folder") from None

    def folder(self, name: str) -> Path:
        """Returns the path of a subfolder."""
        return self.root / name

    def position(self, campaign: str) -> int:
        """Returns the position of a campaign; 0 if it has not begun. Raises CorpusError."""
        return int(self._positions().get(campaign, 0))

    def advance(self, campaign: str, position: int) -> None:
        """Saves the position of a campaign. Raises CorpusError."""
        campaigns = {**self._positions(), campaign: position}
        _replace(self.root / _PROGRESS, json.dumps({"format": FORMAT, "campaigns": campaigns}, indent=1).encode() + b"\n")

    def documents(self, name: str) -> Iterator[tuple[Path, Any]]:
        """Yields the JSON files of a folder with their content, in the order of their names. Raises CorpusError."""
        for path in sorted(self.folder(name).glob("*.json")):
            yield path, _read(path, "it is not a kept run; delete it, and nothing else is lost")

    def inputs(self, name: str) -> Iterator[tuple[Path, bytes]]:
        """Yields the files of a folder as inputs, whatever they contain. Raises CorpusError."""
        for path in sorted(path for path in self.folder(name).iterdir() if path.is_file() and not path.name.startswith(".")):
            try:
                with path.open("rb") as file:
                    yield path, file.read(MOST_BYTES)
            except OSError as error:
                raise CorpusError(f"{path} cannot be read: {error.strerror}") from None

    def keep(self, name: str, content: bytes | dict[str, Any]) -> Path:
        """Writes a file and returns its path; plain data is written as JSON. Raises CorpusError."""
        data = content if isinstance(content, bytes) else json.dumps({"format": FORMAT, **content}, indent=1).encode() + b"\n"
        suffix = "" if isinstance(content, bytes) else ".json"
        path = self.folder(name) / f"{sha256(data).hexdigest()[:16]}{suffix}"
        _replace(path, data)
        return path

    def keep_instead(self, former: Path, name: str, content: bytes | dict[str, Any]) -> Path:
        """Writes a file like `keep`, and deletes the former one. Raises CorpusError."""
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
            raise CorpusError(f"{path} does not hold positions: {remedy}")
        return campaigns


def _read(path: Path, remedy: str) -> Any:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path} is not JSON ({error}): {remedy}") from None
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
