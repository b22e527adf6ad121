__all__ = [
    "Harness",
    "Server",
    "Variant",
    "serve_stdio",
]

from .harness import Harness
from .request_channel import Server, serve_stdio
from .variant import Variant
