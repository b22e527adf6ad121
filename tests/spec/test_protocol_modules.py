"""What the modules of every protocol have in common."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import get_origin, get_type_hints

import pytest

from peerproof.spec.core import Step
from peerproof.spec.protocols import PROTOCOLS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_handler_returns_a_step(protocol: str) -> None:
    modules = [reference.load() for reference in PROTOCOLS[protocol].handlers]
    functions = {value for module in modules for name, value in vars(module).items() if name.startswith(("on_", "_on_"))}
    handlers = [function for function in functions if "state" in signature(function).parameters]

    assert handlers
    assert [handler.__name__ for handler in handlers if get_origin(get_type_hints(handler)["return"]) is not Step] == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_needs_no_model(protocol: str) -> None:
    package = find_spec(PROTOCOLS[protocol].specification.target)
    assert package is not None
    assert package.origin is not None

    found = [
        f"{path.name}: {node.module}"
        for path in Path(package.origin).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and "model" in node.module.split(".")
    ]
    assert found == []
