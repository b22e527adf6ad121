"""
Checkpoints: an exploration on disk, level by level, to be resumed after an interruption.

A folder holds a file for each complete level. The file is written under another name first, so that it exists completely or not
at all. A file has the results of its level: the new worlds, as numbers; the parent world of each; and the questions about nodes
that were asked. It does not have the nodes' states: a resumed exploration asks the same questions again and so gets the same
states under the same numbers, which a hash of the answers confirms. Each file also has the hash of the one before, and the first
that of the model; so a changed, missing or foreign file is detected.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import Counter
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

from peerproof.spec.forms.fingerprint import canonical
from peerproof.spec.model.bounded import World
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.properties import Property

_FORMAT: Final = 1
_ITEM: Final = "I"  # of the arrays: numbers of states and messages, lengths, indexes into a level


class BadCheckpoint(Exception):
    """The folder does not hold an earlier part of this exploration; the message says why, and what to do."""


class Checkpoint:
    """The levels of one exploration, in a folder."""

    def __init__(self, folder: Path, exploration: Exploration, properties: tuple[Property, ...]) -> None:
        self._folder = folder
        self._exploration = exploration
        model = exploration.system.model
        about = [_FORMAT, sys.byteorder, array(_ITEM).itemsize, canonical(model.nodes), canonical(model.faults)]
        about += map(canonical, model.under_way)
        checked = [[p.name for p in properties], exploration.digest is not None]
        self._before = _hash(_octets([*about, *checked]))
        self._level = 0
        self._asked = self._states = self._messages = 0

    def restore(self, level: list[World]) -> list[World]:
        """Loads all levels of the folder into the exploration, and returns the level at which it continues."""
        self._folder.mkdir(parents=True, exist_ok=True)
        while (path := self._path(self._level)).exists():
            level = self._load_level(path, level)
        if later := [path.name for path in self._folder.glob("*.level") if path.stem > f"{self._level:06}"]:
            raise self._bad(self._path(self._level), f"it is missing, but there is {min(later)}")
        return level

    def save(self, before: list[World], level: list[World]) -> None:
        """Writes the level that follows `before`. Raises OSError if that fails."""
        exploration, path = self._exploration, self._path(self._level)
        flat = array(_ITEM)
        for world in level:
            flat.append(len(world))
            flat.extend(world)
        places = {world: place for place, world in enumerate(before)}
        flat.extend(places[exploration.parents[world]] for world in level)
        asked = exploration.system.asked[self._asked :]
        header = {
            "before": self._before,
            "worlds": len(level),
            "asked": asked,
            "edges": exploration.edges,
            "digest": exploration.digest.sum if exploration.digest else None,
            "answers": self._answers(),
            "payload": sha256(flat).hexdigest(),
        }
        line = _octets(header)
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(line + b"\n")
            file.write(flat)
        new.replace(path)
        self._before, self._level = _hash(line), self._level + 1

    def _load_level(self, path: Path, before: list[World]) -> list[World]:
        line, _, payload = path.read_bytes().partition(b"\n")
        try:
            header = json.loads(line)
            whole = header["payload"] == sha256(payload).hexdigest()
        except (ValueError, KeyError, TypeError) as problem:
            raise self._bad(path, "it is damaged") from problem
        if not whole:
            raise self._bad(path, "it is damaged")
        if header["before"] != self._before:
            raise self._bad(path, "it does not go on from the one before" if self._level else "it is of another model")
        exploration = self._exploration
        for question in header["asked"]:
            exploration.system.answer(tuple(question))
        if header["answers"] != self._answers():
            raise self._bad(path, "the specification has changed since it was written")
        level = _unpack_worlds(array(_ITEM, payload), header["worlds"], before, exploration)
        exploration.edges = Counter(header["edges"])
        if exploration.digest:
            exploration.digest.sum = header["digest"]
        self._before, self._level = _hash(line), self._level + 1
        return level

    def _answers(self) -> str:
        """Returns a hash of the questions and answers since the last call, with the states and messages that they added."""
        system = self._exploration.system
        asked = system.asked[self._asked :]
        answers = [[question, system.answer(question)] for question in asked]
        states, messages = system.states[self._states :], system.messages[self._messages :]
        self._asked, self._states, self._messages = len(system.asked), len(system.states), len(system.messages)
        return _hash(_octets([answers, [canonical(state) for state in states], [canonical(message) for message in messages]]))

    def _path(self, level: int) -> Path:
        return self._folder / f"{level:06}.level"

    def _bad(self, path: Path, problem: str) -> BadCheckpoint:
        return BadCheckpoint(f"{path}: {problem}; remove {self._folder} to begin anew, or name another folder")


def _unpack_worlds(flat: array[int], size: int, before: list[World], exploration: Exploration) -> list[World]:
    numbers = iter(flat)
    level = [tuple(islice(numbers, length)) for length in islice(numbers, size)]
    if not level:
        return level
    exploration.depths.update(dict.fromkeys(level, exploration.depths[before[0]] + 1))
    exploration.parents.update((world, before[place]) for world, place in zip(level, numbers, strict=True))
    return level


def _octets(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _hash(octets: bytes) -> str:
    return sha256(octets).hexdigest()
