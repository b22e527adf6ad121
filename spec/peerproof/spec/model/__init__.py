"""Model checking: bounded models of nodes and a faulty network, their exploration, and their invariants."""
