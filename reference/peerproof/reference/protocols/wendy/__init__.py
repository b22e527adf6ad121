"""Wendy at run time."""
