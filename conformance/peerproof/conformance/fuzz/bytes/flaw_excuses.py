"""What a flaw of an implementation's decoder rests on: the document's words, or only decisions."""

from __future__ import annotations

from typing import Any

from peerproof.conformance.fuzz.bytes.flaws import Flaw
from peerproof.conformance.fuzz.bytes.seeds import Seeds, read
from peerproof.conformance.readings.reading import readings_of
from peerproof.conformance.runner.codec_cases import same
from peerproof.conformance.runner.result import ADAPTERS_OWN
from peerproof.conformance.traces.other_readings import Explanations, add_readings, explanation_clauses, specification_by
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.properties import is_decision


def flaw_clauses(seeds: Seeds, flaw: Flaw, explanations: Explanations) -> list[str]:
    """Returns the clauses that a flaw contradicts: those of the readings that explain it, else of the most similar vector."""
    if explanations:
        return list(explanation_clauses(explanations))
    message = read(seeds, flaw.data)
    return seeds.clauses(flaw.data, None if message is None else seeds.codec.form.names[type(message)])


def flaw_rests_on(seeds: Seeds, flaw: Flaw, explanations: Explanations) -> list[str]:
    """Returns the decisions on which a flaw rests; empty if on the document's words, or if nothing excuses it."""
    clauses = flaw_clauses(seeds, flaw, explanations)
    return [] if flaw.kind in ADAPTERS_OWN or not all(map(is_decision, clauses)) else clauses


def explain_flaw(seeds: Seeds, flaw: Flaw) -> Explanations:
    """Returns the readings of decisions with which it is no flaw."""
    if flaw.kind in ADAPTERS_OWN:
        return ()
    readings = readings_of(seeds.protocol)
    declared = {readings[number].clause for number in seeds.taken}
    left = ((number, reading) for number, reading in enumerate(readings) if reading.clause not in declared)
    codecs = ((reading, specification_by(seeds.protocol, add_readings(seeds.taken, number)).MESSAGE) for number, reading in left)
    return tuple((reading,) for reading, codec in codecs if _is_explained(seeds, flaw, codec, ends=reading.ends))


def _is_explained(seeds: Seeds, flaw: Flaw, codec: Any, *, ends: bool) -> bool:
    """Returns True if a decoder of another reading does the same, or may come to an end."""
    try:
        message = codec.decode(flaw.data)
        if flaw.kind == "bytes":
            return bool(codec.encode(seeds.codec.decode(flaw.data)).hex() == flaw.actual)
        value = flaw.actual["value"] if flaw.kind == "accepted" else flaw.actual
        return flaw.kind in ("accepted", "value") and same(seeds.codec.plain(message), value)
    except MalformedMessage:
        return flaw.kind == "rejected"
    except Exception:  # noqa: BLE001  # with this reading an implementation may come to an end
        return ends
