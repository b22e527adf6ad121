__all__ = [
    "CannotWrite",
    "Timeouts",
]

from .output import CannotWrite
from .timeouts import Timeouts
