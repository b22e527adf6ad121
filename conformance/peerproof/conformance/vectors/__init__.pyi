__all__ = [
    "NothingFits",
    "SelectionError",
    "Suite",
    "Vector",
    "VectorError",
    "VectorNotFound",
    "find_vector",
    "load",
    "select_vectors",
    "vector_row",
    "vector_source",
]

from .lookup import VectorNotFound, find_vector, vector_row, vector_source
from .selection import NothingFits, SelectionError, select_vectors
from .suite import Suite, Vector, VectorError, load
