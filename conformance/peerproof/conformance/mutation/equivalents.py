"""
The equivalent mutants, which no vector can detect, and why: `conformance/equivalent/PROTOCOL.yaml`.

Each is listed with what is changed in it. A line whose mutant is not made any more, or was killed, is stale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from peerproof.conformance.suite import locations
from peerproof.conformance.suite.strict_yaml import VectorError, parse


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that does what the specification does."""

    change: str  #: as the mutant says it
    reason: str
    where: str  #: `file:line`


def equivalents(protocol: str) -> Mapping[str, Equivalent]:
    """Those of a protocol, by the mutants' names. Raises VectorError if the file is not what it should be."""
    path = locations.equivalents_file(protocol)
    if not path.exists():
        return {}
    document = parse(path.read_bytes(), locations.path_text(path))
    if not isinstance(document.data, list):
        raise document.error((), "expected a list of reasons, each with its mutants")
    found: dict[str, Equivalent] = {}
    for number, group in enumerate(document.data):
        if not isinstance(group, dict) or group.keys() != {"reason", "mutants"} or not isinstance(group["reason"], str):
            raise document.error((number,), "expected reason, a text, and mutants")
        if not isinstance(group["mutants"], dict) or not group["mutants"]:
            raise document.error((number, "mutants"), "expected names of mutants, and what each changes")
        for name, change in group["mutants"].items():
            place = (number, "mutants", name)
            if not isinstance(change, str):
                raise document.error(place, "expected what it changes, as `peerproof mutants` says it")
            if name in found:
                raise document.error(place, f"{name} is listed twice, first at {found[name].where}", at_key=True)
            found[name] = Equivalent(change, group["reason"], _where(document.error(place, "", at_key=True)))
    return found


def _where(at: VectorError) -> str:
    return f"{at.file}:{at.line}"
