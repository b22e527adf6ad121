"""SWIM at run time."""
