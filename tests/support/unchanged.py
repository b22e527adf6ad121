"""What was shown before is not shown again while nothing has changed that it depends on; never where all has to be shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol


def digest_of(folders: Iterable[Path]) -> str:
    """Returns a digest of the Python files of some folders, by name and content."""
    found = sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{file.relative_to(folder)} {file.stat().st_size}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()


def digest_of_proofs() -> str:
    """Returns a digest of all that a proof may depend on: the specifications, the proofs, Python and Z3."""
    from peerproof.conformance import proofs
    from peerproof.spec import core

    folders = Path(core.__file__).parent, Path(str(proofs.__file__)).parent
    return f"{digest_of(folders)} {sys.version} {version('z3-solver')}"


class Cache(Protocol):
    """What keeps values between runs: pytest's cache."""

    def get(self, key: str, default: Any) -> Any:
        """Returns a kept value, or `default`."""

    def set(self, key: str, value: object) -> None:
        """Keeps a value."""


class Memory:
    """Remembers with which digest a test has passed last; nothing without a cache, and where all has to be shown."""

    def __init__(self, cache: Cache | None, digest: str) -> None:
        self._cache = None if {"CI", "PEERPROOF_STRICT"} & os.environ.keys() else cache
        self._digest = digest

    def has(self, name: str) -> bool:
        """Whether this passed with the same digest."""
        return self._cache is not None and self._cache.get(_key(name), None) == self._digest

    def keep(self, name: str) -> None:
        """Remembers that this has passed."""
        if self._cache is not None:
            self._cache.set(_key(name), self._digest)


def _key(name: str) -> str:
    return f"peerproof/unchanged/{sha256(name.encode()).hexdigest()[:16]}"
