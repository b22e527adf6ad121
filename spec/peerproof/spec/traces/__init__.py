"""Recorded runs: trace lines, their replay, and whether a step is one that the specification allows."""
