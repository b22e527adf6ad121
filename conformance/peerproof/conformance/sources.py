"""
Where the suite's own files are: beside the package in the source tree, inside it once it is installed.

The wheel carries them as package data under the same names (`pyproject.toml`, force-include).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_SOURCE_TREE: Final = _PACKAGE.parents[1]  #: the folder `conformance` of a source tree


def vectors_root() -> Path:
    """The folder of the vectors, `PROTOCOL/LAYER/TOPIC.yaml` in it."""
    return _first(_PACKAGE / "vectors", _SOURCE_TREE / "vectors")


def schema(name: str) -> Path:
    """The JSON Schema of this name."""
    return _first(_PACKAGE / "schemas", _SOURCE_TREE / "schemas") / f"{name}.schema.json"


def examples() -> list[Path]:
    """The example traces."""
    return sorted(_first(_PACKAGE / "examples", _SOURCE_TREE / "examples").glob("*.jsonl"))


def skeletons_root() -> Path:
    """The folder of the skeletons of adapters, one for each language in it, and what they have in common."""
    return _first(_PACKAGE / "skeletons", _SOURCE_TREE / "skeletons")


def reviewed_root() -> Path:
    """The folder of the lists of reviewed clauses, `PROTOCOL.txt` in it."""
    return _first(_PACKAGE / "reviewed", _SOURCE_TREE / "reviewed")


def equivalents_root() -> Path:
    """The folder of the lists of equivalent mutants, `PROTOCOL.yaml` in it."""
    return _first(_PACKAGE / "equivalent", _SOURCE_TREE / "equivalent")


def noticed_root() -> Path:
    """The folder of what noticed each mutant last time, `PROTOCOL.json` in it. There need not be one."""
    return _first(_PACKAGE / "noticed", _SOURCE_TREE / "noticed")


def clauses_root() -> Path:
    """The folder of the protocols' clauses and decisions in prose, `PROTOCOL.md` in it."""
    return _first(_PACKAGE / "clauses", _SOURCE_TREE.parent / "spec")


def models_manifest() -> Path:
    """What is said of the models: which clauses each holds. There need not be one."""
    return _first(_PACKAGE.parent / "tla" / "models" / "manifest.json", _SOURCE_TREE.parent / "tla" / "manifest.json")


def shown(path: Path) -> str:
    """A path as messages show it: from the working directory if it is below that."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _first(installed: Path, in_source_tree: Path) -> Path:
    return installed if installed.exists() else in_source_tree
