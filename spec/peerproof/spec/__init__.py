"""Executable specifications: protocols as pure functions over frozen values."""
