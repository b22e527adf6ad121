"""This package as a zip, for executors that have not installed it."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from typing import Final

import peerproof

#: What executors run. Other packages (pyarrow, msgspec, jsonschema, PyYAML) must be installed there.
PARTS: Final = ("spec", "tla", "reference", "conformance", "cli")


def pack(path: Path) -> Path:
    """Write the zip; the same sources give the same bytes."""
    modules = _modules()
    # `peerproof` has no __init__.py, and Python 3.11 finds such a package in a zip only if its folder is listed.
    folders = {f"{folder.as_posix()}/" for name in modules for folder in PurePosixPath(name).parents if folder.name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*folders, *modules}):
            entry = zipfile.ZipInfo(name)  # of 1980, whenever it is made
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, b"" if name in folders else modules[name].read_bytes())
    return path


def _modules() -> dict[str, Path]:
    return {
        f"peerproof/{source.relative_to(root).as_posix()}": source
        for root in map(Path, peerproof.__path__)
        for part in PARTS
        for source in (root / part).rglob("*.py")
    }
