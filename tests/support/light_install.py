"""Commands as in an environment with the base dependencies only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

#: Packages of the extras, and numpy, which comes with them.
EXTRAS = ("atheris", "hypothesis", "numpy", "pandas", "pyarrow", "pyspark", "scapy", "z3")


def run_without_extras(*arguments: str, without: Sequence[str] = EXTRAS) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process in which an import of these packages fails."""
    program = f"import sys; sys.modules |= dict.fromkeys({tuple(without)}); from peerproof.cli.main import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60)
