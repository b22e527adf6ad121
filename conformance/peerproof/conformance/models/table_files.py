"""Tables of vectors as files: compared with what would be made now, or written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from peerproof.conformance.models.generation import fingerprint, render_table, select_configurations
from peerproof.conformance.suite.locations import path_text, vectors_root
from peerproof.conformance.suite.output import CannotWrite, write_whole
from peerproof.conformance.vectors.model_table import KINDS, table_of
from peerproof.spec.protocols import PROTOCOLS
from peerproof.tla import manifest
from peerproof.tla.manifest import Configuration


@dataclass(frozen=True)
class TableOutcome:
    """What became of one file."""

    path: Path | None  #: None: of a configuration as such
    text: str  #: in words
    is_stale: bool  #: it was not what would be made now, and was left so; or paths are not those that are written down


def table_protocols() -> list[str]:
    """
    Returns the protocols that have models, from which tables can be made.

    >>> "scuttlebutt" in table_protocols()
    True
    """
    return sorted(protocol for protocol in PROTOCOLS if (manifest.root(protocol) / protocol / "constants.json").exists())


def table_names(protocol: str) -> list[str]:
    """
    Returns the configurations of a protocol that tables are made of. Raises BadManifest.

    >>> "tiny" in table_names("scuttlebutt")
    True
    """
    return [one.name for one in select_configurations(protocol)]


def generate_tables(  # each has its default
    protocol: str,
    root: Path,
    only: Collection[str] = (),
    *,
    check: bool = False,
    every_edge: bool = False,
    on_begin: Callable[[Configuration], Callable[[int, int, int], None]] = lambda _: lambda *_: None,
) -> Iterator[TableOutcome]:
    """
    Writes the tables of a protocol below a root of vectors, or with `check` only compares them; yields what became of each.

    Files of configurations that are gone are removed, unless only some are asked for. With `every_edge` the paths take every
    edge. `on_begin` returns what is told how many states are explored and waiting, and at which depth. Raises BadManifest,
    TooManySteps, CutShort, CannotWrite.
    """
    folder = root / protocol / "model"
    configurations = select_configurations(protocol)
    names = [one.name for one in configurations]
    for configuration in configurations:
        if configuration.name in (only or names):
            path = folder / f"{configuration.name}.json"
            yield from _table(configuration, path, on_begin(configuration), check=check, every_edge=every_edge)
    for path in sorted(folder.glob("*.json")) if not only else ():
        if path.stem not in names:
            if not check:
                path.unlink()
            yield TableOutcome(path, f"{'is made of' if check else 'removed: there is'} no configuration", is_stale=check)


def _table(
    configuration: Configuration, path: Path, progress: Callable[[int, int, int], None], *, check: bool, every_edge: bool
) -> Iterator[TableOutcome]:
    text = render_table(configuration, every_edge=every_edge, progress=progress)
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if before == text:
        yield TableOutcome(path, f"as it is: {_format_counts(text)}", is_stale=False)
        return
    if check:
        yield TableOutcome(path, f"{_difference(before, text)}; peerproof generate makes it anew", is_stale=True)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except (OSError, CannotWrite) as error:
        raise CannotWrite(f"{path_text(path)} cannot be written: {error}") from None
    yield TableOutcome(path, f"written: {_format_counts(text)}", is_stale=False)
    if every_edge and (other := _other_paths(configuration, text)):
        yield TableOutcome(None, f"{configuration.name}  {other}", is_stale=True)


def _other_paths(configuration: Configuration, text: str) -> str | None:
    """In what the paths that take every edge are not those whose digest the kept table has."""
    kept = vectors_root(configuration.protocol) / configuration.protocol / "model" / f"{configuration.name}.json"
    digest = json.loads(kept.read_bytes())["every_edge"] if kept.exists() else {}
    if digest in ({}, found := fingerprint(json.loads(text)["paths"])):
        return None
    return f"its paths are others than {path_text(kept)} says: {found}, not {digest}"


def _format_counts(text: str) -> str:
    table = table_of(json.loads(text))
    counts = ", ".join(f"{table.count(kind):,} {kind}s" for kind in KINDS)
    return f"{counts} from {table.graph['worlds']:,} worlds and {table.graph['edges']:,} edges"


def _difference(before: str | None, now: str) -> str:
    if before is None:
        return "is missing"
    old, new = before.splitlines(), now.splitlines()
    at = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    lines = [lines[at][:100] if at < len(lines) else "(the end)" for lines in (old, new)]
    return f"differs in line {at + 1}: it has {lines[0]}, now it is {lines[1]}"
