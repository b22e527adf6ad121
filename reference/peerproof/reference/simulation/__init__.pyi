__all__ = [
    "Campaign",
    "run",
]

from .campaign import run
from .plan import Campaign
