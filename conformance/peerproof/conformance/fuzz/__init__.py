"""
Stateful fuzzing: runs of a few nodes over a faulty network, generated and shrunk by Hypothesis.

The nodes are those of the specification, which must keep its properties, or those of an implementation, whose every effect
the specification must explain. Everything here is the same for all protocols; what one of them brings is its `Inputs`, in the
module of its name beside this one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
