"""The inputs of each protocol for fuzzing."""
