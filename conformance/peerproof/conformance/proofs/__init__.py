"""
Proofs with Z3 about the functions of the specification that run.

A statement (`proof`) is a Python function that calls the running code with Z3 terms; `paths` follows every path through it, and a
claim must hold on each. `terms` replaces operations that Python cannot do on terms, such as the length of a string; statements
put them in place of `len` with `peerproof.spec.overrides`. Each protocol has a folder here with its `PROOFS`; `codec_proofs` has
the statements about declared forms.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
