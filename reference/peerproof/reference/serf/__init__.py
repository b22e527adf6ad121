"""Serf: a client of its agents, and the buses that broadcast events to all nodes."""
