"""Adapter protocol 1: its messages, and ways to reach an implementation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
