"""Prints how many statements and branches of each package the tests reached; `make coverage` measures and calls it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What is counted: all, and what the tests reached, of statements and of branches.
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")
PACKAGE_NAMES = 3  #: how many names of a module tell its package: `peerproof.conformance.runner`


def count_by_package(report: dict[str, Any]) -> dict[str, Counter[str]]:
    """Returns the totals of each package in a report of `coverage json`, by its dotted name."""
    packages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file, found in report["files"].items():
        folders = Path(file).parent.parts
        inside = folders[folders.index("peerproof") :] if "peerproof" in folders else folders[:2]
        packages[".".join(inside[:PACKAGE_NAMES])].update({count: found["summary"][count] for count in COUNTS})
    return {name: found for name, found in sorted(packages.items()) if found["num_statements"]}


def table(packages: dict[str, Counter[str]]) -> Iterator[str]:
    """Yields the lines of a table: a package, its statements and branches, and how many of each hundred were reached."""
    width = max(map(len, packages))
    yield f"{'package':{width}}  statements  reached  branches  reached"
    total = sum(packages.values(), Counter())
    for name, found in [*packages.items(), ("all", total)]:
        statements, lines, branches, ways = (found[count] for count in COUNTS)
        yield f"{name:{width}}  {statements:10,}  {percent(lines, statements):>7}  {branches:8,}  {percent(ways, branches):>7}"


def percent(part: int, whole: int) -> str:
    """Returns a part in percent with one decimal, rounded down so that 100.0 % means all."""
    return f"{1000 * part // whole / 10} %" if whole else "-"


def main() -> int:
    """Prints the table from the measurements in the folder that pyproject.toml names."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "coverage.json")
        found = subprocess.run([sys.executable, "-m", "coverage", "json", "-q", "-o", output], check=False)
        if found.returncode:
            return found.returncode
        print(*table(count_by_package(json.loads(output.read_text(encoding="utf-8")))), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
