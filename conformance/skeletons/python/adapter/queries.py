"""3. Queries: what can be seen of a node from outside. A query changes nothing."""

from __future__ import annotations

from typing import Any, Final

from .events import Node

#: The capabilities of this file. Add "observe.NAME" for each query that `answer` knows.
CAPABILITIES: Final[list[str]] = []


def answer(node: Node, what: str, args: dict[str, Any]) -> Any:
    """Returns the answer in plain form: dictionaries, lists, strings, numbers."""
    raise NotImplementedError(f"there is no query {what} yet")
