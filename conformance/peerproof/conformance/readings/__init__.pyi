__all__ = [
    "Reading",
    "find_basis",
    "readings_of",
    "settled_by",
    "try_reading",
]

from .experiment import find_basis, try_reading
from .reading import Reading, readings_of, settled_by
