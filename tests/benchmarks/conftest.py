"""Benchmarks are scripts, and what they share lies beside them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # last: some of them have names of the standard library's
