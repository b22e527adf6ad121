"""
Proofs with Z3, about the functions of the specification that run.

A statement (`proof`) is a Python function that calls the running code with Z3 terms; `paths` follows every way through it, and
a claim must hold on each. `rebinding` and `terms` supply what Python cannot do on terms, such as the length of a string.
Each protocol has a module here named after it with its `PROOFS`; `codec` has the statements about declared forms.
"""
