"""Mistakes that implementations make, each alone in an otherwise right one, a folder for each protocol."""
