"""This package as a zip, for executors that have not installed it."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

import peerproof

#: What executors run. Other packages (pyarrow, msgspec, jsonschema, PyYAML) must be installed there.
PARTS: Final = ("spec", "tla", "reference", "conformance", "cli")


def pack(path: Path) -> Path:
    """Write the zip; the same sources give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted(_modules().items()):
            entry = zipfile.ZipInfo(name)  # of 1980, whenever it is made
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, source.read_bytes())
    return path


def _modules() -> dict[str, Path]:
    return {
        f"peerproof/{source.relative_to(root).as_posix()}": source
        for root in map(Path, peerproof.__path__)
        for part in PARTS
        for source in (root / part).rglob("*.py")
    }
