"""The run-time parts of each protocol, and their registry."""
