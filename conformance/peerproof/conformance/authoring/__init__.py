"""Tools for authors of vectors and adapters: lint, coverage, adapter check, skeletons, diagrams."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
