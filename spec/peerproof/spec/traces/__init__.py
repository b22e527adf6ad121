"""Recorded runs: trace lines, their replay, and checks of steps whose random choices are unknown."""
