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

from .selection import NothingFits, SelectionError, VectorNotFound, find_vector, select_vectors, vector_row, vector_source
from .suite import Suite, Vector, VectorError, load
