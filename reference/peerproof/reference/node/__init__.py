"""`peerproof node start`: a node on a terminal, its configuration and its console commands."""
