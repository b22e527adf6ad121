"""An adapter: a program through which the conformance suite reaches your implementation."""

import sys
from pathlib import Path

# Your package is found without being installed if it is in the folder above this project, or in its `src`.
ABOVE = Path(__file__).resolve().parents[2]
sys.path += [str(ABOVE), str(ABOVE / "src")]
