__all__ = [
    "Citation",
    "Clause",
    "Clauses",
    "load",
    "protocols",
]

from .catalogue import Citation, Clause, Clauses, load, protocols
