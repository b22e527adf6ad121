"""Finding and running the TLA+ tools: TLC, its random walks, and the parser SANY."""
