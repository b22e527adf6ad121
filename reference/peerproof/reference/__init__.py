"""Nodes that really run: the specifications with a clock, dice and a network."""
