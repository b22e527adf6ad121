"""State graphs and models: comparison of graphs, counterexamples, generated vectors, edge coverage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
