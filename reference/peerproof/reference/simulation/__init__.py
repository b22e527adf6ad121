"""Many nodes in virtual time, on a network that loses, delays, duplicates and reorders messages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
