__all__ = [
    "ByteSearch",
    "CannotFuzz",
    "CorpusError",
    "Finding",
    "FuzzSettings",
    "FuzzVerdict",
    "NodeSearch",
    "fuzz_decoder",
    "fuzz_nodes",
]

from .bytes.byte_search import ByteSearch, fuzz_decoder
from .corpus import CorpusError
from .findings import Finding
from .node_search import NodeSearch, fuzz_nodes
from .search_settings import CannotFuzz, FuzzSettings, FuzzVerdict
