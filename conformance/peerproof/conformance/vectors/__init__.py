"""Vectors: loading and selecting them, tables made from state graphs, families of malformed messages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
