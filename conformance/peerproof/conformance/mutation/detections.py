"""
Which case killed each mutant last time: a cache, `detections/PROTOCOL.json` in the user's cache folder.

It only decides which case is run first. The id of a mutant holds a digest of its change, and all other cases follow where the
case does not exist or does not detect the mutant any more; so a stale entry costs time and changes no verdict. Nothing here is
an error: a file that cannot be read is empty, one that cannot be written is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from peerproof.conformance.mutation.sites import Mutant
from peerproof.conformance.mutation.trials import Verdict
from peerproof.conformance.suite import locations
from peerproof.conformance.suite.output import CannotWrite, write_whole


def load_detections(protocol: str) -> dict[str, str]:
    """Mutant -> case; empty if there is no such file."""
    path = _path(protocol)
    try:
        plain = json.loads(path.read_bytes()) if path else {}
    except (OSError, ValueError):
        return {}
    return {mutant: case for mutant, case in plain.items() if isinstance(case, str)} if isinstance(plain, dict) else {}


def store_detections(protocol: str, verdicts: Mapping[Mutant, Verdict], made: Collection[str]) -> None:
    """Adds these verdicts, and drops mutants whose id is not in `made`."""
    path = _path(protocol)
    if path is None:
        return
    now = load_detections(protocol) | {mutant.id: verdict.killer for mutant, verdict in verdicts.items()}
    kept = {mutant: case for mutant, case in sorted(now.items()) if case is not None and mutant in made}
    with suppress(OSError, CannotWrite):  # a read-only home, a full disk
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(kept, indent=0))


def _path(protocol: str) -> Path | None:
    folder = locations.cache_folder("detections")
    return folder and folder / f"{protocol}.json"
