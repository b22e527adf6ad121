__all__ = [
    "Reading",
    "readings_of",
    "settled_by",
]

from .reading import Reading, readings_of, settled_by
