"""Running the vectors against an implementation: cases, virtual time, real sockets, workers, results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
