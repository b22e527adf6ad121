"""
The paths of the suite's own files: beside the packages in the source tree, or in the package's `data` once it is installed.

The wheel has them as package data under the same names (`pyproject.toml`, force-include). A protocol of another distribution
(`peerproof.spec.protocols.Protocol.home`) has its files there, in folders of the same names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from peerproof.spec.protocols import PROTOCOLS

_PACKAGE: Final = Path(__file__).parents[1]
_SOURCE_TREE: Final = _PACKAGE.parents[1]  #: the folder `conformance` of a source tree


def vectors_root(protocol: str | None = None) -> Path:
    """The folder of the vectors, this project's or a protocol's own; it holds `PROTOCOL/LAYER/TOPIC.yaml`."""
    return _folder("vectors", protocol)


def schema(name: str) -> Path:
    """The JSON Schema of this name."""
    return _folder("schemas") / f"{name}.schema.json"


def examples() -> list[Path]:
    """The example traces."""
    return sorted(_folder("examples").glob("*.jsonl"))


def skeletons_root() -> Path:
    """The folder of the adapter skeletons: one for each language, and their common files."""
    return _folder("skeletons")


def runners_root() -> Path:
    """The folder of the native runners: one for each language."""
    return _folder("runners")


def reviewed_file(protocol: str) -> Path:
    """The list of a protocol's reviewed clauses. It may be missing."""
    return _folder("reviewed", protocol) / f"{protocol}.txt"


def equivalents_file(protocol: str) -> Path:
    """The list of a protocol's equivalent mutants. It may be missing."""
    return _folder("equivalent", protocol) / f"{protocol}.yaml"


def clauses_file(protocol: str) -> Path:
    """A protocol's clauses and decisions in prose. The file may be missing."""
    installed = _PACKAGE / "data" / "clauses"
    folder = _home(protocol) or (installed if installed.exists() else _SOURCE_TREE.parent / "spec")
    return folder / f"{protocol}.md"


def cache_folder(name: str) -> Path | None:
    """A folder in the user's cache folder, which may not exist yet; None if this user has no cache folder."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return base / "peerproof" / name


def path_text(path: Path) -> str:
    """A path as messages show it: relative to the working directory if it is below that."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _home(protocol: str | None) -> Path | None:
    return PROTOCOLS[protocol].home if protocol and protocol in PROTOCOLS else None


def _folder(name: str, protocol: str | None = None) -> Path:
    if home := _home(protocol):
        return home / name
    installed = _PACKAGE / "data" / name
    return installed if installed.exists() else _SOURCE_TREE / name
