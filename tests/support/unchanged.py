"""What was shown before is not shown again while nothing has changed that it depends on; never where all has to be shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest


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


class Memory:
    """Remembers in pytest's cache with which digest a test has passed last."""

    def __init__(self, config: pytest.Config, digest: str) -> None:
        self._cache: pytest.Cache | None = getattr(config, "cache", None)  # without it, nothing is remembered
        self._digest = digest
        self._is_used = not ({"CI", "PEERPROOF_STRICT"} & os.environ.keys())

    def has(self, name: str) -> bool:
        """Whether this passed with the same digest."""
        return self._is_used and self._cache is not None and self._cache.get(_key(name), None) == self._digest

    def keep(self, name: str) -> None:
        """Remembers that this has passed."""
        if self._is_used and self._cache is not None:
            self._cache.set(_key(name), self._digest)


def _key(name: str) -> str:
    return f"peerproof/unchanged/{sha256(name.encode()).hexdigest()[:16]}"
