"""`peerproof vectors`: list, show, replay, export, diff, lint, generate and measure conformance vectors."""
