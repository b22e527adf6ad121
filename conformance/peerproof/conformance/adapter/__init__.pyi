__all__ = [
    "Adapter",
    "AdapterError",
    "AdapterUnavailable",
    "Hello",
    "InProcess",
    "Offered",
    "create_adapter",
]

from .adapter import Adapter, AdapterError, AdapterUnavailable
from .implementation import create_adapter
from .in_process import InProcess
from .messages import Hello, Offered
