"""Bytes that show a flaw, as a codec vector: the message that they must be read as, or that they must be rejected."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from peerproof.conformance.clauses.catalogue import LEVELS, load
from peerproof.conformance.fuzz.bytes.flaw_excuses import explain_flaw, flaw_clauses
from peerproof.conformance.fuzz.bytes.flaws import Flaw
from peerproof.conformance.fuzz.bytes.seeds import Seeds, read
from peerproof.conformance.fuzz.findings import NotPromoted
from peerproof.spec.errors import NotEnabled

LAYER = "codec"


def vector_of(seeds: Seeds, flaw: Flaw) -> dict[str, Any]:
    """Returns a vector for the flaw; if the specification itself is at fault, with what it should do. Raises NotPromoted."""
    message = read(seeds, flaw.data)
    name = None if message is None else seeds.codec.form.names[type(message)]
    items = load(seeds.protocol).items
    clauses = [clause for clause in flaw_clauses(seeds, flaw, explain_flaw(seeds, flaw)) if items[clause].level]
    if not clauses:
        raise NotPromoted("no clause is known that it violates")
    digest = sha256(flaw.data).hexdigest()[:8]
    return {
        "id": f"{seeds.protocol}/{LAYER}/found-{digest}",
        "rev": 1,
        "title": f"found by fuzzing: {'no message' if name is None else name} of {len(flaw.data)} bytes",
        "level": min((items[clause].level or "may" for clause in clauses), key=LEVELS.index),
        "clauses": clauses,
        **_body(seeds, flaw, message),
    }


def _body(seeds: Seeds, flaw: Flaw, message: Any) -> dict[str, Any]:
    digits = flaw.data.hex()
    if message is None:
        return {"bytes": digits, "rejects": {}}
    body = {"message": seeds.codec.plain(message), "bytes": digits}
    try:
        canonical = seeds.codec.encode(message) == flaw.data
    except (NotEnabled, ValueError, TypeError, LookupError):  # this may be the flaw
        canonical = False
    return body if canonical else {**body, "checks": ["decode"]}
