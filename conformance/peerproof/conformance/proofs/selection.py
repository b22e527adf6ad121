"""Which proofs there are, and what is said of them as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerproof.conformance.proofs.proof import Proof, Proved, load, proven_protocols

if TYPE_CHECKING:
    from peerproof.conformance.proofs.paths import Outcome  # it loads Z3


def select_proofs(protocol: str | None = None, words: str = "") -> list[tuple[str, Proof]]:
    """
    Returns the proofs of a protocol, or of all, whose item or name has all of these words, each after its protocol.

    Raises ProverMissing without Z3.

    >>> {protocol for protocol, _ in select_proofs("swim")}
    {'swim'}
    """
    chosen = [protocol] if protocol else proven_protocols()
    return [
        (name, proof)
        for name in chosen
        for proof in load(name)
        if all(word in f"{proof.item} {proof.name}".lower() for word in words.lower().split())
    ]


def plain_proof(protocol: str, proof: Proof, found: Proved | None = None) -> dict[str, Any]:
    """
    Returns a proof as JSON data, and what became of it, if that is given.

    >>> protocol, proof = select_proofs("swim")[0]
    >>> plain_proof(protocol, proof)["protocol"]
    'swim'
    """
    plain = {
        "protocol": protocol,
        "item": proof.item,
        "name": proof.name,
        "about": proof.about,
        "clauses": list(proof.clauses),
        "by": str(proof.by),
        "twin": {"about": proof.twin.about},
    }
    if found is None:
        return plain
    twin = {"about": proof.twin.about, **_outcome(found.twin)}
    return {**plain, "as_expected": found.as_expected, **_outcome(found.outcome), "twin": twin}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "detail": outcome.detail,
        "paths": outcome.paths,
        "claims": outcome.claims,
        "cpu_seconds": round(outcome.seconds, 3),
    }
