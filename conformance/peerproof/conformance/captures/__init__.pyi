__all__ = [
    "BadConfiguration",
    "CaptureVerdict",
    "Judged",
    "NoCapture",
    "Passive",
    "check_capture",
]

from .capture_check import BadConfiguration, CaptureVerdict, check_capture
from .passive import Judged, Passive
from .pcap import NoCapture
