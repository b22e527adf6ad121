"""The stage `report`: what a place holds, as one page of HTML that stands alone. Made anew each time, and whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from peerproof.pipeline.report.report_data import Gathered, gather
from peerproof.pipeline.report.report_page import page
from peerproof.pipeline.storage.batches import write_whole

#: The page's name in its place, unless another is given.
NAME: Final = "report.html"


def write(place: Path, to: Path | None = None) -> tuple[Path, Gathered]:
    """Write the page, and say where it is. Raises NothingToReport, WrongSchema."""
    found = gather(place)
    path = to or place / NAME
    write_whole(path, page(found))
    return path, found
