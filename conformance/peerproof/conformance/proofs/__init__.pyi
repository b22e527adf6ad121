__all__ = [
    "Proof",
    "Proved",
    "ProverMissing",
    "plain_proof",
    "prove",
    "proven_protocols",
    "select_proofs",
]

from .proof import Proof, Proved, ProverMissing, plain_proof, prove, proven_protocols, select_proofs
