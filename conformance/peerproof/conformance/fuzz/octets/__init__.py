"""
Decoders under mutated bytes: those of the specifications, guided by the code that they reach, and those of implementations.

Nothing here needs Hypothesis; only `guided` needs atheris.
"""
