"""3. Queries: what can be seen of a node, from outside. Looking changes nothing."""

from __future__ import annotations

from typing import Any, Final

from .events import Node

#: What of this is claimed: add "observe.NAME" for each query that is answered.
CAPABILITIES: Final[list[str]] = []


def answer(node: Node, what: str, args: dict[str, Any]) -> Any:
    """The answer in plain form: dictionaries, lists, strings, numbers."""
    raise NotImplementedError(f"there is no query {what} yet")
