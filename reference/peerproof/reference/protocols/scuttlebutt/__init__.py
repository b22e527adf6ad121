"""Scuttlebutt at run time."""
