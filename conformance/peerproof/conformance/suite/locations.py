"""
Where the suite's own files are: beside the packages in the source tree, in `data` of the package once it is installed.

The wheel carries them as package data under the same names (`pyproject.toml`, force-include). A protocol with a home of its
own (`peerproof.spec.protocols.Protocol.home`) has its files there, in folders of the same names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from peerproof.spec.protocols import PROTOCOLS

_PACKAGE: Final = Path(__file__).parents[1]
_SOURCE_TREE: Final = _PACKAGE.parents[1]  #: the folder `conformance` of a source tree


def vectors_root(protocol: str | None = None) -> Path:
    """The folder of the vectors, of a protocol or of this project, `PROTOCOL/LAYER/TOPIC.yaml` in it."""
    return _folder("vectors", protocol)


def schema(name: str) -> Path:
    """The JSON Schema of this name."""
    return _folder("schemas") / f"{name}.schema.json"


def examples() -> list[Path]:
    """The example traces."""
    return sorted(_folder("examples").glob("*.jsonl"))


def skeletons_root() -> Path:
    """The folder of the skeletons of adapters, one for each language in it, and what they have in common."""
    return _folder("skeletons")


def reviewed_file(protocol: str) -> Path:
    """The list of a protocol's reviewed clauses. There need not be one."""
    return _folder("reviewed", protocol) / f"{protocol}.txt"


def equivalents_file(protocol: str) -> Path:
    """The list of a protocol's equivalent mutants. There need not be one."""
    return _folder("equivalent", protocol) / f"{protocol}.yaml"


def clauses_file(protocol: str) -> Path:
    """A protocol's clauses and decisions in prose. There need not be any."""
    installed = _PACKAGE / "data" / "clauses"
    folder = _home(protocol) or (installed if installed.exists() else _SOURCE_TREE.parent / "spec")
    return folder / f"{protocol}.md"


def cache_folder(name: str) -> Path | None:
    """The folder of this name in the user's cache folder, which need not exist; None if this user has no cache folder."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(configured) if os.path.isabs(configured) else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return base / "peerproof" / name


def path_text(path: Path) -> str:
    """A path as messages show it: from the working directory if it is below that."""
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
