__all__ = [
    "Arrow",
    "Excerpt",
    "MessageGraph",
    "Note",
    "render_svg",
]

from .message_graph import Arrow, Excerpt, MessageGraph, Note
from .svg import render_svg
