__all__ = [
    "LANGUAGES",
    "AlreadyThere",
    "BadPlace",
    "CannotDraw",
    "ClauseCoverage",
    "ClauseNotFound",
    "Drawing",
    "Finding",
    "Meeting",
    "NoCounterexample",
    "NotWritten",
    "Subject",
    "SuiteCheck",
    "check_adapter",
    "check_place",
    "check_suite",
    "cover_clauses",
    "draw_capture",
    "draw_counterexample",
    "draw_model",
    "draw_traces",
    "draw_vector",
    "draw_vector_file",
    "explain_clause",
    "find_basis",
    "find_counterexample",
    "find_meetings",
    "find_subject",
    "promote_finding",
    "render_skeleton",
    "review_clauses",
    "try_reading",
    "write_files",
]

from .adapter_check import Finding, check_adapter
from .clause_report import ClauseCoverage, ClauseNotFound, Meeting, cover_clauses, explain_clause, find_meetings
from .drawing import (
    CannotDraw,
    Drawing,
    NoCounterexample,
    Subject,
    draw_capture,
    draw_counterexample,
    draw_model,
    draw_traces,
    draw_vector,
    draw_vector_file,
    find_counterexample,
    find_subject,
)
from .reading_experiment import find_basis, try_reading
from .skeleton_languages import LANGUAGES
from .skeletons import AlreadyThere, render_skeleton, write_files
from .suite_check import SuiteCheck, check_suite, review_clauses
from .vector_promotion import BadPlace, NotWritten, check_place, promote_finding
