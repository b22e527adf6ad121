"""
Stateful fuzzing: runs of a few nodes over a faulty network, generated and shrunk by Hypothesis.

The nodes are the specification's, which must keep its properties, or an implementation's, whose every effect the specification
must explain. This code is the same for all protocols; each protocol adds its `Inputs`, in the module of its name in `inputs`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
