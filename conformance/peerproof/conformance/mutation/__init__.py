"""Mutants of the specifications, each with one small fault, and how many of them the vectors detect."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
