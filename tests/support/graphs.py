"""State graphs of TLC and of the explorer, for the tests that hold them together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from peerproof.conformance.models.graph_comparison import Comparison, compare
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.tla.manifest import Model, root
from peerproof.tla.tools.installation import find
from peerproof.tla.tools.tlc import Run, run


def dumped(folder: Path, model: Model) -> Path:
    """The graph of a model, as TLC writes it."""
    dump = folder / f"{model.name}.dot"
    run(find(), Run(module=model.module_path, configuration=model.cfg(checks=False), library=(root(),), dump=dump, brief=True))
    return dump


def compared(dump: Path, world: Any) -> tuple[Comparison, Exploration]:
    """It and the graph of the Python world."""
    exploration = explore(world, digest=True)
    return compare(dump, exploration), exploration
