__all__ = [
    "BadConfiguration",
    "Matrix",
    "Validated",
    "Validation",
    "check_config",
    "count_results",
    "count_verdicts",
    "has_failure",
]

from .matrix import Matrix
from .validate import Validated, Validation
from .verdict_counts import BadConfiguration, check_config, count_results, count_verdicts, has_failure
