"""
The compiled form of the vectors: JSON in the user's cache folder, one file for each source, and an index of all.

A change affects one source, and the index. A key covers the source, the schemas and the code that reads them, so that a stale
file is never read. There are no errors: a file that cannot be read counts as missing, and a failed write is ignored.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite, write_whole
from peerproof.spec.protocols import PROTOCOLS

#: The most bytes that are kept, the most recently used files: several versions of the suite's own vectors.
KEPT: Final = 256 << 20

#: Seconds after which a use of a file is recorded again.
FRESH: Final = 3600.0

#: The modules that determine the compiled form, relative to the package.
_READERS: Final = (
    *(
        f"vectors/{name}"
        for name in ("suite", "vector_source", "vector_file", "model_table", "model_vectors", "compiled", "basis")
    ),
    "suite/strict_yaml",
    "suite/schema",
    "clauses/catalogue",
)


def folder() -> Path | None:
    """The folder of compiled forms; None if this user has none."""
    return locations.cache_folder("compiled")


def readers() -> bytes:
    """A digest of everything but the source on which a compiled form depends."""
    hashed = sha256(repr([(name, protocol.sizes) for name, protocol in PROTOCOLS.items()]).encode())  # needs use these
    paths = [Path(__file__).parents[1] / f"{name}.py" for name in _READERS]
    for path in (*paths, *map(locations.schema, ("vector", "model", "retired"))):
        hashed.update(path.read_bytes() if path.exists() else b"")
    return hashed.digest()


def key(readers: bytes, name: str, content: bytes) -> str:
    """The name of the compiled form of this source, relative to this root, for this code."""
    hashed = sha256(readers)
    hashed.update(f"{name}\0".encode())
    hashed.update(content)
    return hashed.hexdigest()


def load(key: str) -> Any:
    """Loads the compiled form of this key; None if there is none."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}.json"
    try:
        content = json.loads(path.read_bytes())
        if path.stat().st_mtime < time.time() - FRESH:
            os.utime(path)
    except (OSError, ValueError):
        return None
    return content["form"] if isinstance(content, dict) and content.get("key") == key else None


def store(key: str, form: Any) -> None:
    """Stores a compiled form, whole or not at all."""
    place = folder()
    if place is None:
        return
    with suppress(OSError, CannotWrite):  # a read-only home, a full disk
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / f"{key}.json", json.dumps({"key": key, "form": form}, separators=(",", ":")))


def forget_old() -> None:
    """Deletes the least recently used files until the rest is small enough."""
    place = folder()
    with suppress(OSError):
        found = [(path, path.stat()) for path in place.glob("*.json")] if place else []
        left = sum(status.st_size for _, status in found)
        for path, status in sorted(found, key=lambda one: one[1].st_mtime):
            if left <= KEPT:
                return
            path.unlink(missing_ok=True)
            left -= status.st_size
