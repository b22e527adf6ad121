__all__ = [
    "BadConfiguration",
    "CaptureVerdict",
    "Judged",
    "NoCapture",
    "Passive",
    "judge_capture",
]

from .capture_check import BadConfiguration, CaptureVerdict, judge_capture
from .passive import Judged, Passive
from .pcap import NoCapture
