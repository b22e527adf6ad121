"""Checking recorded traces with TLC."""
