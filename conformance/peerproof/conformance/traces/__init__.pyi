__all__ = [
    "Found",
    "NoTrace",
    "NodeReport",
    "Report",
    "TraceVerdict",
    "check_trace",
    "trace_verdict",
]

from .file_check import TraceVerdict, check_trace, trace_verdict
from .files import Found, NodeReport, NoTrace, Report
