"""`peerproof model`: model checking, state graphs, proofs and mutants of the specifications."""
