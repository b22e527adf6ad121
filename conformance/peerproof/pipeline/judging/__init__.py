"""Verdicts on nodes: what was found shown again, and a folder of growing traces followed."""
