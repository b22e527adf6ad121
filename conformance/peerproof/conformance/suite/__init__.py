"""The files of the suite: where they are, strict YAML, JSON Schema, input, atomic output, timeouts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
