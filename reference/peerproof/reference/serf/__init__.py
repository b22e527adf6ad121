"""Serf: a client of its agents, and what carries user events to every node."""
