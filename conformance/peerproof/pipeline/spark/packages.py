"""This package, and those of added protocols, as a zip for executors on which they are not installed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import Final

import peerproof
from peerproof.spec.protocols import GROUP

#: Packages in the zip. Others (pyarrow, msgspec, jsonschema, PyYAML) must be installed on the executors.
PARTS: Final = ("spec", "tla", "reference", "conformance", "pipeline", "cli")


def pack(path: Path) -> Path:
    """Writes the zip; the same sources give the same bytes."""
    modules = {name: _content(source) for name, source in _modules().items()} | dict(_extension_files())
    # `peerproof` has no __init__.py, and Python 3.11 finds such a package in a zip only if its folder is listed.
    folders = {f"{folder.as_posix()}/" for name in modules for folder in PurePosixPath(name).parents if folder.name}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*folders, *modules}):
            entry = zipfile.ZipInfo(name)  # its date is always 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, b"" if name in folders else modules[name])
    return path


def _content(source: Path) -> bytes:
    """Reads a module; drops the lazy loading of packages with a stub, because a zip has no stubs and executors use full names."""
    content = source.read_bytes()
    return content.partition(b"import lazy_loader")[0] if source.with_suffix(".pyi").exists() else content


def _extension_files() -> Iterator[tuple[str, bytes]]:
    """Yields the files of distributions that add protocols: the package of each entry point, and its metadata."""
    for point in entry_points(group=GROUP):
        package = point.module.partition(".")[0]
        for folder in map(Path, import_module(package).__path__):
            for source in folder.rglob("*.py"):
                yield f"{package}/{source.relative_to(folder).as_posix()}", source.read_bytes()
        if point.dist:
            for name in ("METADATA", "entry_points.txt"):
                content = point.dist.read_text(name) or ""
                yield f"{point.dist.name}-{point.dist.version}.dist-info/{name}", content.encode()


def _modules() -> dict[str, Path]:
    return {
        f"peerproof/{source.relative_to(root).as_posix()}": source
        for root in map(Path, peerproof.__path__)
        for part in PARTS
        for source in (root / part).rglob("*.py")
    }
