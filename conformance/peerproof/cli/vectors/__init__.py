"""`peerproof vectors`: list, show, replay, lint, generate and measure conformance vectors."""
