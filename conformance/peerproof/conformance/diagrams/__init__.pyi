__all__ = [
    "Arrow",
    "Excerpt",
    "MessageGraph",
    "Note",
    "render_svg",
]

from .excerpt import Excerpt
from .message_graph import Arrow, MessageGraph, Note
from .svg import render_svg
