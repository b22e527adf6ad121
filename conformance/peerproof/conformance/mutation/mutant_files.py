"""Files about mutants: the equivalent ones with reasons, the case that last killed each, and the verdicts of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.mutation.sites import Module, Mutant
from peerproof.conformance.mutation.trials import Verdict
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite, write_whole
from peerproof.conformance.suite.strict_yaml import parse


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that behaves like the specification."""

    change: str  #: as the mutant describes it
    reason: str
    where: str  #: `file:line`


def equivalents(protocol: str) -> Mapping[str, Equivalent]:
    """Returns the equivalent mutants of a protocol by name. Raises VectorError if the file is malformed."""
    path = locations.equivalents_file(protocol)
    if not path.exists():
        return {}
    document = parse(path.read_bytes(), locations.path_text(path))
    if not isinstance(document.data, list):
        raise document.error((), "expected a list of reasons, each with its mutants")
    found: dict[str, Equivalent] = {}
    for number, group in enumerate(document.data):
        if not isinstance(group, dict) or group.keys() != {"reason", "mutants"} or not isinstance(group["reason"], str):
            raise document.error((number,), "expected reason, a text, and mutants")
        if not isinstance(group["mutants"], dict) or not group["mutants"]:
            raise document.error((number, "mutants"), "expected names of mutants, and what each changes")
        for name, change in group["mutants"].items():
            place = (number, "mutants", name)
            if not isinstance(change, str):
                raise document.error(place, "expected the change, as `peerproof model mutants` describes it")
            if name in found:
                raise document.error(place, f"{name} is listed twice, first at {found[name].where}", at_key=True)
            at = document.error(place, "", at_key=True)
            found[name] = Equivalent(change, group["reason"], f"{at.file}:{at.line}")
    return found


def load_detections(protocol: str) -> dict[str, str]:
    """Returns mutant id -> case; empty if there is no such file."""
    path = _path(protocol)
    try:
        plain = json.loads(path.read_bytes()) if path else {}
    except (OSError, ValueError):
        return {}
    return {mutant: case for mutant, case in plain.items() if isinstance(case, str)} if isinstance(plain, dict) else {}


def store_detections(protocol: str, verdicts: Mapping[Mutant, Verdict], made: Collection[str]) -> None:
    """Adds these verdicts, and drops mutants with ids that are not in `made`."""
    path = _path(protocol)
    if path is None:
        return
    now = load_detections(protocol) | {mutant.id: verdict.killer for mutant, verdict in verdicts.items()}
    kept = {mutant: case for mutant, case in sorted(now.items()) if case is not None and mutant in made}
    with suppress(OSError, CannotWrite):  # a read-only home, a full disk
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(kept, indent=0))


def _path(protocol: str) -> Path | None:
    folder = locations.cache_folder("detections")
    return folder and folder / f"{protocol}.json"


_OF: Final = "mutants of"


class WrongRecord(Exception):
    """The file is not a record of mutants."""


class Record:
    """The verdicts of a run, on disk."""

    def __init__(self, path: Path, of: str) -> None:
        """Opens a record and reads its verdicts. Raises WrongRecord, OSError."""
        self.found: dict[str, Verdict] = {}
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith(b"\n")]  # the last line may be incomplete
        head = _read(path, 1, whole[0]) if whole else None
        if lines and not _is_head(head):
            raise WrongRecord(f"{path} is not a record of mutants: name another file")
        for number, line in enumerate(whole, start=1):
            plain = _read(path, number, line)
            if _is_head(plain):
                head = plain
                self.found = {}
                continue
            try:
                name = plain.pop("mutant")
                self.found[name] = Verdict(**{**plain, "killers": (*plain.get("killers", ()),)})
            except (TypeError, KeyError, AttributeError):
                raise WrongRecord(f"{path}:{number}: not a verdict on a mutant") from None
        self._file = path.open("ab")
        os.truncate(self._file.fileno(), sum(map(len, whole)))
        if head != {_OF: of}:
            self.found = {}
            self._write({_OF: of})

    def add(self, mutant: str, verdict: Verdict) -> None:
        """Adds a verdict. Raises OSError."""
        self._write({"mutant": mutant, **asdict(verdict)})

    def _write(self, plain: dict[str, Any]) -> None:
        self._file.write(json.dumps(plain).encode() + b"\n")
        self._file.flush()


def digest(vectors: Iterable[Path], modules: Iterable[Module]) -> str:
    """Returns a digest of the vectors and modules of a run. Raises OSError."""
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
        raise WrongRecord(f"{path}:{number}: not JSON") from None
