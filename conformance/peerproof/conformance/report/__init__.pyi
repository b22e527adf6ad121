__all__ = [
    "BadExtra",
    "Badge",
    "Change",
    "Conflict",
    "Diff",
    "FailureGroup",
    "Matrix",
    "NoReport",
    "Report",
    "RunVerdict",
    "Session",
    "Source",
    "as_json",
    "as_json_lines",
    "clause_matrices",
    "compare_reports",
    "group_failures",
    "load",
    "load_edges",
    "load_one",
    "load_scores",
    "make_badge",
    "merge_reports",
    "render_page",
    "run_implementation",
    "stale_entries",
]

from .badge import Badge, make_badge
from .clause_matrix import Matrix, clause_matrices
from .diff import Change, Diff, compare_reports
from .failure_groups import FailureGroup, group_failures
from .html.page import BadExtra, load_edges, load_scores, render_page
from .merge import Conflict, Source, merge_reports
from .record import NoReport, Report, as_json_lines, load, load_one
from .renderings import as_json
from .session import RunVerdict, Session, run_implementation, stale_entries
