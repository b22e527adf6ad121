"""
Byte fuzzing of decoders: those of the specifications, guided by coverage, and those of implementations.

Hypothesis is not needed; only coverage-guided search needs atheris.
"""
