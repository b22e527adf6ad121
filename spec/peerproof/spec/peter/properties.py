"""What holds in every run of Peter; PI- names are those of `spec/peter.md`."""

from __future__ import annotations

from typing import Any, Final

from peerproof.spec.peter.snapshot import misplaced
from peerproof.spec.properties import Property


def rows_right(state: Any) -> bool:
    """Only what is wanted is kept, and no node is its own child or parent."""
    return misplaced(state.upper) is None


PROPERTIES: Final = (Property("RowsRight", "topics are kept while they are wanted", ("PI-01", "PA-04"), "node", rows_right),)
