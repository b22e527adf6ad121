"""The reference behind adapter protocol 1: the suite checks it like any other implementation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
