"""Bundles: the vectors of a protocol as one JSON file for runners in other languages, and what changed between two of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
