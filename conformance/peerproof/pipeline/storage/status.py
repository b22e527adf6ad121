"""The state of the batches of a place, and removal of leftover files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from peerproof.pipeline.storage.batches import PLAN, UNFINISHED, Success, alone, folders, successes
from peerproof.spec.forms.form import Plain


class Standing(NamedTuple):
    """The progress of a batch. `rows` by table, empty before the commit."""

    name: str
    committed: bool
    finished: int
    arguments: Mapping[str, Plain]
    inputs: int
    seeds: tuple[str, ...]
    versions: Mapping[str, str]
    rows: Mapping[str, int]


def standings(place: Path) -> list[Standing]:
    """Returns the progress of the batches of a place."""
    committed = {success.folder: success for success in successes(place)}
    return [_standing(folder, committed.get(folder)) for folder in folders(place)]


def _standing(folder: Path, success: Success | None) -> Standing:
    plan = json.loads((folder / PLAN).read_bytes())
    return Standing(
        folder.name,
        success is not None,
        sum(1 for mark in (folder / "units").glob("*.json") if not mark.name.startswith(UNFINISHED)),
        plan["arguments"],
        len(plan["inputs"]),
        tuple(plan["seeds"]),
        plan["versions"],
        {name: table["rows"] for name, table in success.told["tables"].items()} if success else {},
    )


def collect(place: Path, *, uncommitted_too: bool = False) -> tuple[int, int]:
    """Removes leftover files. Returns their number and bytes. Raises Refused if a stage is running there."""
    with ExitStack() as stack:
        for stage in sorted({folder.name.rpartition("-")[0] for folder in folders(place)}):
            stack.enter_context(alone(place, stage))
        committed = {success.folder: success for success in successes(place)}
        files = size = 0
        for folder in folders(place):
            if uncommitted_too and folder not in committed:
                leftovers = [path for path in folder.rglob("*") if path.is_file()]
            else:
                leftovers = list(_leftovers(folder, committed.get(folder)))
            files, size = files + len(leftovers), size + sum(path.stat().st_size for path in leftovers)
            for path in leftovers:
                path.unlink()
            if uncommitted_too and folder not in committed:
                shutil.rmtree(folder)
        return files, size


def _leftovers(folder: Path, success: Success | None) -> Iterator[Path]:
    """Yields unfinished files, and files of a committed batch that it does not list."""
    tables = success.told["tables"] if success else {}
    for path in folder.rglob("*"):
        table = tables.get(path.parent.name)
        unlisted = table is not None and path.suffix == ".parquet" and path.name not in table["files"]
        if path.is_file() and (path.name.startswith(UNFINISHED) or unlisted):
            yield path
