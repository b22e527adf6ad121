"""
Which case noticed a mutant last time: `conformance/noticed/PROTOCOL.json`.

It decides nothing. It is what is tried first, so that mutants take less time; a case that does not notice any more,
or is not there, costs no more than a try.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from peerproof.conformance import sources
from peerproof.conformance.mutants.places import Mutant
from peerproof.conformance.mutants.record import WrongRecord
from peerproof.conformance.mutants.trials import Verdict


def noticed_by(protocol: str) -> dict[str, str]:
    """Mutant -> case; nothing if there is no such file. Raises WrongRecord if it is something else."""
    path = sources.noticed_root() / f"{protocol}.json"
    if not path.exists():
        return {}
    try:
        by_case = json.loads(path.read_bytes())
        return {mutant: case for case, mutants in by_case.items() for mutant in mutants}
    except (ValueError, AttributeError, TypeError) as error:
        raise WrongRecord(f"{sources.shown(path)} is no list of cases with their mutants ({error}): delete it") from None


def keep(protocol: str, verdicts: Mapping[Mutant, Verdict], made: Collection[str]) -> None:
    """Remember these too, of all mutants that are made now. Raises OSError, WrongRecord."""
    now = {mutant.id: verdict.killer for mutant, verdict in verdicts.items()}
    by_case: dict[str, list[str]] = {}
    for mutant, case in sorted({**noticed_by(protocol), **now}.items()):
        if case is not None and mutant in made:
            by_case.setdefault(case, []).append(mutant)
    path = sources.noticed_root() / f"{protocol}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(dict(sorted(by_case.items())), indent=0) + "\n", encoding="utf-8")
