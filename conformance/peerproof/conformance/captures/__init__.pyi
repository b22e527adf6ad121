__all__ = [
    "BadConfiguration",
    "CaptureVerdict",
    "Judged",
    "NoCapture",
    "Passive",
    "check_capture",
]

from .passive import BadConfiguration, CaptureVerdict, Judged, Passive, check_capture
from .pcap import NoCapture
