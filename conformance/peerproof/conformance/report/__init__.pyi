__all__ = [
    "BadExtra",
    "NoReport",
    "Report",
    "RunVerdict",
    "Session",
    "as_json",
    "as_json_lines",
    "load",
    "load_edges",
    "load_one",
    "load_scores",
    "render_page",
    "run_implementation",
    "stale_entries",
]

from .html.page import BadExtra, load_edges, load_scores, render_page
from .record import NoReport, Report, as_json, as_json_lines, load, load_one
from .session import RunVerdict, Session, run_implementation, stale_entries
