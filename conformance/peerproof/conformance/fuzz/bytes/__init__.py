"""
Byte fuzzing of decoders: those of the specifications, guided by coverage, and those of implementations.

Nothing here needs Hypothesis; only `guided` needs atheris.
"""
