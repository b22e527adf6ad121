"""The files that connect your implementation with the suite, one for each protocol. There is nothing to fill in here."""

from __future__ import annotations

from types import ModuleType

from . import scuttlebutt

PLUGS: list[ModuleType] = [
    scuttlebutt,
]
