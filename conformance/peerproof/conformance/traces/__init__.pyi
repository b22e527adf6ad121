__all__ = [
    "Found",
    "NoTrace",
    "NodeReport",
    "Report",
    "TraceVerdict",
    "check_trace",
    "trace_verdict",
]

from .file_check import Found, NodeReport, NoTrace, Report, TraceVerdict, check_trace, trace_verdict
