__all__ = [
    "Bounds",
    "CannotWrite",
    "Timeouts",
]

from .bounds import Bounds
from .output import CannotWrite
from .timeouts import Timeouts
