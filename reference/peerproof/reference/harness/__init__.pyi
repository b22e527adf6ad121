__all__ = [
    "Harness",
    "Server",
    "serve_stdio",
]

from .harness import Harness
from .request_channel import Server, serve_stdio
