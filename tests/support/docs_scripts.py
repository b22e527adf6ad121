"""The scripts in the folder docs, which is no package, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parents[2] / "docs"


def load_script(name: str) -> Any:
    """Returns a script as a module."""
    spec = importlib.util.spec_from_file_location(name, _DOCS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
