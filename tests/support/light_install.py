"""Commands as in an environment with the base dependencies only."""

from __future__ import annotations

import subprocess
import sys

#: Packages of the extras, and numpy, which comes with them.
EXTRAS = ("atheris", "hypothesis", "numpy", "pandas", "pyarrow", "pyspark", "scapy", "z3")


def run_without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process in which an import of a package of an extra fails."""
    program = f"import sys; sys.modules |= dict.fromkeys({EXTRAS}); from peerproof.cli.main import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60)
