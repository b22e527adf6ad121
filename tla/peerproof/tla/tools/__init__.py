"""Finding and running the tools of TLA+: TLC, its random walks, and the parser SANY."""
