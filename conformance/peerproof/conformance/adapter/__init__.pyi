__all__ = [
    "Adapter",
    "AdapterError",
    "AdapterUnavailable",
    "DialogueError",
    "DialogueFile",
    "Hello",
    "InProcess",
    "NoAnswer",
    "Offered",
    "Recorded",
    "Recording",
    "create_adapter",
    "load_dialogue",
]

from .adapter import Adapter, AdapterError, AdapterUnavailable
from .dialogue import DialogueError, DialogueFile, load_dialogue
from .implementation import create_adapter
from .in_process import InProcess
from .messages import Hello, NoAnswer, Offered
from .recorded import Recorded
from .recording import Recording
