__all__ = [
    "FAILURES",
    "STATUSES",
    "Case",
    "CaseNotFound",
    "End",
    "ExpectedFailures",
    "ListError",
    "Over",
    "Result",
    "Settings",
    "case_ids",
    "find_cases",
    "load_expected_failures",
    "replay_cases",
    "select_cases",
    "select_socket_cases",
]

from .cases import CaseNotFound, case_ids, find_cases, select_cases, select_socket_cases
from .expected_failures import ExpectedFailures, ListError, load_expected_failures
from .result import STATUSES, Result
from .runner import End, Settings, replay_cases
from .trial import FAILURES, Case, Over
