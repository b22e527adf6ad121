"""`peerproof trace`: check and draw recorded traces."""
