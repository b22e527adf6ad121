"""
The compiled form of the vectors: JSON in the user's cache folder, one file for each state of the sources.

Its key covers the sources, the schemas and the code that reads them, so that a stale file is never read. Nothing here is an
error: what cannot be read is not there, what cannot be written is not kept.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite, write_whole
from peerproof.spec.protocols import PROTOCOLS

KEPT: Final = 8  #: so many states of the sources are kept: of some branches, or of some installed versions

#: The modules whose code decides what is compiled, from the package on.
_READERS: Final = (
    *(f"vectors/{name}" for name in ("suite", "vector_file", "model_table", "model_vectors", "compiled")),
    "suite/strict_yaml",
    "suite/schema",
)


def folder() -> Path | None:
    """Where compiled forms are; None if this user has no such place."""
    return locations.cache_folder("vectors")


def key(digest: str) -> str:
    """Names the compiled form of the sources with this digest, as this code would compile them."""
    hashed = sha256(digest.encode())
    hashed.update(repr([(name, protocol.sizes) for name, protocol in PROTOCOLS.items()]).encode())  # of which needs come
    paths = [Path(__file__).parents[1] / f"{name}.py" for name in _READERS]
    for path in (*paths, *map(locations.schema, ("vector", "model", "retired"))):
        hashed.update(path.read_bytes() if path.exists() else b"")
    return hashed.hexdigest()


def load(key: str) -> Any:
    """The compiled form of this key, or None."""
    place = folder()
    if place is None:
        return None
    try:
        content = json.loads((place / f"{key}.json").read_bytes())
    except (OSError, ValueError):
        return None
    return content["suite"] if isinstance(content, dict) and content.get("key") == key else None


def store(key: str, suite: Any) -> None:
    """Keeps a compiled form, whole or not at all."""
    place = folder()
    if place is None:
        return
    content = json.dumps({"key": key, "suite": suite}, separators=(",", ":"))
    with suppress(OSError, CannotWrite):  # a read-only home, a full disk
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / f"{key}.json", content)
        by_age = sorted(place.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in by_age[:-KEPT]:
            old.unlink(missing_ok=True)
